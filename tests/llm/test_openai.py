"""``openai:`` speaks to a real server: what is said is the model's business, how it is said is
ours."""

from __future__ import annotations

import httpx
import pytest

from bot.errors import TooLong
from bot.providers import AUTO, NONE, Request, ToolChoice
from bot.providers.fallback import FallbackProvider
from bot.telemetry import Metrics
from bot.transcript import Media, ToolCall
from tests.bot.providers.asking import ask, model, results, user
from tests.llm.asking import TOOLS, WEATHER, asked_at, assert_valid, assert_whole
from tests.llm.running import CONTEXT, MODEL, llama
from tests.ports import free_port
from tests.waiting import until_true

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


async def test_words_come_as_they_are_written(smollm: str) -> None:
    """Deltas, then the whole with its usage, its model and the reason of its end."""
    async with asked_at(smollm) as provider:
        asked = await ask(provider, [user("Say hello.")])
    assert_whole(asked, most=64)
    assert asked.text.strip()
    assert asked.response.stop_reason in ("end_turn", "max_tokens")
    assert len(asked.events) > 2


async def test_an_answer_that_is_too_long_is_cut(smollm: str) -> None:
    """And is told so."""
    async with asked_at(smollm, max_output_tokens=3) as provider:
        asked = await ask(provider, [user("Count to a hundred.")])
    assert_whole(asked, most=3)
    assert asked.response.stop_reason == "max_tokens"


async def test_a_second_question_finds_the_first_in_the_servers_memory(smollm: str) -> None:
    """What the server has kept of a conversation is counted as cached."""
    async with asked_at(smollm, max_output_tokens=8) as provider:
        question = user("Say hello.")
        first = await ask(provider, [question])
        second = await ask(provider, [question, first.response.message, user("And again.")])
    assert 0 < second.response.usage.cached < second.response.usage.input


@pytest.mark.parametrize(
    "choice", [AUTO, NONE, ToolChoice("required"), ToolChoice("one", TOOLS[1].name)]
)
async def test_tools_are_taken_even_where_the_model_knows_none(
    smollm: str, choice: ToolChoice
) -> None:
    """Strict or not, with whatever choice: the server does not refuse what it cannot heed."""
    async with asked_at(smollm, max_output_tokens=16) as provider:
        asked = await ask(provider, [user("How is the weather in Tokyo?")], TOOLS, choice)
    assert_whole(asked, most=16)
    assert asked.calls == []


@pytest.mark.parametrize("choice", [AUTO, ToolChoice("required")])
async def test_a_call_its_result_and_an_answer(smollm_with_tools: str, choice: ToolChoice) -> None:
    """The arguments are what the schema allows, and the server takes its own call back."""
    question = user("How is the weather in Tokyo?")
    async with asked_at(smollm_with_tools) as provider:
        called = await ask(provider, [question], TOOLS, choice)
        message = called.response.message
        reported = [
            question,
            message,
            results(message, *[{"condition": "Sunny"} for _ in message.calls]),
        ]
        answered = await ask(provider, reported, TOOLS)
    assert_whole(called, most=64)
    assert called.response.stop_reason == "tool_use"
    assert_valid(message)
    assert_whole(answered, most=64)


async def test_a_call_that_is_cut_is_not_made(smollm_with_tools: str) -> None:
    """The limit falls into the arguments."""
    async with asked_at(smollm_with_tools, max_output_tokens=16) as provider:
        asked = await ask(provider, [user("How is the weather in Tokyo?")], TOOLS)
    assert asked.response.stop_reason == "max_tokens"
    assert not any(isinstance(part, ToolCall) for part in asked.response.message.parts)


async def test_calls_that_were_made_elsewhere_are_taken(smollm_with_tools: str) -> None:
    """A conversation comes over from another vendor, with its ids and without the tools it used."""
    call = ToolCall("call_of/another:vendor", "look up!", {"q": None})
    question = user("Well?")
    message = model(call, ToolCall("c2", WEATHER.name, {"location": "東京"}))
    reported = [question, message, results(message, {"error": "no"}, {"t": 21}), user("And?")]
    async with asked_at(smollm_with_tools, max_output_tokens=16) as provider:
        assert_whole(await ask(provider, reported, TOOLS), most=16)


async def test_a_model_that_cannot_see_answers_all_the_same(smollm: str) -> None:
    """The server refuses the picture with a 500; it is told in a word that there was one."""
    picture = Media("ref", "image/png", len(PICTURE), data=PICTURE)
    async with asked_at(smollm, max_output_tokens=16) as provider:
        for _ in range(2):
            assert_whole(await ask(provider, [user("What is this?", picture)]), most=16)


async def test_what_is_too_long_for_the_context_is_refused_at_once(smollm: str) -> None:
    """The words of the server reach the operator: how much was sent, how much there is room for."""
    async with asked_at(smollm) as provider:
        with pytest.raises(TooLong) as raised:
            await ask(provider, [user("word " * 2 * CONTEXT)])
    assert raised.value.window == CONTEXT


async def test_an_answer_nobody_waits_for_is_not_written_on(smollm: str) -> None:
    """Once its stream is closed the server is free again, long before the answer would have been
    over."""
    async with (
        asked_at(smollm, max_output_tokens=3_000) as provider,
        httpx.AsyncClient(base_url=smollm) as http,
    ):

        async def is_free() -> bool:
            return not any(slot["is_processing"] for slot in (await http.get("/slots")).json())

        asked = provider.stream(Request("", [user("Write a long story of a cat.")]))
        await anext(asked)
        assert not await is_free()
        await asked.aclose()
        await until_true(is_free, 5)


async def test_a_model_is_found_by_its_name(smollm: str) -> None:
    """The server knows its list alone."""
    async with asked_at(smollm) as provider:
        assert await provider.check() == f"{MODEL} answers"


async def test_a_model_that_is_still_loading_is_asked_again() -> None:
    """The server says 503 until then, which is a passing failure."""
    pytest.importorskip("xllamacpp", reason="make test-llm installs it")
    port = free_port()
    waits = []
    with llama(port=port, wait=False) as base_url:
        async with (
            asked_at(base_url, max_output_tokens=4) as provider,
            httpx.AsyncClient(base_url=base_url) as http,
        ):

            async def is_at(status: int) -> bool:
                try:
                    return (await http.get("/health")).status_code == status
                except httpx.TransportError:
                    return False

            async def until_loaded(seconds: float) -> None:
                waits.append(seconds)
                await until_true(lambda: is_at(200))

            await until_true(lambda: is_at(503))
            patient = FallbackProvider([provider], Metrics(), sleep=until_loaded)
            assert_whole(await ask(patient, [user("Say hello.")]), most=4)
    assert len(waits) == 1
