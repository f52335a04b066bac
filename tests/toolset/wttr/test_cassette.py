"""The weather from a cassette: what was recorded once is answered without any server.

The cassette was recorded against ``tests/fakes/wttr.py``, not against the public service, and says so in its ``Server``
headers. Delete it to record it again.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
import vcr

from tests.fakes.wttr import wttr_fake
from tests.toolset.contexts import http_client
from toolset.tool import ToolError
from toolset.wttr.client import WttrClient

CASSETTE = Path(__file__).parents[2] / "cassettes" / "wttr" / "recorded_from_the_fake.yaml"


async def test_a_report_and_a_refusal_are_replayed() -> None:
    """Host and port are the fake's of the day; path and query are what was asked."""
    player = vcr.VCR(record_mode="once", match_on=["method", "path", "query"], decode_compressed_response=False)
    was_recorded = CASSETTE.exists()
    async with wttr_fake() as fake, http_client() as http:
        fake.place("東京", temp=21, rain=60, observed=datetime(2026, 4, 3, 9, 30))
        client = WttrClient(http, fake.base_url, timeout_s=3)
        with player.use_cassette(str(CASSETTE)) as cassette:
            report = await client.report("東京", "ja")
            with pytest.raises(ToolError, match=r"^location not found$"):
                await client.report("Nowhere at all", "")
    assert (str(report.place), report.condition, report.temp_c) == ("Tokyo, Japan", "晴れ", "21")
    assert (report.observed, report.days[0].slots[0].rain) == (datetime(2026, 4, 3, 9, 30), 60)
    assert cassette.play_count == (2 if was_recorded else 0)
    assert len(fake.requests) == (0 if was_recorded else 2)
