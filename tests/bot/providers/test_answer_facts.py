"""Every kind of answer a vendor has really given, with invented values, is understood; no recording
is needed."""

from __future__ import annotations

import json

import pytest

from bot.errors import ModelError, ModelUnusable, RequestRefused, TryAgain
from bot.providers import Provider
from bot.providers.anthropic.client import Anthropic
from bot.providers.gemini.client import Gemini
from bot.providers.ollama.client import Ollama
from bot.providers.openai.client import OpenAI
from bot.transcript import Message, Usage
from tests.bot.providers.asking import Reply, ask, results, user
from tests.bot.providers.gemini_recordings import Exchange as GeminiExchange
from tests.bot.providers.test_anthropic_recordings import Exchange as AnthropicExchange
from tests.bot.providers.test_openai_recordings import Exchange as OpenAIExchange
from tests.facts.read import Answer, answers
from tests.fakes.anthropic import KEY, anthropic_fake, thoughts_in
from tests.fakes.gemini import GeminiFake
from tests.fakes.ollama import ollama_fake
from tests.fakes.openai import openai_fake
from tests.fakes.streams import Outgoing
from toolset.tool import ToolDefinition

TOOLS = [ToolDefinition("look_up", "-", {"type": "object"}, {})]
FINISHED = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "blocked", None: "blocked"}
MALFORMED = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}

GEMINI, ANTHROPIC, OLLAMA = answers("gemini"), answers("anthropic"), answers("ollama")
OPENAI = {
    **answers("openai"),
    **answers("openai_compatible"),
    "ollama": OLLAMA.pop("06_openai_compat_tools_qwen3"),
    "ollama_long": OLLAMA.pop("09_error_400_context"),
}
DOCUMENTED = OLLAMA.pop("10_docs_examples_native_tool_calls")

GEMINI_ERRORS = {
    "22_error_429_retryinfo": [(TryAgain, "rate_limited", 7.0)],
    "24_error_400_invalid_api_key": [(ModelUnusable, "key_refused", None)],
    "25_error_404_model_not_found": [(ModelUnusable, "model_unknown", None)],
    "38_stream_error_400_json_body": [(ModelUnusable, "key_refused", None)] * 3,
    "reported_shapes": [
        *[(TryAgain, "model_down", None)] * 2,
        *[(RequestRefused, "request_refused", None)] * 2,
        (TryAgain, "rate_limited", 7.0),
        (TryAgain, "rate_limited", None),
    ],
    "vertexai__unary-failure-empty-content.json": [(TryAgain, "model_down", None)],
}
OPENAI_ERRORS = {
    "06_error_404_model": ["model_unknown"],
    "07_error_400_role": ["request_refused"],
    "02_groq_400_tool_use_failed": ["malformed"],
    "05_openrouter_429": ["rate_limited"] * 3,
    "ollama_long": ["request_refused"],
}


def gemini_exchange(answer: Answer) -> GeminiExchange:
    """An answer of Gemini's, as a test of a recording sees it."""
    return GeminiExchange("gemini-3.5-flash", {}, answer.status, "application/json", answer.events)


def gemini_end(exchange: GeminiExchange) -> str:
    """How an answer must end for us."""
    candidates = [
        candidate for event in exchange.events for candidate in event.get("candidates", ())
    ]
    reason = next((one["finishReason"] for one in candidates[::-1] if "finishReason" in one), None)
    if reason in MALFORMED or (reason == "STOP" and not any(exchange.parts)):
        return "malformed"
    return "tool_use" if exchange.calls else FINISHED[reason]


def after(asked: Reply) -> list[Message]:
    """An answer, and what follows it: the results of its calls, or the next question."""
    answered = asked.response.message
    nothing: list[dict[str, object]] = [{} for _ in asked.calls]
    return [answered, results(answered, *nothing) if nothing else user("And then?")]


