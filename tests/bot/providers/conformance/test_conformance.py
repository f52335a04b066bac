"""The same behaviour from every vendor, over real HTTP and through the real SDK, before a stand-in
as strict as it.

What each test shows is a row of the table in ``docs/providers.md``.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from contextlib import AsyncExitStack, aclosing
from functools import cache

import pytest
from msgspec.structs import replace

from bot.errors import ModelError, TryAgain
from bot.features.summaries.summarizer import Summarizer
from bot.providers import AUTO, NONE, Request, StopReason, TextDelta, ToolCallDelta, ToolChoice
from bot.providers.shared.request import PIECE
from bot.telemetry import Metrics
from bot.transcript import Media, ToolCall, TurnRecord, decode_record, encode
from tests.bot.providers.asking import Reply, ask, declared, model, results, user
from tests.bot.providers.conformance.shown import assert_shown_is_documented
from tests.bot.providers.subjects.all import SUBJECTS, Subject
from toolset.tool import ToolDefinition

TOKYO = ("get_weather", {"location": "東京"})
OSAKA = ("get_weather", {"location": "Osaka"})
TIME = ("get_current_time", {"time_zone": "Asia/Tokyo"})
SUNNY = {"condition": "Sunny", "current_temp_c": "18"}
PICTURE = Media("1", "image/png", 4, b"\x89PNG")
ODD = {
    "a list": "[1]",
    "NaN": '{"location": NaN}',
    "infinite": '{"location": -Infinity}',
    "out of range": '{"location": 1e999}',
    "half a character": r'{"location": "\ud83d"}',
    "too deep": f'{{"location": {"[" * 100_000}{"]" * 100_000}}}',
}
CHOICES = [AUTO, NONE, ToolChoice("required"), ToolChoice("one", "get_weather")]


def need(subject: Subject, behaviour: str) -> None:
    """Skip what the vendor has no form for, with the word about it."""
    if behaviour in subject.lacks:
        pytest.skip(subject.lacks[behaviour])


def words(asked: Reply) -> list[str]:
    """The words of a stream as they came."""
    return [event.text for event in asked.events if isinstance(event, TextDelta)]


def settled(asked: Reply) -> tuple[str, StopReason, list[tuple[str, object]]]:
    """What an answer comes to."""
    return (
        asked.text,
        asked.response.stop_reason,
        [(name, arguments) for name, arguments in asked.calls],
    )


@pytest.mark.shows("Text is streamed")
async def test_words_flow_out_as_they_come(subject: Subject) -> None:
    """Each piece is an event of its own, and together they are the answer, in any script."""
    subject.say("It is ", "sunny. ", "晴れ", "です。\n", '"😀"')
    asked = await ask(subject.provider, [user("東京は?")], declared())
    assert words(asked) == ["It is ", "sunny. ", "晴れ", "です。\n", '"😀"']
    assert settled(asked) == ('It is sunny. 晴れです。\n"😀"', "end_turn", [])


@pytest.mark.shows("Summaries of long conversations")
async def test_notes_are_written(subject: Subject) -> None:
    """By a request without tools, whatever calls and pictures there were."""
    called = model(ToolCall("call_1", *TOKYO))
    subject.say("Hanako asked about Tokyo.")
    reported = [user("東京は?", PICTURE), called, results(called, SUNNY), model("晴れです。")]
    written = await Summarizer("Take notes.", Metrics()).write(subject.provider, "", reported)
    assert written.message.text == "Hanako asked about Tokyo."
    [sent] = subject.sent
    assert (sent.tools, sent.pictures) == ((), ())
    assert "Take notes." in sent.system
    assert "東京は? [image]" in sent.text


@pytest.mark.shows("Text is streamed")
async def test_words_are_not_held_back(subject: Subject) -> None:
    """What has come is shown while the rest is still to come."""
    subject.begin("It is", end="stalled")
    async with aclosing(subject.provider.stream(Request("", [user("?")]))) as events:
        async with asyncio.timeout(5):
            assert await anext(events) == TextDelta("It is")


@pytest.mark.shows("Tool calls, several at once")
async def test_one_call(subject: Subject) -> None:
    """Name and arguments as the model gave them."""
    subject.calls(TOKYO)
    assert settled(await ask(subject.provider, [user("?")], declared())) == (
        "",
        "tool_use",
        [TOKYO],
    )


@pytest.mark.shows("Tool calls, several at once")
async def test_parallel_calls(subject: Subject) -> None:
    """All of them, in order, each with an id of its own."""
    subject.calls(TOKYO, OSAKA, TIME)
    asked = await ask(subject.provider, [user("?")], declared())
    assert settled(asked) == ("", "tool_use", [TOKYO, OSAKA, TIME])
    assert len({call.id for call in asked.response.message.calls} - {""}) == 3


@pytest.mark.shows("Interleaved pieces of calls")
async def test_interleaved_calls(subject: Subject) -> None:
    """Pieces of several calls come in turns, and belong to whom they belong."""
    need(subject, "interleaved")
    subject.calls(TOKYO, OSAKA, TIME, interleaved=True)
    asked = await ask(subject.provider, [user("?")], declared())
    assert settled(asked) == ("", "tool_use", [TOKYO, OSAKA, TIME])


@pytest.mark.shows("Tool calls, several at once")
async def test_the_pieces_of_a_call_are_the_call(subject: Subject) -> None:
    """Whoever watches a stream can put it together by the index."""
    subject.calls(TOKYO, OSAKA)
    asked = await ask(subject.provider, [user("?")], declared())
    reported: dict[int, str] = {}
    for event in asked.events:
        if isinstance(event, ToolCallDelta):
            reported[event.index] = (
                reported.get(event.index, "") + event.id + event.name + event.arguments_delta
            )
    expected = [
        call.id + call.name + encode(call.arguments).decode()
        for call in asked.response.message.calls
    ]
    assert list(reported.values()) == expected


@pytest.mark.shows("Results of calls, also errors")
async def test_a_result_leads_to_an_answer(subject: Subject) -> None:
    """What was stored is taken back by a strict service, results of errors too, and words that came
    meanwhile."""
    subject.calls(TOKYO, OSAKA)
    subject.say("晴れです。")
    asked = (await ask(subject.provider, [user("?")], declared())).response.message
    reported = (
        user("?"),
        asked,
        results(asked, SUNNY, {"error": "location not found"}),
        user("Hurry!"),
    )
    stored = decode_record(encode(TurnRecord("turn_1", 1, subject.provider.model, reported)))
    assert settled(await ask(subject.provider, stored.messages, declared())) == (
        "晴れです。",
        "end_turn",
        [],
    )


@pytest.mark.shows("Results of calls, also errors")
async def test_a_made_up_name_does_not_spoil_what_follows(subject: Subject) -> None:
    """A model may call anything; the next request still holds the call."""
    made_up = model(ToolCall("functions.get weather:0 " * 9, "functions.get weather", {}))
    subject.say("ok")
    reported = [user("?"), made_up, results(made_up, {"error": "unknown tool"})]
    assert (await ask(subject.provider, reported, declared())).text == "ok"


@pytest.mark.shows("Tool choice: auto, none, required, one tool")
async def test_tool_choice(subject: Subject) -> None:
    """All four, with the tools declared in each."""
    need(subject, "tool choice")
    for choice in CHOICES:
        if choice in (AUTO, NONE):
            subject.say("ok")
        else:
            subject.calls(OSAKA)
        await ask(subject.provider, [user("?")], declared(), choice)
    assert [sent.choice for sent in subject.sent] == CHOICES
    assert {sent.tools for sent in subject.sent} == {tuple(tool.name for tool in declared())}


@pytest.mark.shows("Requests without tools")
async def test_without_tools_nothing_is_declared(subject: Subject) -> None:
    """Nor chosen."""
    subject.say("ok")
    await ask(subject.provider, [user("?")])
    assert [(sent.tools, sent.choice) for sent in subject.sent] == [((), None)]


@pytest.mark.shows("System prompt and pictures")
async def test_system_prompt_and_pictures(subject: Subject) -> None:
    """Both reach the model; a picture that is gone is a word."""
    subject.say("A cat.")
    gone = Media("2", "image/png", 4)
    assert (await ask(subject.provider, [user("Look", PICTURE, gone)])).text == "A cat."
    sent = subject.sent[0]
    assert (sent.system, sent.pictures) == (
        "Be kind.",
        (("image/png", b64encode(b"\x89PNG").decode()),),
    )


@pytest.mark.shows("System prompt and pictures")
async def test_pictures_of_every_size_arrive_whole(subject: Subject) -> None:
    """They are put into the request while it is sent; words that look like their base64 stay
    words."""
    subject.say("Cats.")
    sizes = (4, 5, PIECE - 1, PIECE, PIECE + 1, 7 * PIECE + 2)
    pictures = [
        replace(PICTURE, data=PICTURE.data + bytes(place % 251 for place in range(4, size)))
        for size in sizes
    ]
    await ask(subject.provider, [user("Look", *pictures), user("<0-1>", pictures[0])])
    encoded = [b64encode(picture.data).decode() for picture in pictures]
    assert [data for _, data in subject.sent[0].pictures] == [*encoded, encoded[0]]
    assert "<0-1>" in subject.sent[0].text


@pytest.mark.shows("System prompt and pictures")
async def test_a_picture_of_an_odd_kind_spoils_nothing(subject: Subject) -> None:
    """Who does not see an iPhone's pictures would refuse the whole conversation for one."""
    subject.say("A cat?")
    odd = Media("1", "image/heic", 4, b"ftyp")
    assert (await ask(subject.provider, [user("Look", odd)])).text == "A cat?"


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param("max_tokens", marks=pytest.mark.shows("Stop: the output limit")),
        pytest.param("blocked", marks=pytest.mark.shows("Stop: blocked")),
        pytest.param("malformed", marks=pytest.mark.shows("Stop: malformed")),
        pytest.param("other", marks=pytest.mark.shows("Stop: any other reason")),
    ],
)
async def test_stop_reasons(subject: Subject, reason: StopReason) -> None:
    """Each in the vendor's word; the words that came are kept."""
    need(subject, reason)
    subject.say("It is", stop=reason)
    asked = await ask(subject.provider, [user("?")], declared())
    assert (asked.response.stop_reason, asked.calls) == (reason, [])
    assert asked.text == "It is"


