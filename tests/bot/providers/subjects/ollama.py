"""Ollama before its stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bot.providers import StopReason
from bot.providers.ollama.client import Ollama
from bot.providers.shared.entry import USUAL, Options
from bot.transcript import Usage
from tests.bot.providers.subjects.subject import WHOLE, Sent, Subject, text_of, with_json
from tests.fakes.ollama import KEY, NDJSON, OllamaFake, call, line, ollama_fake
from tests.fakes.streams import Outgoing

DONE = {"end_turn": "stop", "max_tokens": "length", "other": "unload"}
MIMES = {"iVBO": "image/png"}  # Ollama looks at the first bytes itself


class OllamaSubject(Subject):
    """Calls come whole and without ids, and there is no tool choice."""

    fake: OllamaFake
    key = KEY
    variable = "OLLAMA_API_KEY"
    usage = Usage(input=100, cached=0, output=15, thinking=0)
    lacks: Mapping[str, str] = {
        "interleaved": WHOLE,
        "blocked": "it blocks nothing",
        "malformed": "it has no such reason; a call that its server cannot read is requested again",
        "tool choice": "it has none: tools that must not be called are left out, and no call "
        "can be forced",
        "strict": "it has no strict mode",
        "cached": "it does not count them",
        "thinking": "it counts them as output",
        "too_long": "it cuts off the beginning without an error, so Kaiwa sends no more "
        "than the window",
    }
    too_long = ""

    @property
    def sent(self) -> list[Sent]:
        return [_sent(body) for body in self.fake.chats]

    def say(self, *pieces: str, stop: StopReason = "end_turn") -> None:
        self.fake.say(*pieces, done_reason=DONE[stop])

    def break_off(self, *pieces: str) -> None:
        self.fake.lines(*(line({"content": piece}) for piece in pieces), {"error": "overloaded"})

    def calls(
        self, *calls: tuple[str, dict[str, Any]], text: str = "", interleaved: bool = False
    ) -> None:
        self.fake.calls(*calls, text=text, thinking="Let me think.")

    def think(self) -> None:
        self.fake.messages({"content": "", "thinking": "Hm."}, end="stalled")

    def cut_call(self) -> None:
        called = {"content": "", "tool_calls": [call("get_weather", {"location": "To"})]}
        self.fake.messages({"content": "Let me"}, called, done_reason="length")

    def odd_text(self, json: str) -> None:
        self._odd({"content": "@@"}, json)

    def odd_call(self, arguments: str) -> None:
        self._odd(
            {
                "content": "",
                "tool_calls": [{"function": {"name": "get_weather", "arguments": "@@"}}],
            },
            arguments,
        )

    def _odd(self, message: dict[str, Any], json: str) -> None:
        lines = (line(message), line({"content": ""}, done=True, done_reason="stop"))
        self.fake.answer(
            Outgoing(tuple(with_json(one, json) + b"\n" for one in lines), content_type=NDJSON)
        )

    def empty(self) -> None:
        self.fake.say()


def _sent(body: dict[str, Any]) -> Sent:
    images = [image for message in body["messages"] for image in message.get("images", ())]
    return Sent(
        "".join(message["content"] for message in body["messages"] if message["role"] == "system"),
        tuple(tool["function"]["name"] for tool in body.get("tools", ())),
        None,
        tuple((MIMES[image[:4]], image) for image in images),
        (),
        text_of(body),
    )


@asynccontextmanager
async def ollama_subject(
    model: str = "qwen3", key: str = KEY, options: Options = USUAL
) -> AsyncIterator[OllamaSubject]:
    """The provider and its stand-in."""
    with ollama_fake() as fake:
        fake.wants_key = True
        provider = Ollama(model, fake.base_url, options, api_key=key)
        yield OllamaSubject(fake, provider)
        await provider.aclose()
