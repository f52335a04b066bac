"""The same behaviour from every vendor, over real HTTP and through the real SDK, before a stand-in as strict as it."""

from __future__ import annotations

import asyncio
import traceback
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import permutations

import pytest

from bot.errors import ModelError, ModelUnusable, TryAgain
from bot.providers import AUTO, NONE, Completed, StopReason, TextDelta, ToolCallDelta, ToolChoice
from bot.transcript import Media, Message, ToolCall, TurnRecord, decode_record, encode
from tests.bot.providers.asking import Asked, ask, declared, model, results, user
from tests.bot.providers.stands.all import STANDS, Opening, Stand
from tests.waiting import until

TOKYO = ("get_weather", {"location": "東京"})
OSAKA = ("get_weather", {"location": "Osaka"})
TIME = ("get_current_time", {"time_zone": "Asia/Tokyo"})
SUNNY = {"condition": "Sunny", "current_temp_c": "18"}
WORDS = "my secret diary"
PICTURE = Media("1", "image/png", 4, b"\x89PNG")
CHOICES = [AUTO, NONE, ToolChoice("required"), ToolChoice("one", "get_weather")]


@pytest.fixture(params=list(STANDS))
def opening(request: pytest.FixtureRequest) -> Opening:
    """Opens a vendor."""
    return STANDS[request.param]


@pytest.fixture
async def stand(opening: Opening) -> AsyncIterator[Stand]:
    """A vendor."""
    async with opening() as stand:
        yield stand


async def failure(stand: Stand) -> ModelError:
    """How an answer fails."""
    try:
        await ask(stand.provider, [user(WORDS)], declared())
    except ModelError as error:
        return error
    raise AssertionError("the request did not fail")


def words(asked: Asked) -> list[str]:
    """The words of a stream as they came."""
    return [event.text for event in asked.events if isinstance(event, TextDelta)]


def settled(asked: Asked) -> tuple[str, StopReason, list[tuple[str, object]]]:
    """What an answer comes to."""
    return asked.text, asked.response.stop_reason, [(name, arguments) for name, arguments in asked.calls]


async def test_words_flow_out_as_they_come(stand: Stand) -> None:
    """Each piece is an event of its own, and together they are the answer, in any script."""
    stand.say("It is ", "sunny. ", "晴れ", "です。\n", '"😀"')
    asked = await ask(stand.provider, [user("東京は?")], declared())
    assert words(asked) == ["It is ", "sunny. ", "晴れ", "です。\n", '"😀"']
    assert settled(asked) == ('It is sunny. 晴れです。\n"😀"', "end_turn", [])


async def test_words_are_not_held_back(stand: Stand) -> None:
    """What has come is shown while the rest is still to come."""
    stand.begin("It is", end="stalled")
    async with aclosing(stand.provider.stream("", [user("?")], ())) as events:
        async with asyncio.timeout(5):
            assert await anext(events) == TextDelta("It is")


async def test_one_call(stand: Stand) -> None:
    """Name and arguments as the model gave them."""
    stand.calls(TOKYO)
    assert settled(await ask(stand.provider, [user("?")], declared())) == ("", "tool_use", [TOKYO])


async def test_parallel_calls(stand: Stand) -> None:
    """All of them, in order, each with an id of its own."""
    stand.calls(TOKYO, OSAKA, TIME)
    asked = await ask(stand.provider, [user("?")], declared())
    assert settled(asked) == ("", "tool_use", [TOKYO, OSAKA, TIME])
    assert len({call.id for call in asked.response.message.calls} - {""}) == 3


async def test_interleaved_calls(stand: Stand) -> None:
    """Pieces of several calls come in turns, and belong to whom they belong."""
    if "interleaved" in stand.lacks:
        pytest.skip("calls come whole")
    stand.calls(TOKYO, OSAKA, TIME, interleaved=True)
    asked = await ask(stand.provider, [user("?")], declared())
    assert settled(asked) == ("", "tool_use", [TOKYO, OSAKA, TIME])