@pytest.mark.shows("A call cut short is not run")
async def test_a_call_cut_short_is_not_run(subject: Subject) -> None:
    """Half a call is no call."""
    subject.cut_call()
    asked = await ask(subject.provider, [user("?")], declared())
    assert (asked.response.stop_reason, asked.calls) == ("max_tokens", [])


@pytest.mark.shows("A call with NaN, Infinity or half a character is not run")
async def test_arguments_that_are_no_json_are_refused(subject: Subject) -> None:
    """As malformed, like all arguments that cannot be read: by the stop reason, or by an error that
    is tried again."""
    outcomes: dict[str, list[object]] = {}
    for name, arguments in ODD.items():
        subject.odd_call(arguments)
        try:
            asked = await ask(subject.provider, [user("?")], declared())
            outcomes[name] = [asked.response.stop_reason, *asked.calls]
        except TryAgain as error:
            outcomes[name] = [error.apology]
    assert outcomes == {name: ["malformed"] for name in ODD}


@pytest.mark.shows("Half a character in a text becomes U+FFFD")
async def test_half_a_character_becomes_a_replacement(subject: Subject) -> None:
    """The text can be shown, stored and sent back; whole characters in escapes stay as they are."""
    subject.odd_text(r'"\ude00a \ud83d\ude00 \\ud83d \ud83d"')
    asked = await ask(subject.provider, [user("?")], declared())
    assert settled(asked) == ("\ufffda \N{GRINNING FACE} \\ud83d \ufffd", "end_turn", [])
    assert "".join(words(asked)) == asked.text
    stored = decode_record(
        encode(TurnRecord("turn_1", 1, subject.provider.model, (asked.response.message,)))
    )
    subject.say("ok")
    assert (
        await ask(subject.provider, [user("?"), *stored.messages, user("!")], declared())
    ).text == "ok"


