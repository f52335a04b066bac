"""The fields that a server refuses: learned from its refusals, and left out from then on."""

from __future__ import annotations

import re
from typing import Any

from bot.file_types import Kind

JSON = dict[str, Any]

LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
# Errors of llama.cpp (500), vLLM (400, twice), OpenRouter (404) and OpenAI (400) have these words.
NO_PICTURES = re.compile(
    "image input is not supported|at most 0 image|not a multimodal model|support image input"
    "|image_url is only supported",
    re.IGNORECASE,
)
OPTIONAL = (
    "stream_options",
    "reasoning_effort",
    "reasoning_content",
    "reasoning_details",
    "reasoning",
    "strict",
)


class Capabilities:
    """What one server takes.

    Args:
        is_openai: OpenAI's own models refuse the old name of the output limit; other servers may
            not know the new one.

    Attributes:
        system_role: ``user`` for models whose template has no system prompt.
        sees_pictures: False after a refusal of pictures.
        documents: OpenAI's own models read PDFs; of other servers few do.
        unwanted: refused fields, wherever they stand in a request.
    """

    def __init__(self, *, is_openai: bool) -> None:
        self.system_role = "system"
        self.sees_pictures = True
        self.documents: frozenset[Kind] = frozenset()
        self.unwanted: set[str] = set()
        self._limit = "max_tokens"
        if is_openai:
            self.documents = frozenset(("pdf",))
            self._limit = "max_completion_tokens"
        self._first_limit = self._limit
        self._form = "json_schema"

    def learn(self, status: int, complaint: str) -> None:
        """Learn from a refusal; each field is given up at most once, so that no server can cause
        endless attempts."""
        if NO_PICTURES.search(complaint):
            self.sees_pictures = False
        elif status not in (400, 422):
            return
        elif "role" in complaint and "system" in complaint:
            self.system_role = "user"
        elif "response_format" in complaint or self._form in complaint:
            self._form = {"json_schema": "json_object"}.get(self._form, "")
        elif self._limit in complaint and self._limit == self._first_limit:
            self._limit = LIMITS[self._limit]
        else:
            self.unwanted |= {field for field in OPTIONAL if field in complaint}

    def adapted(self, body: JSON) -> JSON:
        """A request without the refused fields; its output limit is ``max_tokens``."""
        adapted = {name: value for name, value in body.items() if name not in self.unwanted}
        adapted[self._limit] = adapted.pop("max_tokens")
        if "response_format" in adapted and self._form != "json_schema":
            del adapted["response_format"]
            if self._form:
                adapted["response_format"] = {"type": self._form}
        if "strict" in self.unwanted and "tools" in adapted:
            adapted["tools"] = [_unstrict(tool) for tool in adapted["tools"]]
        return adapted


def _unstrict(tool: JSON) -> JSON:
    function = dict(tool["function"])
    function.pop("strict", None)
    return {**tool, "function": function}