async def test_the_pieces_of_a_call_are_the_call(stand: Stand) -> None:
    """Whoever watches a stream can put it together by the index."""
    stand.calls(TOKYO, OSAKA)
    asked = await ask(stand.provider, [user("?")], declared())
    told: dict[int, str] = {}
    for event in asked.events:
        if isinstance(event, ToolCallDelta):
            told[event.index] = told.get(event.index, "") + event.id + event.name + event.arguments_delta
    expected = [call.id + call.name + encode(call.arguments).decode() for call in asked.response.message.calls]
    assert list(told.values()) == expected


async def test_a_result_leads_to_an_answer(stand: Stand) -> None:
    """What was stored is taken back by a strict service, results of errors too, and words that came meanwhile."""
    stand.calls(TOKYO, OSAKA)
    stand.say("晴れです。")
    asked = (await ask(stand.provider, [user("?")], declared())).response.message
    told = (user("?"), asked, results(asked, SUNNY, {"error": "location not found"}), user("Hurry!"))
    stored = decode_record(encode(TurnRecord("turn_1", 1, stand.provider.model, told)))
    assert settled(await ask(stand.provider, stored.messages, declared())) == ("晴れです。", "end_turn", [])


async def test_a_made_up_name_does_not_spoil_what_follows(stand: Stand) -> None:
    """A model may call anything; the next request still holds the call."""
    made_up = model(ToolCall("functions.get weather:0 " * 9, "functions.get weather", {}))
    stand.say("ok")
    told = [user("?"), made_up, results(made_up, {"error": "unknown tool"})]
    assert (await ask(stand.provider, told, declared())).text == "ok"


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.mode)
async def test_tool_choice(stand: Stand, choice: ToolChoice) -> None:
    """All four, with the tools declared in each."""
    if "tool choice" in stand.lacks:
        pytest.skip("has none")
    if choice in (AUTO, NONE):
        stand.say("ok")
    else:
        stand.calls(OSAKA)
    await ask(stand.provider, [user("?")], declared(), choice)
    assert [sent.choice for sent in stand.sent] == [choice]
    assert stand.sent[0].tools == tuple(tool.name for tool in declared())


async def test_without_tools_nothing_is_declared(stand: Stand) -> None:
    """Nor chosen."""
    stand.say("ok")
    await ask(stand.provider, [user("?")])
    assert [(sent.tools, sent.choice) for sent in stand.sent] == [((), None)]


async def test_system_prompt_and_pictures(stand: Stand) -> None:
    """Both reach the model; a picture that is gone is a word."""
    stand.say("A cat.")
    gone = Media("2", "image/png", 4)
    assert (await ask(stand.provider, [user("Look", PICTURE, gone)])).text == "A cat."
    sent = stand.sent[0]
    assert (sent.system, sent.pictures) == ("Be kind.", (("image/png", b64encode(b"\x89PNG").decode()),))


@pytest.mark.parametrize("reason", ["max_tokens", "blocked", "malformed", "other"])
async def test_stop_reasons(stand: Stand, reason: StopReason) -> None:
    """Each in the vendor's word; the words that came are kept."""
    if f"stop: {reason}" in stand.lacks:
        pytest.skip("has no such end")
    stand.say("It is", stop=reason)
    asked = await ask(stand.provider, [user("?")], declared())
    assert (asked.response.stop_reason, asked.calls) == (reason, [])
    assert asked.text == "It is"


async def test_a_call_cut_short_is_not_run(stand: Stand) -> None:
    """Half a call is no call."""
    stand.cut_call()
    asked = await ask(stand.provider, [user("?")], declared())
    assert (asked.response.stop_reason, asked.calls) == ("max_tokens", [])


async def test_an_empty_answer_is_malformed(stand: Stand) -> None:
    """Never a success."""
    stand.empty()
    assert settled(await ask(stand.provider, [user("?")], declared())) == ("", "malformed", [])


async def test_usage(stand: Stand) -> None:
    """Input with what was cached of it, output, and thinking apart from it; and who answered."""
    stand.say("ok")
    response = (await ask(stand.provider, [user("?")])).response
    assert response.usage == stand.usage
    assert response.model


