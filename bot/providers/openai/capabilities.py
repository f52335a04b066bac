"""What a server has turned out not to take: learned from its refusals, left out from then on."""

from __future__ import annotations

import re
from typing import Any

JSON = dict[str, Any]

LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
NO_PICTURES = re.compile(  # as llama.cpp (500), vLLM (400, twice), OpenRouter (404) and OpenAI (400) say it
    "image input is not supported|at most 0 image|not a multimodal model|support image input"
    "|image_url is only supported",
    re.IGNORECASE,
)
OPTIONAL = ("stream_options", "reasoning_effort", "reasoning_content", "reasoning_details", "reasoning", "strict")


class Capabilities:
    """What one server takes.

    Args:
        is_openai: OpenAI's own models refuse the older name of the output limit, and others do not know the newer.

    Attributes:
        system_role: ``user`` for models whose template knows no system prompt.
        sees_pictures: whether its model does, as far as is known.
        unwanted: fields it refuses, wherever in a request they stand.
    """

    def __init__(self, *, is_openai: bool) -> None:
        self.system_role = "system"
        self.sees_pictures = True
        self.unwanted: set[str] = set()
        self._limit = "max_completion_tokens" if is_openai else "max_tokens"
        self._first_limit = self._limit
        self._form = "json_schema"

    def learn(self, status: int, complaint: str) -> None:
        """Take a refusal in; each field is given up once at most, so that a server cannot keep us guessing."""
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
        """A request without what is not taken; its output limit is called ``max_tokens``."""
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
    return {**tool, "function": {name: value for name, value in tool["function"].items() if name != "strict"}}
