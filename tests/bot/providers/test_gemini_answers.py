"""What Gemini answers, read from its strict stand-in: every shape it is known to take."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bot.errors import TryAgain
from bot.providers import Request, StreamEvent, TextDelta, ToolCallDelta
from bot.providers.gemini.client import Gemini
from bot.transcript import Text, Usage
from tests.bot.providers.asking import Reply, ask, results, user
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import SSE, answer_of, event

JSON = dict[str, Any]

CALL = {"functionCall": {"name": "calculate", "args": {"expression": "1+1"}}}
BLOCKING = [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "ESCALATION",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
]
OTHERS = ["OTHER", "FINISH_REASON_UNSPECIFIED", "TOO_MANY_TOOL_CALLS", "SOMETHING_NEW"]


async def answered(
    fake: GeminiFake, gemini: Gemini, *events: list[JSON], finish: str = "STOP"
) -> Reply:
    """The answer that these parts make."""
    fake.parts(*events, finish=finish)
    return await ask(gemini, [user("?")])


async def broken(gemini: Gemini) -> tuple[list[StreamEvent], TryAgain]:
    """What a stream told before it failed, and how it failed."""
    seen = []
    try:
        async for one in gemini.stream(Request("", [user("?")])):
            seen.append(one)
    except TryAgain as error:
        return seen, error
    raise AssertionError("the stream did not fail")


def sse(*events: JSON) -> bytes:
    """A stream, word for word."""
    return b"".join(b"data: " + msgspec.json.encode(one) + b"\r\n\r\n" for one in events)


async def test_calls_stream_whole(fake: GeminiFake, gemini: Gemini) -> None:
    """Text beside calls is kept, parallel calls keep their order, and deltas and calls share their
    ids."""
    fake.calls(("a", {"x": 1}), ("b", {}), text="Let me see.")
    asked = await ask(gemini, [user("?")])
    first, second = asked.response.message.calls
    assert asked.response.message.parts == (Text("Let me see."), first, second)
    assert asked.calls == [("a", {"x": 1}), ("b", {})]
    assert asked.events[:-1] == (
        TextDelta("Let me see."),
        ToolCallDelta(0, first.id, "a", '{"x":1}'),
        ToolCallDelta(1, second.id, "b", "{}"),
    )
    assert asked.response.stop_reason == "tool_use"


async def test_a_missing_id_becomes_our_own(fake: GeminiFake, gemini: Gemini) -> None:
    """Absent, empty or repeated ids are replaced by unique ones; a good one stays."""
    given: list[JSON] = [{}, {"id": ""}, {"id": "x"}, {"id": "x"}]
    asked = await answered(fake, gemini, [{"functionCall": {"name": "f", **one}} for one in given])
    ids = [call.id for call in asked.response.message.calls]
    assert ids[2] == "x"
    assert len(set(ids)) == 4
    assert all(ours.startswith("call_") and len(ours) == 37 for ours in (*ids[:2], ids[3]))


@pytest.mark.parametrize("given", [{}, {"args": None}, {"args": ""}, {"args": {}}])
async def test_missing_arguments_are_none(fake: GeminiFake, gemini: Gemini, given: JSON) -> None:
    """Absent, null and "" are the same empty object."""
    asked = await answered(fake, gemini, [{"functionCall": {"name": "f", **given}}])
    assert asked.calls == [("f", {})]


@pytest.mark.parametrize(
    "part",
    [
        {"text": "hi", "thoughtSignature": "c2ln"},
        {"text": "", "thoughtSignature": "c2ln"},
        {**CALL, "thoughtSignature": ""},
        {**CALL, "thoughtSignature": "a+b/cw=="},
        {"text": "hmm", "thought": True, "thoughtSignature": "c2ln"},
        {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "c2ln"},
        {"hologram": {"depth": 1.0, "snake_case": [None, "東京 < &"]}, "partMetadata": {"a": 1}},
        {
            "functionCall": {"name": "f", "args": {}, "novelty": {"deep": True}},
            "thoughtSignature": "c2ln",
        },
    ],
)
async def test_every_part_is_kept_word_for_word(
    fake: GeminiFake, gemini: Gemini, part: JSON
) -> None:
    """Signatures on any kind of part, empty ones, unknown kinds and fields: all go back as they
    came."""
    question = user("?")
    fake.parts([part, {"text": "done"}])
    message = (await ask(gemini, [question])).response.message
    assert message.opaque is not None
    assert message.opaque.data == msgspec.json.encode([part, {"text": "done"}])
    fake.say("ok")
    answers = [results(message, {})] if message.calls else [user("and?")]
    await ask(gemini, [question, message, *answers])
    assert fake.requests[-1].body["contents"][1] == {
        "role": "model",
        "parts": [part, {"text": "done"}],
    }


HALF: JSON = {"text": "half"}
THOUGHT: JSON = {"text": "secret", "thought": True}


@pytest.mark.parametrize(
    ("parts", "finish", "reason", "stored"),
    [
        # STOP without words and calls is no success; a thought is no word.
        *(([part], "STOP", "malformed", ()) for part in (THOUGHT, {"text": ""})),
        ([{"text": " \n"}], "STOP", "malformed", (Text(" \n"),)),
        ([], "STOP", "malformed", ()),
        ([THOUGHT, HALF], "STOP", "end_turn", (Text("half"),)),
        # A call without a name cannot be answered.
        ([{"functionCall": {"args": {}}}, HALF], "STOP", "end_turn", (Text("half"),)),
        # The words can be delivered with a remark; a call that did not end well is not run.
        *(([HALF, CALL], end, "other", (Text("half"),)) for end in OTHERS),
        ([HALF, CALL], "MAX_TOKENS", "max_tokens", (Text("half"),)),
        *(
            ([CALL], end, "malformed", ())
            for end in ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE")
        ),
        # These words announce what did not come.
        ([HALF], "UNEXPECTED_TOOL_CALL", "malformed", (Text("half"),)),
    ],
)
async def test_an_answer_ends(
    fake: GeminiFake, gemini: Gemini, parts: list[JSON], finish: str, reason: str, stored: object
) -> None:
    """By what it holds and by Gemini's reason, which the log names where it is unusual."""
    asked = await answered(fake, gemini, parts, finish=finish)
    response = asked.response
    assert (response.stop_reason, response.message.parts) == (reason, stored)
    assert response.detail == ("" if reason == "end_turn" else finish)
    shown = "".join(event.text for event in asked.events if isinstance(event, TextDelta))
    assert shown == asked.text