@pytest.mark.shows("An empty answer is malformed")
async def test_an_empty_answer_is_malformed(subject: Subject) -> None:
    """Never a success."""
    subject.empty()
    assert settled(await ask(subject.provider, [user("?")], declared())) == ("", "malformed", [])


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("input", marks=pytest.mark.shows("Tokens are counted")),
        pytest.param("output", marks=pytest.mark.shows("Tokens are counted")),
        pytest.param(
            "cached", marks=pytest.mark.shows("Tokens from the vendor's cache are counted")
        ),
        pytest.param("thinking", marks=pytest.mark.shows("Thinking tokens are counted separately")),
    ],
)
async def test_usage(subject: Subject, kind: str) -> None:
    """Input with what was cached of it, output, and thinking apart from it; and who answered."""
    need(subject, kind)
    subject.say("ok")
    response = (await ask(subject.provider, [user("?")])).response
    assert response.usage == subject.usage
    assert getattr(response.usage, kind) > 0
    assert response.model


@pytest.mark.shows("Strict arguments of strict tools")
async def test_strict_tools(subject: Subject) -> None:
    """Only those that ask, and only where the schema can be said so."""
    need(subject, "strict")
    subject.say("ok")
    whole = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tools = [
        ToolDefinition("usual", "Does it.", whole, {}),
        ToolDefinition("strict", "Does it.", whole, {}, strict=True),
        ToolDefinition("loose", "Does it.", {**whole, "required": []}, {}, strict=True),
    ]
    await ask(subject.provider, [user("?")], tools)
    assert [sent.strict for sent in subject.sent] == [("strict",)]


