"""``invite``: a tool that acts and has more than three arguments; this one sends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx
from pydantic import BaseModel

from toolset.titles import Words
from toolset.tool import NoConfig, Risk, ToolContext


class Invite:
    """Answers with the invitation."""

    name: ClassVar[str] = "invite"
    description: ClassVar[str] = (
        "Sends an invitation. Use it when somebody wants others to be invited."
    )
    risk: ClassVar[Risk] = "high"
    titles: ClassVar[Words] = {"en": "Send an invitation", "ja": "招待を送信"}
    labels: ClassVar[Mapping[str, Words]] = {
        "what": {"en": "What", "ja": "内容"},
        "at": {"en": "When", "ja": "日時"},
        "where": {"en": "Where", "ja": "場所"},
        "who": {"en": "To", "ja": "宛先"},
    }
    Config: ClassVar[type[BaseModel]] = NoConfig

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: NoConfig) -> Invite:
        """Needs neither."""
        return cls()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Confirm the invitation."""
        return arguments
