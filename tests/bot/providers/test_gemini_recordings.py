"""Every recorded Gemini answer, served over HTTP to the real SDK, comes out as what it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.errors import ModelError, ModelUnusable, RequestRefused, TryAgain
from bot.providers import ModelResponse
from bot.providers.gemini.client import Gemini
from bot.transcript import Message
from tests.bot.providers.asking import ask, results, user
from tests.bot.providers.gemini_recordings import (
    Exchange,
    exchanges,
    plain,
    recorded_files,
    reported,
    reported_cases,
    sdk_mock,
)
from tests.fakes.gemini import KEY, GeminiFake

# Per file, how each of its answers must end.
CONVERSATIONS = {
    "01_single_call_weather_multi_turn_2.5-flash.json": [
        "tool_use",
        "end_turn",
        "tool_use",
        "end_turn",
    ],
    "02_parallel_2_calls_2.5-flash.json": ["tool_use", "end_turn"],
    "05_sequential_calls_one_turn_2.5-flash.json": ["tool_use", "tool_use", "tool_use", "end_turn"],
    "06_call_without_args_2.5-flash.json": ["tool_use", "end_turn"],
    "07_tool_error_retry_2.5-pro.json": ["tool_use", "tool_use", "end_turn"],
    "08_thought_signature_3.1-pro.json": ["tool_use", "end_turn"],
    "10_text_then_signature_only_part_3.5-flash.json": ["end_turn"],
    "12_validated_mode_2.5-flash.json": ["tool_use", "tool_use", "end_turn"],
    "14_tool_choice_required_2.5-flash.json": ["tool_use"],
    "15_finish_max_tokens.json": ["max_tokens"],
    "16_finish_max_tokens_no_parts.json": ["max_tokens"],
    "17_finish_safety_no_content.json": ["blocked"],
    "18_prompt_blocked_no_candidates.json": ["blocked"],
    "27_image_inline_2.5-flash.json": ["end_turn"],
    "29_stream_tool_call_multi_turn_2.5-flash.json": [
        "tool_use",
        "end_turn",
        "tool_use",
        "end_turn",
    ],
    "31_stream_parallel_calls_split_chunks_3.5-flash.json": ["tool_use"],
    "33_stream_thoughts_32_chunks_3.5-flash.json": ["end_turn"],
    "36_stream_json_array_tools_2.5-flash.json": ["tool_use", "tool_use", "end_turn"],
}
FAILURES = {
    "22_error_429_retryinfo.json": (TryAgain, "rate_limited", 48.0),
    "24_error_400_invalid_api_key.json": (ModelUnusable, "key_refused", None),
    "25_error_404_model_not_found.json": (ModelUnusable, "model_unknown", None),
    "38_stream_error_400_json_body.json": (ModelUnusable, "key_refused", None),
}
REPORTED = {
    "malformed_function_call_empty_content_object": "malformed",
    "malformed_function_call_no_content_key_with_message": "malformed",
    "malformed_function_call_signature_only_part": "malformed",
    "unexpected_tool_call_no_content_key": "malformed",
    "stop_with_empty_content": "malformed",
    "503_overloaded": (TryAgain, "model_down", None),
    "503_high_demand": (TryAgain, "model_down", None),
    "400_turn_order": (RequestRefused, "request_refused", None),
    "400_missing_thought_signature": (RequestRefused, "request_refused", None),
    "429_free_tier_per_day_but_short_retry": (TryAgain, "rate_limited", 36.0),
    "error_as_json_array_when_streaming_without_alt_sse": (TryAgain, "rate_limited", None),
}
SDK_MOCKS = {
    "googleai__streaming-success-empty-parts.txt": "end_turn",
    "vertexai__unary-failure-empty-content.json": (TryAgain, "model_down", None),
    "vertexai__unary-success-function-call-no-arguments.json": "tool_use",
}
NEXT_QUESTION = {"contents": [{"role": "user", "parts": [{"text": "And then?"}]}]}
# What the recording client itself got wrong when it sent the model's parts back.
NOT_VERBATIM = {
    "02_parallel_2_calls_2.5-flash.json": "puts the first call's signature on "
    "the second call as well"
}


def test_every_recording_has_its_outcome() -> None:
    """A new recording without an expected outcome fails here."""
    named = {
        *CONVERSATIONS,
        *FAILURES,
        "reported_shapes.json",
        *(f"sdk_mock_responses/{name}" for name in SDK_MOCKS),
    }
    assert set(recorded_files()) == named
    assert set(reported_cases()) == REPORTED.keys()


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_a_recorded_conversation_is_understood(name: str, fake: GeminiFake) -> None:
    """Each answer ends as it should, with the words, calls and tokens that the recording holds."""
    replayed = await replay(fake, exchanges(name))
    replies = [
        (response.stop_reason, response.message.text, response.usage) for response in replayed
    ]
    expected = [
        (end, one.text, one.usage)
        for end, one in zip(CONVERSATIONS[name], exchanges(name), strict=True)
    ]
    assert replies == expected
    calls = [
        [(call.name, call.arguments) for call in response.message.calls] for response in replayed
    ]
    assert calls == [one.calls for one in exchanges(name)]


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_the_model_gets_its_own_parts_back(name: str, fake: GeminiFake) -> None:
    """The next question holds the parts of every earlier answer, unchanged and in order, but for
    bare empty texts."""
    history = exchanges(name)
    await replay(fake, [*history, replace(history[-1], request=NEXT_QUESTION)])
    sent = [content for content in fake.requests[-1].body["contents"] if content["role"] == "model"]
    spoken = [[part for part in one.parts if part != {"text": ""}] for one in history]
    assert sent == [{"role": "model", "parts": parts} for parts in spoken if parts]


@pytest.mark.parametrize("name", [name for name in CONVERSATIONS if name not in NOT_VERBATIM])
async def test_we_send_what_the_recorded_client_sent(name: str, fake: GeminiFake) -> None:
    """The model's turns of each recorded request are those of ours, but for what that client
    changed."""
    history = exchanges(name)
    await replay(fake, history)
    ours = [
        [one for one in request.body["contents"] if one["role"] == "model"]
        for request in fake.requests
    ]
    theirs = [
        [one for one in exchange.request["contents"] if one["role"] == "model"]
        for exchange in history
    ]
    assert [plain(contents) for contents in ours] == [plain(contents) for contents in theirs]


@pytest.mark.parametrize("name", FAILURES)
async def test_a_recorded_error_is_translated(name: str, fake: GeminiFake) -> None:
    """Each recorded error becomes ours, with the delay where it names one."""
    for exchange in exchanges(name):
        fake.models.add(exchange.model)
        fake.answer(exchange.answer)
        assert await outcome(fake, exchange.model) == FAILURES[name]


@pytest.mark.parametrize("case", REPORTED)
async def test_a_reported_shape_is_survived(case: str, fake: GeminiFake) -> None:
    """Shapes that others have met in the wild come out honestly."""
    fake.answer(reported(case))
    assert await outcome(fake) == REPORTED[case]


@pytest.mark.parametrize("name", SDK_MOCKS)
async def test_a_mock_of_the_sdk_is_understood(name: str, fake: GeminiFake) -> None:
    """The shapes that Google's SDKs test themselves with are understood as well."""
    fake.answer(sdk_mock(name))
    assert await outcome(fake) == SDK_MOCKS[name]