@pytest.mark.parametrize(
    ("status", "retry_after", "expected"),
    [
        (429, "7.5", (TryAgain, "rate_limited", 7.5)),
        (429, "", (TryAgain, "rate_limited", None)),
        (500, "", (TryAgain, "model_down", None)),
        (503, "2", (TryAgain, "model_down", 2.0)),
    ],
)
async def test_a_passing_failure(stand: Stand, status: int, retry_after: str, expected: object) -> None:
    """Another attempt may help, after the time the vendor names; the SDK makes none of its own."""
    stand.fail(status, retry_after=retry_after)
    error = await failure(stand)
    assert isinstance(error, TryAgain)
    assert (type(error), error.apology, error.after) == expected
    assert len(stand.sent) == 1


async def test_a_wrong_key(opening: Opening) -> None:
    """Refused at once, and the operator hears which variable to mend."""
    async with opening(key="another-key") as stand:
        error = await failure(stand)
    assert (type(error), error.apology) == (ModelUnusable, "key_refused")
    assert ("_API_KEY was refused" in error.cause) is ("key" not in stand.lacks)


async def test_an_unknown_model(opening: Opening) -> None:
    """The next model is asked instead."""
    async with opening(model="nonsense-9") as stand:
        error = await failure(stand)
        with pytest.raises(ModelUnusable) as checked:
            await stand.provider.check()
    assert (type(error), error.apology) == (ModelUnusable, "model_unknown")
    assert checked.value.apology == "model_unknown"
    assert "nonsense-9" in error.cause


async def test_no_text_holds_the_key_or_the_users_words(stand: Stand) -> None:
    """Vendors quote keys now and then; neither our words nor a logged traceback do."""
    for status in (400, 401, 403, 429):
        stand.fail(status, f"you sent {stand.key}, which is wrong")
        error = await failure(stand)
        told = f"{error!r} {error.cause} {''.join(traceback.format_exception(error))}"
        assert stand.key not in told
        assert WORDS not in told


@pytest.mark.parametrize("end", ["cut", "error"])
async def test_an_interrupted_stream_runs_nothing(stand: Stand, end: str) -> None:
    """A lost connection and an error after the 200 are the same to the caller: ask again."""
    stand.begin("It is", end=end)
    events = stand.provider.stream("", [user("?")], declared())
    assert await anext(events) == TextDelta("It is")
    with pytest.raises(TryAgain) as raised:
        await anext(events)
    assert raised.value.apology == "model_down"


async def test_a_slow_first_token_times_out(opening: Opening) -> None:
    """A silent service is given up long before a slow one."""
    async with opening(first_token_s=0.05) as stand:
        stand.stall()
        error = await failure(stand)
    assert (type(error), error.apology) == (TryAgain, "timed_out")


async def test_an_answer_without_end_times_out(opening: Opening) -> None:
    """The first token is in time, the last one never comes."""
    async with opening(request_s=0.05) as stand:
        stand.begin("It is", end="stalled")
        error = await failure(stand)
    assert (type(error), error.apology) == (TryAgain, "timed_out")


async def test_a_cancelled_turn_closes_its_connection(stand: Stand) -> None:
    """Nobody pays for what nobody reads."""
    stand.begin("It is", end="stalled")
    task = asyncio.create_task(ask(stand.provider, [user("?")]))
    await until(lambda: stand.streaming == 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await until(lambda: stand.streaming == 0)


async def test_the_connection_is_used_again(stand: Stand) -> None:
    """An answer that was read to its end leaves it open for the next."""
    for _ in range(3):
        stand.say("ok")
    asked = [await ask(stand.provider, [user("?")]) for _ in range(3)]
    assert [isinstance(one.events[-1], Completed) for one in asked] == [True] * 3


@pytest.mark.parametrize(("before", "after"), list(permutations(STANDS, 2)))
async def test_a_conversation_moves_from_one_vendor_to_another(before: str, after: str) -> None:
    """In the middle of a turn and later: what one has made, opaque data included, the other takes, and back again."""
    async with STANDS[before]() as first, STANDS[after]() as second:
        first.calls(TOKYO, OSAKA, text="Let me look.")
        asked = (await ask(first.provider, [user("?")], declared())).response.message
        told: list[Message] = [user("?"), asked, results(asked, SUNNY, {"error": "location not found"})]
        second.calls(TIME)
        again = (await ask(second.provider, told, declared())).response.message
        told += [again, results(again, {"time": "12:00"}), model("Noon."), user("Thanks")]
        for stand in (first, second):
            stand.say("You are welcome.")
            assert (await ask(stand.provider, told, declared())).text == "You are welcome."
