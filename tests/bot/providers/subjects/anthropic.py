"""Anthropic before its stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bot.providers import StopReason, ToolChoice
from bot.providers.anthropic.client import Anthropic
from bot.providers.shared.entry import USUAL, Options
from tests.bot.providers.subjects.subject import Sent, Subject, text_of, with_json
from tests.fakes.anthropic import (
    KEY,
    START,
    AnthropicFake,
    anthropic_fake,
    arguments_delta,
    block_start,
    call,
    ending,
    error_of,
    sse,
    text,
    text_delta,
    thought,
)
from tests.fakes.streams import Outgoing

STOP = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "blocked": "refusal",
    "other": "pause_turn",
}
MODES: dict[str, Any] = {"auto": "auto", "none": "none", "any": "required"}


class AnthropicSubject(Subject):
    """It thinks before it calls, so that thoughts are part of every conversation."""

    fake: AnthropicFake
    key = KEY
    variable = "ANTHROPIC_API_KEY"
    lacks: Mapping[str, str] = {
        "malformed": "it has no such reason; a call that cannot be read counts as malformed"
    }
    too_long = "prompt is too long: 208310 tokens > 200000 maximum"

    @property
    def sent(self) -> list[Sent]:
        return [_sent(body) for body in self.fake.messages]

    def say(self, *pieces: str, stop: StopReason = "end_turn") -> None:
        self.fake.say(*pieces, stop=STOP[stop])

    def break_off(self, *pieces: str) -> None:
        begun = (START, block_start(0, text("")), *(text_delta(0, piece) for piece in pieces))
        self.fake.events(*begun, error_of("overloaded_error", "Overloaded"))

    def calls(
        self, *calls: tuple[str, dict[str, Any]], text: str = "", interleaved: bool = False
    ) -> None:
        if not interleaved:
            self.fake.calls(*calls, words=text, thought=thought())
            return
        written = [msgspec.json.encode(arguments).decode() for _, arguments in calls]
        begun = (block_start(index, call(name, {})) for index, (name, _) in enumerate(calls))
        letters = (
            arguments_delta(index, one[place : place + 1])
            for place in range(max(map(len, written)))
            for index, one in enumerate(written)
        )
        self.fake.events(START, *begun, *letters, *ending("tool_use"))

    def think(self) -> None:
        begun = {"type": "thinking_delta", "thinking": "Hm."}
        block = block_start(0, {"type": "thinking", "thinking": "", "signature": ""})
        self.fake.events(
            block, {"type": "content_block_delta", "index": 0, "delta": begun}, end="stalled"
        )

    def cut_call(self) -> None:
        begun = (
            block_start(0, text("")),
            text_delta(0, "Let me"),
            block_start(1, call("get_weather", {})),
        )
        self.fake.events(
            START, *begun, arguments_delta(1, '{"location": "To'), *ending("max_tokens")
        )

    def odd_text(self, json: str) -> None:
        events = (START, block_start(0, text("")), *ending("end_turn"))
        odd = b"data: " + with_json(text_delta(0, "@@"), json) + b"\n\n"
        written = [sse(event) for event in events]
        self.fake.answer(Outgoing((*written[:2], odd, *written[2:])))

    def odd_call(self, arguments: str) -> None:
        begun = block_start(0, call("get_weather", {}))
        self.fake.events(START, begun, arguments_delta(0, arguments), *ending("tool_use"))

    def empty(self) -> None:
        self.fake.blocks()


def _sent(body: dict[str, Any]) -> Sent:
    blocks = [block for message in body["messages"] for block in message["content"]]
    sources = [block["source"] for block in blocks if block["type"] == "image"]
    return Sent(
        "".join(block["text"] for block in body.get("system", ())),
        tuple(tool["name"] for tool in body.get("tools", ())),
        _choice(body["tool_choice"]) if "tool_choice" in body else None,
        tuple((source["media_type"], source["data"]) for source in sources),
        tuple(tool["name"] for tool in body.get("tools", ()) if tool.get("strict")),
        text_of(body),
    )


def _choice(choice: dict[str, Any]) -> ToolChoice:
    return (
        ToolChoice("one", choice["name"])
        if choice["type"] == "tool"
        else ToolChoice(MODES[choice["type"]])
    )


@asynccontextmanager
async def anthropic_subject(
    model: str = "claude-sonnet-5", key: str = KEY, options: Options = USUAL
) -> AsyncIterator[AnthropicSubject]:
    """The provider and its stand-in."""
    with anthropic_fake() as fake:
        provider = Anthropic(key, model, fake.base_url, options)
        yield AnthropicSubject(fake, provider)
        await provider.aclose()
