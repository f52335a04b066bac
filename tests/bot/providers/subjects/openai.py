"""OpenAI before its stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bot.providers import StopReason, ToolChoice
from bot.providers.openai.client import OpenAI
from bot.providers.shared.entry import USUAL, Options
from tests.bot.providers.subjects.subject import Sent, Subject, text_of, with_json
from tests.fakes.openai import KEY, OpenAIFake, chunk, openai_fake

FINISH = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "blocked": "content_filter",
    "malformed": "function_call_filter: MALFORMED_FUNCTION_CALL",
    "other": "eos",
}
ERROR = {"error": {"message": "overloaded", "type": "server_error", "code": 503}}


class OpenAISubject(Subject):
    """The vendor of the neutral form."""

    fake: OpenAIFake
    key = KEY
    variable = "OPENAI_API_KEY"
    lacks: Mapping[str, str] = {}
    too_long = (
        "This model's maximum context length is 200000 tokens. However, your messages resulted in "
        "208310 tokens."
    )

    @property
    def sent(self) -> list[Sent]:
        return [sent_of(body) for body in self.fake.chats]

    def say(self, *pieces: str, stop: StopReason = "end_turn") -> None:
        self.fake.say(*pieces, finish=FINISH[stop])

    def break_off(self, *pieces: str) -> None:
        self.fake.events(*(chunk({"content": piece}) for piece in pieces), ERROR)

    def calls(
        self, *calls: tuple[str, dict[str, Any]], text: str = "", interleaved: bool = False
    ) -> None:
        if not interleaved:
            self.fake.calls(*calls, text=text)
            return
        written = [msgspec.json.encode(arguments).decode() for _, arguments in calls]
        begun = [
            {"index": index, "id": f"call_{index}", "function": {"name": name, "arguments": ""}}
            for index, (name, _) in enumerate(calls)
        ]
        letters = [
            {"index": index, "function": {"arguments": text[place : place + 1]}}
            for place in range(max(map(len, written)))
            for index, text in enumerate(written)
        ]
        self.fake.deltas(
            {"tool_calls": begun}, *({"tool_calls": [one]} for one in letters), finish="tool_calls"
        )

    def think(self) -> None:
        self.fake.deltas({"role": "assistant", "reasoning_content": "Hm."}, end="stalled")

    def cut_call(self) -> None:
        call = {
            "index": 0,
            "id": "call_1",
            "function": {"name": "get_weather", "arguments": '{"location": "To'},
        }
        self.fake.deltas({"content": "Let me"}, {"tool_calls": [call]}, finish="length")

    def odd_text(self, json: str) -> None:
        events = (
            with_json(chunk({"content": "@@"}), json),
            with_json(chunk({}, "stop"), ""),
            b"[DONE]",
        )
        self.fake.raw(b"".join(b"data: " + event + b"\n\n" for event in events))

    def odd_call(self, arguments: str) -> None:
        call = {
            "index": 0,
            "id": "call_1",
            "function": {"name": "get_weather", "arguments": arguments},
        }
        self.fake.deltas({"tool_calls": [call]}, finish="tool_calls")

    def empty(self) -> None:
        self.fake.say()


def sent_of(body: dict[str, Any]) -> Sent:
    """A request of chat completions in neutral words."""
    contents = [message.get("content") for message in body["messages"] if message["role"] == "user"]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    pictures = [url.removeprefix("data:").split(";base64,") for url in urls]
    choice = body.get("tool_choice")
    return Sent(
        "".join(message["content"] for message in body["messages"] if message["role"] == "system"),
        tuple(tool["function"]["name"] for tool in body.get("tools", ())),
        ToolChoice("one", choice["function"]["name"])
        if isinstance(choice, dict)
        else choice and ToolChoice(choice),
        tuple((mime, data) for mime, data in pictures),
        tuple(
            tool["function"]["name"]
            for tool in body.get("tools", ())
            if tool["function"].get("strict")
        ),
        text_of(body),
    )


@asynccontextmanager
async def openai_subject(
    model: str = "gpt-5-mini", key: str = KEY, options: Options = USUAL
) -> AsyncIterator[OpenAISubject]:
    """The provider and its stand-in."""
    with openai_fake() as fake:
        provider = OpenAI(key, model, fake.base_url, options)
        yield OpenAISubject(fake, provider)
        await provider.aclose()