async def failure(provider: Provider) -> tuple[type[ModelError], str, float | None]:
    """The error that an answer becomes."""
    with pytest.raises(ModelError) as raised:
        await ask(provider, [user("?")], TOOLS)
    error = raised.value
    return type(error), error.apology, error.after if isinstance(error, TryAgain) else None


@pytest.mark.parametrize("name", GEMINI)
async def test_geminis_answers_are_understood(name: str, fake: GeminiFake, gemini: Gemini) -> None:
    """Words, calls, tokens and end of each stream, and the kind of each error with its delay."""
    failed = []
    for answer in GEMINI[name]:
        exchange = gemini_exchange(answer)
        fake.answer(exchange.answer)
        if answer.status != 200 or (name in GEMINI_ERRORS and name != "reported_shapes"):
            failed.append(await failure(gemini))
            continue
        asked = await ask(gemini, [user("?")], TOOLS)
        end = gemini_end(exchange)
        assert (asked.response.stop_reason, asked.response.usage) == (end, exchange.usage)
        if end != "malformed":
            assert (asked.text, asked.calls) == (exchange.text, exchange.calls)
    assert failed == GEMINI_ERRORS.get(name, [])


@pytest.mark.parametrize("name", [name for name in GEMINI if name not in GEMINI_ERRORS])
async def test_gemini_gets_its_own_parts_back(name: str, fake: GeminiFake) -> None:
    """The next question holds the parts of the answer, unchanged and in order, but for bare empty
    texts."""
    fake.models.add("gemini-2.5-flash")
    provider = Gemini(KEY, "gemini-2.5-flash", fake.base_url)
    for exchange in map(gemini_exchange, GEMINI[name]):
        fake.answer(exchange.answer)
        fake.say("Good.")
        asked = await ask(provider, [user("?")], TOOLS)
        await ask(provider, [user("?"), *after(asked)], TOOLS)
        sent = [
            content for content in fake.requests[-1].body["contents"] if content["role"] == "model"
        ]
        spoken = [part for part in exchange.parts if part != {"text": ""}]
        assert sent == ([{"role": "model", "parts": spoken}] if spoken else [])
    await provider.aclose()


@pytest.mark.parametrize("name", ["01_tool_use_roundtrip", "04_tool_with_thinking"])
async def test_anthropic_gets_its_own_blocks_back(name: str) -> None:
    """A thought with its signature and a call with its id, as they were."""
    body = ANTHROPIC[name][0].events[0]
    exchange = AnthropicExchange({}, {"format": "json", "body": body})
    with anthropic_fake() as fake:
        fake.thoughts["claude-haiku-4-5"] = thoughts_in(exchange.events)
        fake.answer(exchange.outgoing)
        fake.say("Good.")
        provider = Anthropic(KEY, "claude-haiku-4-5", fake.base_url)
        asked = await ask(provider, [user("?")], TOOLS)
        await ask(provider, [user("?"), *after(asked)], TOOLS)
        await provider.aclose()
        [sent] = [
            message for message in fake.messages[-1]["messages"] if message["role"] == "assistant"
        ]
    assert sent["content"] == body["content"]


async def test_a_signature_goes_back_to_where_it_came_from() -> None:
    """Gemini behind OpenAI's form wants its thought signature back."""
    body = OPENAI["01_gemini_openai_endpoint_calls_without_id"][0].events[0]
    with openai_fake() as fake:
        fake.extras = True
        fake.raw(json.dumps(body).encode(), content_type="application/json")
        fake.say("Good.")
        provider = OpenAI(KEY, "gpt-4o-mini", fake.base_url)
        asked = await ask(provider, [user("?")], TOOLS)
        await ask(provider, [user("?"), *after(asked)], TOOLS)
        await provider.aclose()
        [sent] = [
            message for message in fake.chats[1]["messages"] if message["role"] == "assistant"
        ]
    assert sent["extra_content"] == body["choices"][0]["message"]["extra_content"]