async def test_a_blocked_answer_is_blocked(fake: GeminiFake, gemini: Gemini) -> None:
    """Whatever the filter is called; its name goes into the detail."""
    for reason in BLOCKING:
        fake.finish(reason, "No.")
        response = (await ask(gemini, [user("?")])).response
        assert (response.stop_reason, response.detail) == ("blocked", f"{reason} No.")


async def test_a_blocked_prompt_is_blocked(fake: GeminiFake, gemini: Gemini) -> None:
    """There are no candidates then, only a reason."""
    feedback = {"blockReason": "JAILBREAK", "blockReasonMessage": "filtered"}
    fake.raw(sse({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 7}}))
    response = (await ask(gemini, [user("?")])).response
    assert (response.stop_reason, response.detail) == ("blocked", "JAILBREAK filtered")
    assert response.usage == Usage(input=7)
    assert response.message.opaque is None


@pytest.mark.parametrize(
    ("parts", "finish"),
    [([HALF, CALL], "MAX_TOKENS"), ([{"functionCall": {"args": {}}}, HALF], "STOP")],
)
async def test_what_is_no_call_is_not_sent_back(
    fake: GeminiFake, gemini: Gemini, parts: list[JSON], finish: str
) -> None:
    """It would need a result: at the token limit it may be half a call."""
    message = (await answered(fake, gemini, parts, finish=finish)).response.message
    assert message.opaque is not None
    assert message.opaque.data == b'[{"text":"half"}]'
    fake.say("ok")
    await ask(gemini, [user("?"), message, user("go on")])


