"""Gemini before its stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bot.providers import StopReason, ToolChoice
from bot.providers.gemini.client import Gemini
from bot.providers.shared.entry import USUAL, Options
from tests.bot.providers.subjects.subject import WHOLE, Sent, Subject, text_of, with_json
from tests.fakes.gemini import KEY, GeminiFake, gemini_fake
from tests.fakes.gemini_answers import Answer, answer_of

FINISH = {
    "end_turn": "STOP",
    "max_tokens": "MAX_TOKENS",
    "blocked": "SAFETY",
    "malformed": "MALFORMED_FUNCTION_CALL",
    "other": "OTHER",
}
MODES: dict[str, Any] = {"AUTO": "auto", "NONE": "none", "ANY": "required"}


class GeminiSubject(Subject):
    """Calls come whole, so there is nothing to interleave."""

    fake: GeminiFake
    key = KEY
    variable = "GEMINI_API_KEY"
    lacks: Mapping[str, str] = {
        "interleaved": WHOLE,
        "strict": "it has no strict mode",
    }
    too_long = (
        "The input token count (208310) exceeds the maximum number of tokens allowed (200000)."
    )

    @property
    def sent(self) -> list[Sent]:
        return [
            _sent(request.body)
            for request in self.fake.requests
            if request.action == "streamGenerateContent"
        ]

    def say(self, *pieces: str, stop: StopReason = "end_turn") -> None:
        self.fake.say(*pieces, finish=FINISH[stop])

    def break_off(self, *pieces: str) -> None:
        begun = answer_of(*([{"text": piece}] for piece in pieces), finish="")
        self.fake.answer(Answer((*begun.events, {"error": {"code": 503, "message": "overloaded"}})))

    def calls(
        self, *calls: tuple[str, dict[str, Any]], text: str = "", interleaved: bool = False
    ) -> None:
        self.fake.calls(*calls, text=text, split=True)

    def think(self) -> None:
        self.fake.parts([{"text": "Hm.", "thought": True}], end="stalled")

    def cut_call(self) -> None:
        call = {"functionCall": {"name": "get_weather", "args": {"location": "To"}}}
        self.fake.parts([{"text": "Let me"}, call], finish="MAX_TOKENS")

    def odd_text(self, json: str) -> None:
        self._odd({"text": "@@"}, json)

    def odd_call(self, arguments: str) -> None:
        self._odd({"functionCall": {"name": "get_weather", "args": "@@"}}, arguments)

    def _odd(self, part: dict[str, Any], json: str) -> None:
        [event] = answer_of([part]).events
        self.fake.raw(b"data: " + with_json(event, json) + b"\r\n\r\n")

    def empty(self) -> None:
        self.fake.finish("STOP")

    def fail(self, status: int, message: str = "refused", retry_after: str = "") -> None:
        self.fake.fail(status, message, retry_delay=f"{retry_after}s" if retry_after else "")


def _sent(body: dict[str, Any]) -> Sent:
    calling = body.get("toolConfig", {}).get("functionCallingConfig")
    names = (calling or {}).get("allowedFunctionNames")
    parts = [part for content in body["contents"] for part in content["parts"]]
    inline = [part["inlineData"] for part in parts if "inlineData" in part]
    return Sent(
        "".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", ())),
        tuple(
            tool["name"] for one in body.get("tools", ()) for tool in one["functionDeclarations"]
        ),
        ToolChoice("one", names[0]) if names else calling and ToolChoice(MODES[calling["mode"]]),
        tuple((picture["mimeType"], picture["data"]) for picture in inline),
        (),
        text_of(body),
    )


@asynccontextmanager
async def gemini_subject(
    model: str = "gemini-3.5-flash", key: str = KEY, options: Options = USUAL
) -> AsyncIterator[GeminiSubject]:
    """The provider and its stand-in."""
    with gemini_fake() as fake:
        provider = Gemini(key, model, fake.base_url, options)
        yield GeminiSubject(fake, provider)
        await provider.aclose()