@pytest.mark.parametrize("name", [name for name in ANTHROPIC if name != "07_error_401"])
async def test_anthropics_answers_are_understood(name: str) -> None:
    """Blocks in their order, arguments in pieces, tokens from both ends of the stream."""
    for answer in ANTHROPIC[name]:
        body = (
            {"body_text": answer.sse(named=True).decode()}
            if answer.form == "sse"
            else {"body": answer.events[0]}
        )
        exchange = AnthropicExchange({}, {"format": answer.form, **body})
        with anthropic_fake() as fake:
            fake.answer(exchange.outgoing)
            provider = Anthropic(KEY, "claude-haiku-4-5", fake.base_url)
            asked = await ask(provider, [user("?")], TOOLS)
            await provider.aclose()
        assert (asked.text, asked.calls, asked.response.usage) == exchange.expected
        assert asked.response.stop_reason == ("tool_use" if asked.calls else "end_turn")


async def test_anthropics_refusal_of_a_key_is_understood() -> None:
    """The operator hears which variable to fix."""
    [answer] = ANTHROPIC["07_error_401"]
    with anthropic_fake() as fake:
        body = json.dumps(answer.events[0]).encode()
        fake.answer(Outgoing((body,), status=answer.status, content_type="application/json"))
        provider = Anthropic(KEY, "claude-haiku-4-5", fake.base_url)
        assert await failure(provider) == (ModelUnusable, "key_refused", None)
        await provider.aclose()


@pytest.mark.parametrize("name", OPENAI)
async def test_openais_answers_are_understood(name: str) -> None:
    """Its own, and those of Gemini, Groq, OpenRouter and Ollama in its form; an error by its status
    and code."""
    failed = []
    for answer in OPENAI[name]:
        streamed = answer.form == "sse"
        body = answer.sse() if streamed else json.dumps(answer.events[0]).encode()
        with openai_fake() as fake:
            for _ in range(2):  # a refused system role is asked again
                fake.raw(
                    body, answer.status, "text/event-stream" if streamed else "application/json"
                )
            provider = OpenAI(KEY, "gpt-4o-mini", fake.base_url)
            if answer.status != 200:
                failed.append((await failure(provider))[1])
            else:
                asked = await ask(provider, [user("?")], TOOLS)
                read = {"body_text": body.decode()} if streamed else {"body": answer.events[0]}
                exchange = OpenAIExchange({}, {"format": answer.form, **read})
                assert (asked.text, asked.calls, asked.response.usage) == exchange.expected
                assert asked.response.stop_reason == ("tool_use" if asked.calls else "end_turn")
            await provider.aclose()
    assert failed == OPENAI_ERRORS.get(name, [])


@pytest.mark.parametrize("name", OLLAMA)
async def test_ollamas_answers_are_understood(name: str) -> None:
    """Its words, its tokens, its end, and who answered."""
    for answer in OLLAMA[name]:
        last = answer.bodies[-1]
        with ollama_fake() as fake:
            fake.lines(*answer.bodies)
            provider = Ollama("llama3.2", fake.base_url)
            asked = await ask(provider, [user("?")])
            await provider.aclose()
        assert asked.text == "".join(line["message"]["content"] for line in answer.bodies)
        expected = (
            "end_turn",
            Usage(last["prompt_eval_count"], 0, last["eval_count"]),
            last["model"],
        )
        assert (asked.response.stop_reason, asked.response.usage, asked.response.model) == expected


async def test_ollamas_documented_calls_are_understood() -> None:
    """Whole in the last line, or in a line before it."""
    [begun, *whole] = [answer.bodies[0] for answer in DOCUMENTED]
    ending = {**whole[0], "message": {"role": "assistant", "content": ""}}
    with ollama_fake() as fake:
        provider = Ollama("llama3.2", fake.base_url)
        for lines in ((begun, ending), *((one,) for one in whole)):
            fake.lines(*lines)
            assert [name for name, _ in (await ask(provider, [user("?")], TOOLS)).calls] == [
                "look_up"
            ]
        await provider.aclose()
