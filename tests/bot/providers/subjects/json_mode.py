"""JSON mode over the stand-in of a server whose model knows no function calling."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bot.providers import StopReason, ToolChoice
from bot.providers.json_mode.client import JsonMode
from bot.providers.openai.client import OpenAI
from bot.providers.shared.entry import USUAL, Options
from tests.bot.providers.subjects.openai import ERROR, FINISH, sent_of
from tests.bot.providers.subjects.subject import WHOLE, Sent, Subject
from tests.fakes.openai import KEY, OpenAIFake, chunk, openai_fake

OPENING = '{"thought": "", "tool_call": null, "reply": "'


class JsonSubject(Subject):
    """Answers are one JSON object; what cannot be read is asked for twice."""

    fake: OpenAIFake
    key = KEY
    variable = "OPENAI_API_KEY"
    lacks: Mapping[str, str] = {
        "interleaved": WHOLE,
        "other": "an answer that is not whole JSON is requested again",
        "strict": "servers with structured output enforce the schema of every answer",
    }
    too_long = (
        "This model's maximum context length is 200000 tokens. However, your messages resulted in "
        "208310 tokens."
    )

    @property
    def sent(self) -> list[Sent]:
        return [_sent(body) for body in self.fake.chats]

    def say(self, *pieces: str, stop: StopReason = "end_turn") -> None:
        whole = stop in ("end_turn", "tool_use")
        for _ in range(1 if whole else 2):
            self.fake.say(
                OPENING, *map(_escaped, pieces), *(['"}'] if whole else []), finish=FINISH[stop]
            )

    def begin(self, *pieces: str, end: str) -> None:
        super().begin(OPENING, *map(_escaped, pieces), end=end)

    def break_off(self, *pieces: str) -> None:
        self.fake.events(*(chunk({"content": piece}) for piece in pieces), ERROR)

    def calls(
        self, *calls: tuple[str, dict[str, Any]], text: str = "", interleaved: bool = False
    ) -> None:
        called = [{"name": name, "arguments": arguments} for name, arguments in calls]
        answer = {
            "thought": text,
            "tool_call": called[0] if len(called) == 1 else called,
            "reply": "",
        }
        self.fake.say(msgspec.json.encode(answer).decode())

    def think(self) -> None:
        self.fake.deltas({"role": "assistant", "reasoning_content": "Hm."}, end="stalled")

    def cut_call(self) -> None:
        for _ in range(2):
            self.fake.say(
                '{"thought": "", "tool_call": {"name": "get_weather", "arguments": {"lo',
                finish="length",
            )

    def odd_text(self, json: str) -> None:
        self.fake.say(OPENING.removesuffix('"'), json, "}")

    def odd_call(self, arguments: str) -> None:
        for _ in range(2):
            call = f'{{"name": "get_weather", "arguments": {arguments}}}'
            self.fake.say(f'{{"thought": "", "tool_call": {call}, "reply": ""}}')

    def empty(self) -> None:
        for _ in range(2):
            self.fake.say(OPENING, '"}')


def _escaped(piece: str) -> str:
    return msgspec.json.encode(piece).decode()[1:-1]


def _sent(body: dict[str, Any]) -> Sent:
    """The tools stand in the prompt, and the tool choice in the schema."""
    sent = sent_of(body)
    form = body["response_format"]["json_schema"]["schema"]["properties"]["tool_call"]
    branches = form.get("anyOf", [form])
    names = tuple(
        one["properties"]["name"]["enum"][0] for one in branches if one["type"] == "object"
    )
    may_reply = {"type": "null"} in branches
    tools = tuple(
        line.partition(":")[0][2:] for line in sent.system.splitlines() if line.startswith("- ")
    )
    choice = ToolChoice("auto" if names else "none") if may_reply else ToolChoice("required")
    if not may_reply and len(names) == 1:
        choice = ToolChoice("one", names[0])
    return Sent(
        sent.system.partition("\n\n")[0],
        tools,
        choice if tools else None,
        sent.pictures,
        (),
        sent.text,
    )


@asynccontextmanager
async def json_subject(
    model: str = "small-local-model", key: str = KEY, options: Options = USUAL
) -> AsyncIterator[JsonSubject]:
    """The provider and its stand-in."""
    with openai_fake() as fake:
        provider = JsonMode(OpenAI(key, model, fake.base_url, options))
        yield JsonSubject(fake, provider)
        await provider.aclose()