async def test_an_unexpected_call_is_passed_on_when_it_is_whole(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """The loop answers it with ``unknown tool``."""
    asked = await answered(fake, gemini, [CALL], finish="UNEXPECTED_TOOL_CALL")
    assert asked.response.stop_reason == "tool_use"
    assert asked.calls == [("calculate", {"expression": "1+1"})]


async def test_almost_every_field_may_be_absent(fake: GeminiFake, gemini: Gemini) -> None:
    """Candidates, content, parts, role, counts and the model's version: none of them is relied
    on."""
    nulls = {
        "candidates": None,
        "usageMetadata": None,
        "modelVersion": None,
        "promptFeedback": None,
    }
    fake.raw(
        sse(
            {},
            nulls,
            {"candidates": []},
            {"candidates": [{}]},
            {"candidates": [{"content": {}}]},
            {
                "candidates": [{"content": {"parts": [{"text": "hi"}, {"text": None}]}}],
                "usageMetadata": {},
            },
            {
                "candidates": [{"finishReason": "STOP"}],
                "usageMetadata": {"cachedContentTokenCount": 3},
            },
            {"usageMetadata": {"promptTokenCount": 4, "cachedContentTokenCount": 3}},
        )
    )
    response = (await ask(gemini, [user("?")])).response
    assert (response.message.text, response.stop_reason) == ("hi", "end_turn")
    assert response.usage == Usage(input=4, cached=3)
    assert response.model == "gemini-3.5-flash"


@pytest.mark.parametrize("break_", [b"\n", b"\r\n"])
async def test_events_are_read_as_the_standard_has_them(
    fake: GeminiFake, gemini: Gemini, break_: bytes
) -> None:
    """Either line break, comments, other fields, data over several lines, no blank line at the
    end."""
    lines = [
        *(b": keep-alive", b""),
        *(b"id: 1", b"data:" + msgspec.json.encode(event([{"text": "a\u2028"}])), b""),
        *(
            b'data: {"candidates": [{"content": {"parts":',
            b'data: [{"text": "b"}]}, "finishReason": "STOP"}]}',
        ),
    ]
    fake.raw(break_.join(lines))
    assert (await ask(gemini, [user("?")])).text == "a\u2028b"


async def test_a_broken_off_stream_is_tried_again(fake: GeminiFake, gemini: Gemini) -> None:
    """An end without a finish reason is no end, and the calls so far are not passed on."""
    fake.parts([CALL], finish="")
    seen, error = await broken(gemini)
    assert error.apology == "model_down"
    assert [type(one) for one in seen] == [ToolCallDelta]


async def test_parts_that_no_request_can_hold_are_not_sent_back(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """A number out of range in an unknown field would fail every later request; the text alone goes
    back."""
    [one] = answer_of([{"text": "It is sunny.", "new": "@@"}]).events
    fake.raw(sse(one).replace(b'"@@"', b"1e999"))
    answer = (await ask(gemini, [user("?")])).response.message
    assert (answer.text, answer.opaque) == ("It is sunny.", None)
    fake.say("ok")
    assert (await ask(gemini, [user("?"), answer, user("!")])).text == "ok"


@pytest.mark.parametrize(
    "body",
    [
        b"data: {not json}\n\n",
        b"data: [1]\n\n",
        b'data: {"candidates": 5}\n\n',
        b'data: {"modelVersion": "\xff"}\n\n',
        b'data: {"candidates": [{"content": {"parts": [{"text": 5}]}}]}\n\n',
        b"<html>Sign in to the network</html>",
        b'{"candidates": []}',
    ],
)
async def test_what_cannot_be_read_is_tried_again(
    fake: GeminiFake, gemini: Gemini, body: bytes
) -> None:
    """A garbled event or part, a proxy's page, JSON where a stream was asked for."""
    fake.raw(body, content_type=SSE if body.startswith(b"data") else "text/html")
    with pytest.raises(TryAgain) as raised:
        await ask(gemini, [user("?")])
    assert raised.value.apology == "malformed"
