"""A turn's entry in the history: never larger than a history, and always a valid transcript."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.pipeline.history import TOO_LONG, encode_turn, read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import HISTORY_BYTES
from bot.transcript import (
    Message,
    Opaque,
    Text,
    ToolCall,
    ToolResult,
    TurnRecord,
    decode_record,
    encode,
)
from tests.bot.harness import HERE, Harness, words
from tests.bot.store.turns import key

KIB = 1024
SIGNED = Opaque("gemini", "gemini-3.5-flash", b"signature" * 1_000)


def record_of(*messages: Message) -> TurnRecord:
    return TurnRecord("turn_1", 1, "gemini-3.5-flash", messages)


def round_of(name: str, *sizes: int) -> tuple[Message, Message]:
    """The model's calls and their results, each of so many characters."""
    calls = tuple(ToolCall(f"{name}{index}", "read", {"n": index}) for index in range(len(sizes)))
    results = tuple(
        ToolResult(call.id, "read", {"text": "x" * size})
        for call, size in zip(calls, sizes, strict=True)
    )
    return Message(name, "model", calls, 1, opaque=SIGNED), Message(
        f"{name}_results", "tool", results, 1
    )


ASKED = words("m1", "What do the pages say?")
ANSWER = Message("answer", "model", (Text("Much."),), 2)


def test_a_turn_that_fits_is_stored_as_it_is() -> None:
    """Not a byte is changed."""
    record = record_of(ASKED, *round_of("a", HISTORY_BYTES // 2), ANSWER)
    assert encode_turn(record) == encode(record)


def test_the_largest_results_make_room() -> None:
    """Each call keeps its one result, small results stay, and the vendor's data are unchanged."""
    record = record_of(
        ASKED, *round_of("a", 900 * KIB, 10), *round_of("b", 400 * KIB, 300 * KIB), ANSWER
    )
    entry = encode_turn(record)
    assert len(entry) <= HISTORY_BYTES
    stored = decode_record(entry).messages
    first, small = stored[2].results
    assert first == ToolResult("a0", "read", {"output": TOO_LONG})
    assert (small, stored[4]) == (record.messages[2].results[1], record.messages[4])
    assert [stored[index] for index in (0, 1, 3, 5)] == [
        record.messages[index] for index in (0, 1, 3, 5)
    ]


def test_without_enough_results_the_rounds_go() -> None:
    """Then only what was asked and answered is stored."""
    large = Opaque("gemini", "gemini-3.5-flash", b"s" * HISTORY_BYTES)
    called, results = round_of("a", 10)
    record = record_of(ASKED, Message("a", "model", called.parts, 1, opaque=large), results, ANSWER)
    assert decode_record(encode_turn(record)).messages == (ASKED, ANSWER)


def test_the_longest_messages_go_last() -> None:
    """People who write for a whole turn without end; short messages stay."""
    long = [words(f"l{index}", "あ" * 20_000) for index in range(30)]
    entry = encode_turn(record_of(ASKED, *long, ANSWER))
    assert len(entry) <= HISTORY_BYTES
    stored = decode_record(entry).messages
    assert [message.id for message in stored] == ["m1", *(message.id for message in long), "answer"]
    assert (stored[0], stored[-1]) == (ASKED, ANSWER)
    assert 0 < sum(message.text == TOO_LONG for message in stored) < 30


async def test_one_long_turn_takes_no_more_than_a_history(store: Store, redis: Redis) -> None:
    """What the model wrote around its calls counts too."""
    call = ToolCall("c1", "echo", {"text": "x" * (HISTORY_BYTES // 3)})
    opaque = Opaque("scripted", "scripted", b"x" * HISTORY_BYTES)
    harness = Harness(store, [Step(calls=(call,), opaque=opaque), Step("Done")])
    await harness.say("hello", "m1")
    (entry,) = await redis.lrange(key("history", HERE), 0, -1)
    assert len(entry) <= HISTORY_BYTES
    assert [message.role for message in await read_history(store, HERE)] == ["user", "model"]
