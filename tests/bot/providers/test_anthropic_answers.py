"""What Anthropic answers: its events, its ends, its errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from bot.errors import RequestRefused, TryAgain
from bot.providers import TextDelta, ToolCallDelta
from bot.providers.anthropic.client import Anthropic
from bot.transcript import Usage
from tests.bot.providers.asking import ask, results, user
from tests.fakes import anthropic as fakes
from tests.fakes.anthropic import (
    KEY,
    START,
    AnthropicFake,
    anthropic_fake,
    block_start,
    call,
    ending,
    text,
    thought,
)
from tests.fakes.streams import Outgoing
from toolset.tool import ToolDefinition

JSON = dict[str, Any]
MODEL = "claude-sonnet-5"
TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)
WEATHER: tuple[str, JSON] = ("get_weather", {"location": "東京"})


@pytest.fixture
def fake() -> Iterator[AnthropicFake]:
    """The service."""
    with anthropic_fake() as fake:
        yield fake


@pytest.fixture
async def anthropic(fake: AnthropicFake) -> AsyncIterator[Anthropic]:
    """A provider that asks the stand-in."""
    provider = Anthropic(KEY, MODEL, fake.base_url)
    yield provider
    await provider.aclose()


async def test_an_answer_streams_its_words_and_calls(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """Thoughts and pings are not for the reader; words that stand in the beginning of a block
    are."""
    used = {**call(*WEATHER), "id": "toolu_1"}
    fake.events(
        START,
        block_start(0, thought()),
        block_start(1, text("Let ")),
        fakes.text_delta(1, "me look."),
        {"type": "ping"},
        block_start(2, used),
        *ending("tool_use"),
    )
    asked = await ask(anthropic, [user("?")], TOOLS)
    assert asked.events[:-1] == (
        TextDelta("Let "),
        TextDelta("me look."),
        ToolCallDelta(0, "toolu_1", "get_weather", '{"location":"東京"}'),
    )
    assert (asked.response.stop_reason, asked.response.model) == ("tool_use", "claude-answering-1")


@pytest.mark.parametrize(
    ("stop", "expected", "detail"),
    [
        ("stop_sequence", "other", "stop_sequence"),
        ("pause_turn", "other", "pause_turn"),
        ("model_context_window_exceeded", "max_tokens", "model_context_window_exceeded"),
        ("refusal", "blocked", "refusal It is about viruses."),
    ],
)
async def test_unusual_ends(
    fake: AnthropicFake, anthropic: Anthropic, stop: str, expected: str, detail: str
) -> None:
    """What Anthropic explains is for the log."""
    details = (
        {"stop_details": {"type": "refusal", "explanation": "It is about viruses."}}
        if stop == "refusal"
        else {}
    )
    fake.events(START, block_start(0, text("It")), *ending(stop, **details))
    response = (await ask(anthropic, [user("?")])).response
    assert (response.stop_reason, response.detail) == (expected, detail)


async def test_arguments_that_are_no_object_are_malformed(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """A call nobody can read is not run."""
    fake.events(
        START,
        block_start(0, call("get_weather", {})),
        fakes.arguments_delta(0, "[1"),
        *ending("tool_use"),
    )
    asked = await ask(anthropic, [user("?")], TOOLS)
    assert (asked.response.stop_reason, asked.calls) == ("malformed", [])


async def test_the_last_counts_are_the_right_ones(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """They are cumulative; a server may count everything at the end, or think without saying how
    much."""
    usage = {
        "input_tokens": 7,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 0,
        "output_tokens": 9,
    }
    fake.events(START, block_start(0, text("It")), *ending("end_turn", usage))
    assert (await ask(anthropic, [user("?")])).response.usage == Usage(10, 3, 9)


async def test_blocks_of_the_services_own_tools_are_passed_over(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """None was asked for, but a gateway may add them."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    fake.blocks(search, thought(), text("Let me look."), call(*WEATHER), stop="tool_use")
    asked = await ask(anthropic, [user("?")], TOOLS)
    assert (asked.text, asked.calls) == ("Let me look.", [WEATHER])
    fake.say("ok")
    await ask(
        anthropic, [user("?"), asked.response.message, results(asked.response.message, {})], TOOLS
    )
    spoken = fake.messages[-1]["messages"][1]["content"]
    assert [block["type"] for block in spoken] == ["thinking", "text", "tool_use"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", (TryAgain, "model_down", f"{MODEL} answers 529")),
        ("rate_limit_error", (TryAgain, "rate_limited", f"{MODEL} is over its quota (429)")),
        (
            "invalid_request_error",
            (RequestRefused, "request_refused", f"{MODEL} refused the request (400): no"),
        ),
        ("something_new", (TryAgain, "model_down", f"{MODEL} answers 500")),
    ],
)
async def test_an_error_inside_a_stream_is_what_it_would_have_been_before(
    fake: AnthropicFake, anthropic: Anthropic, kind: str, expected: object
) -> None:
    """The 200 has been sent by then; only the error's type tells."""
    fake.events(START, fakes.error_of(kind, "no"))
    with pytest.raises((TryAgain, RequestRefused)) as raised:
        await ask(anthropic, [user("?")])
    assert (type(raised.value), raised.value.apology, raised.value.cause) == expected


async def test_an_overloaded_service_may_answer_later(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """529 is Anthropic's own."""
    fake.fail(529, "Overloaded", retry_after="3")
    with pytest.raises(TryAgain) as raised:
        await ask(anthropic, [user("?")])
    assert (raised.value.apology, raised.value.after) == ("model_down", 3.0)


@pytest.mark.parametrize(
    "body", [b"data: {broken\n\n", b'data: {"type": "ping", "index": "one"}\n\n']
)
async def test_what_cannot_be_read_is_malformed(
    fake: AnthropicFake, anthropic: Anthropic, body: bytes
) -> None:
    """Whatever stands between us and Anthropic."""
    fake.answer(Outgoing((body,)))
    with pytest.raises(TryAgain) as raised:
        await ask(anthropic, [user("?")])
    assert raised.value.apology == "malformed"


async def test_check_looks_the_model_up(fake: AnthropicFake, anthropic: Anthropic) -> None:
    """Key and model work, and nothing was generated."""
    assert await anthropic.check() == "Claude Sonnet 5 answers"
    assert [(request.method, request.path) for request in fake.requests] == [
        ("GET", f"/v1/models/{MODEL}")
    ]