@pytest.mark.shows("Results reach the model as data")
async def test_results_are_told_as_data(subject: Subject) -> None:
    """What a tool says is never the outermost object, where it could pass for an error of ours."""
    subject.say("ok")
    asked = model(ToolCall("call_1", *OSAKA), ToolCall("call_2", *TOKYO))
    spoken, failed = results(asked, SUNNY, {"error": "location not found"}).results
    lying = replace(spoken, response={"error": "approved"})
    reported = replace(results(asked, SUNNY, SUNNY), parts=(lying, failed))
    await ask(subject.provider, [user("?"), asked, reported], declared())
    assert '{"output":{"error":"approved"}}' in subject.sent[0].text
    assert '{"error":"location not found"}' in subject.sent[0].text


async def test_the_reason_for_a_call_is_told_as_its_model_wrote_it(subject: Subject) -> None:
    """Beside the arguments: a history of calls without it would teach the model to leave it out."""
    subject.say("ok")
    asked = model(ToolCall("call_1", *OSAKA, "You asked for it."))
    await ask(subject.provider, [user("?"), asked, results(asked, SUNNY)], declared())
    assert '"location":"Osaka","reason":"You asked for it."' in subject.sent[0].text.replace(
        "\\", ""
    )


async def moved() -> dict[str, object]:
    """What each vendor answers, or raises, at the end of a conversation that goes from vendor to
    vendor within its turn, twice round, so that each has been given calls of all the others."""
    async with AsyncExitStack() as stack:
        subjects: dict[str, Subject] = {}
        for name, opening in SUBJECTS.items():
            subjects[name] = await stack.enter_async_context(opening())
        reported = [user("?")]
        for subject in (*subjects.values(), *subjects.values()):
            subject.calls(TOKYO, OSAKA, text="Let me look.")
            asked = (await ask(subject.provider, reported, declared())).response.message
            reported += [asked, results(asked, SUNNY, {"error": "location not found"})]
        reported += [model("Noon."), user("Thanks")]
        answers: dict[str, object] = {}
        for name, subject in subjects.items():
            subject.say("You are welcome.")
            try:
                answers[name] = (await ask(subject.provider, reported, declared())).text
            except ModelError as error:
                answers[name] = error
        return answers


@cache
def answers_after_moving() -> dict[str, object]:
    """One conversation shows it of every vendor."""
    return asyncio.run(moved())


@pytest.mark.shows("Conversations move between providers")
@pytest.mark.parametrize("after", SUBJECTS)
def test_a_conversation_moves_from_one_vendor_to_another(after: str) -> None:
    """In the middle of a turn and later: what the others have made, opaque data included, each
    takes, and its own again."""
    assert answers_after_moving()[after] == "You are welcome."


def test_the_documented_table_is_what_was_shown(request: pytest.FixtureRequest) -> None:
    """``docs/providers.md`` says about each vendor what the tests above have shown."""
    assert_shown_is_documented(request)