async def replay(fake: GeminiFake, history: list[Exchange]) -> list[ModelResponse]:
    """Hold the recorded conversation again, our own way, and return the answers."""
    fake.models.add(history[0].model)
    provider = Gemini(KEY, history[0].model, fake.base_url)
    messages: list[Message] = []
    answers = []
    for exchange in history:
        if not (messages and messages[-1].role == "tool"):
            messages.append(user(asked(exchange)))
        fake.answer(exchange.answer)
        answer = (await ask(provider, messages, exchange.tools)).response
        answers.append(answer)
        messages.append(answer.message)
        if answer.message.calls:
            nothing: list[dict[str, object]] = [{} for _ in answer.message.calls]
            messages.append(results(answer.message, *nothing))
    await provider.aclose()
    return answers


def asked(exchange: Exchange) -> str:
    """The newest words of the user."""
    parts: list[dict[str, str]] = exchange.request["contents"][-1]["parts"]
    return next(part["text"] for part in parts if "text" in part)


async def outcome(fake: GeminiFake, model: str = "gemini-3.5-flash") -> object:
    """How one answer ends: its stop reason, or the error."""
    provider = Gemini(KEY, model, fake.base_url)
    try:
        return (await ask(provider, [user("hello")])).response.stop_reason
    except TryAgain as error:
        return TryAgain, error.apology, error.after
    except ModelError as error:
        return type(error), error.apology, None
    finally:
        await provider.aclose()
