"""A server that others have written: https://pypi.org/project/mcp-server-time/."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import pytest

from tests.toolset.mcp.servers import serving
from toolset.mcp.config import ServerConfig

pytestmark = pytest.mark.process


@pytest.mark.skipif(find_spec("mcp_server_time") is None, reason="mcp-server-time is not installed")
async def test_the_time_server() -> None:
    """Its tools are offered as they are, its data is as it declares, and its errors are the
    model's."""
    config = ServerConfig(
        "time", sys.executable, ("-m", "mcp_server_time", "--local-timezone", "Asia/Tokyo")
    )
    async with serving(config) as served:
        assert (served.server.cause, dict(served.server.catalog.left_out)) == ("", {})
        assert list(served.tools) == ["time_get_current_time", "time_convert_time"]
        noon: dict[str, Any] = {
            "source_timezone": "Asia/Tokyo",
            "time": "12:00",
            "target_timezone": "UTC",
        }
        converted = (await served.call("time_convert_time", **noon)).response["data"]
        assert (converted["time_difference"], converted["target"]["timezone"]) == ("-9.0h", "UTC")
        failed = await served.call("time_get_current_time", timezone="Nowhere")
        assert "Invalid timezone" in failed.response["error"]
