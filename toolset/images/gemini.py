"""Google's image models. https://ai.google.dev/gemini-api/docs/image-generation"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec
from msgspec import Struct
from pydantic import SecretStr

from toolset.tool import ToolError
from toolset.web.source import Source

BASE_URL = "https://generativelanguage.googleapis.com"
TIMEOUT_S = 60.0
ANSWER_CAP = 24 * 1024 * 1024  # bytes; the largest pictures have 4,096 pixels a side
MOST_GIVEN = 7 * 1024 * 1024  # bytes of a picture that is changed

REFUSED = (
    "the image service refuses the picture, the model or the key; the operator has to look at it"
)
NO_MODEL = "the image model does not exist; the operator has to look at IMAGE_MODEL"
WRONG_KEY = "the image service refuses the key; the operator has to look at it"
NO_QUOTA = "the image service's limit is reached, or the key has no paid plan; try again later"
UNREADABLE = "API request failed: the answer has no picture"
REFUSALS = {400: REFUSED, 401: WRONG_KEY, 403: WRONG_KEY, 404: NO_MODEL, 429: NO_QUOTA}


@dataclass(frozen=True, slots=True)
class Made:
    """A picture, in whatever format the model makes, and the tokens it has taken."""

    data: bytes
    input: int
    output: int


class _Inline(Struct, rename="camel"):
    data: str


class _Part(Struct, rename="camel"):
    thought: bool = False  # a draft of the model's
    inline_data: _Inline | None = None


class _Content(Struct):
    parts: list[_Part] = []


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str = ""


class _Feedback(Struct, rename="camel"):
    block_reason: str = ""


class _Usage(Struct, rename="camel"):
    prompt_token_count: int = 0
    candidates_token_count: int = 0
    thoughts_token_count: int = 0


class _Answer(Struct, rename="camel"):
    candidates: list[_Candidate] = []
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None


class GeminiImages:
    """A client of one image model."""

    def __init__(self, http: httpx.AsyncClient, base_url: str, key: SecretStr, model: str) -> None:
        self._source = Source(http, base_url or BASE_URL, TIMEOUT_S, ANSWER_CAP, REFUSALS)
        self._key = key
        self._path = f"/v1beta/models/{model}:generateContent"

    async def make(self, prompt: str, shape: str, given: tuple[str, bytes] | None) -> Made:
        """A picture after a description.

        Args:
            shape: width to height, such as ``16:9``; empty: as ``given``, else a square.
            given: type and content of the picture that is changed.

        Raises:
            ToolError: one text per kind of failure.
        """
        parts: list[dict[str, Any]] = [{"text": prompt}]
        if given:
            mime, data = given
            parts.insert(
                0, {"inlineData": {"mimeType": mime, "data": base64.b64encode(data).decode()}}
            )
        config: dict[str, Any] = {"responseModalities": ["IMAGE"]}
        if shape:
            config["imageConfig"] = {"aspectRatio": shape}
        body = {"contents": [{"role": "user", "parts": parts}], "generationConfig": config}
        key = {"x-goog-api-key": self._key.get_secret_value()}
        return _made(await self._source.post_json(self._path, body, key))


def _made(answer: object) -> Made:
    """The first picture of an answer that is no draft.

    Raises:
        ToolError: there is none; the text names the reason that the model gives.
    """
    try:
        read = msgspec.convert(answer, _Answer)
        candidate = read.candidates[0] if read.candidates else _Candidate()
        parts = candidate.content.parts if candidate.content else []
        pictures = (
            part.inline_data.data for part in parts if part.inline_data and not part.thought
        )
        data = base64.b64decode(next(pictures, ""), validate=True)
    except (msgspec.ValidationError, binascii.Error) as error:
        raise ToolError(UNREADABLE) from error
    if not data:
        blocked = read.prompt_feedback.block_reason if read.prompt_feedback else ""
        reason = blocked or candidate.finish_reason
        raise ToolError(
            f"the image model declined: {reason[:40]}" if reason not in ("", "STOP") else UNREADABLE
        )
    used = read.usage_metadata or _Usage()
    return Made(
        data, used.prompt_token_count, used.candidates_token_count + used.thoughts_token_count
    )
