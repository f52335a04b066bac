"""Summaries of a conversation, through whole turns on a real store."""

from __future__ import annotations

import pytest

from bot.errors import TryAgain
from bot.features.summaries.feature import KEEP, REST_S
from bot.pipeline.history import READ_TURNS, SUMMARY
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Opaque, ToolCall, decode_summary
from tests.bot.features.limits.budgets_harness import used
from tests.bot.features.summaries.summarising import (
    NOTED,
    NOTES,
    SPENT,
    Summarising,
    summaries,
    talk,
)
from tests.bot.harness import HERE, edited, unsent
from tests.bot.pipeline.long_talks import LONG, sent


async def test_older_turns_become_a_summary(store: Store) -> None:
    """It is written once there is too much, stands before the turns it does not tell of, and stays
    as it is."""
    harness = Summarising(store, [Step("1"), Step("2"), Step("3"), NOTED, Step("4"), Step("5")])
    await talk(harness, f"one {LONG}", f"two {LONG}", f"three {LONG}", "four")
    [asked] = summaries(harness)
    assert (asked.tools, len(asked.messages)) == ((), 1)
    assert sent(harness) == [SUMMARY + NOTES, f"three {LONG}", "3", "four"]
    await talk(harness, "five")
    assert sent(harness) == [SUMMARY + NOTES, f"three {LONG}", "3", "four", "4", "five"]
    assert [text[:5].strip() for text in await harness.past()] == [
        *("one l", "1", "two l", "2", "three", "3", "four", "4", "five", "5")
    ]


async def test_the_next_summary_goes_on_from_the_last(store: Store) -> None:
    """What it said goes into the next one, with the turns since; what has been told is not read
    again."""
    again = Step("Hanako likes rain and tea.")
    steps = [Step("1"), Step("2"), Step("3"), NOTED, Step("4"), Step("5"), again, Step("6")]
    harness = Summarising(store, steps)
    await talk(
        harness,
        f"one {LONG}",
        f"two {LONG}",
        f"three {LONG}",
        f"four {LONG}",
        f"five {LONG}",
        "six",
    )
    first, second = (request.messages[0].text for request in summaries(harness))
    assert NOTES not in first
    assert f"<notes>\n{NOTES}\n</notes>" in second
    assert ("one" in first, "one" in second, "three" in second, "five" in second) == (
        True,
        False,
        True,
        False,
    )
    assert sent(harness) == [SUMMARY + "Hanako likes rain and tea.", f"five {LONG}", "5", "six"]


async def test_many_short_turns_become_a_summary_too(store: Store) -> None:
    """A turn reads no more than the newest ones, however short they are."""
    harness = Summarising(store, [*[Step("ok")] * 32, NOTED, Step("ok")], tokens=16_000)
    await talk(harness, *(f"word {number}" for number in range(33)))
    stored = int(READ_TURNS * KEEP)
    assert sent(harness)[:2] == [SUMMARY + NOTES, f"word {32 - stored}"]
    assert len(sent(harness)) == 1 + 2 * stored + 1


async def test_a_call_and_its_results_stay_together_and_signatures_go_with_their_turns(
    store: Store,
) -> None:
    """A summary is plain words, and takes whole turns."""
    call = ToolCall("c1", "echo", {"text": "rain in Kyoto"})
    signed = Opaque("scripted", "scripted", b"signature")
    steps = [
        Step("Let me see.", (call,), opaque=signed),
        Step("done"),
        Step("2"),
        Step("3"),
        NOTED,
        Step("4"),
    ]
    harness = Summarising(store, steps)
    await talk(harness, f"one {LONG[:200]}", f"two {LONG}", f"three {LONG}", "four")
    [asked] = summaries(harness)
    assert "Assistant: Let me see." in asked.messages[0].text
    assert 'Assistant calls echo: {"text":"rain in Kyoto"}' in asked.messages[0].text
    assert "Tool echo: " in asked.messages[0].text
    assert asked.messages[0].opaque is None
    last = harness.model.requests[-1].messages
    assert [message.opaque for message in last] == [None] * 4
    assert [message.calls for message in last] == [()] * 4


async def test_without_a_summary_the_turn_does_with_the_newest_turns(store: Store) -> None:
    """A model that fails at it costs nobody an answer, and is not asked again for a while."""
    failing = Step(error=TryAgain("model_down", "away"))
    steps = [Step("1"), Step("2"), Step("3"), failing, Step("4"), Step("5"), NOTED, Step("6")]
    time = [0.0]
    harness = Summarising(store, steps, clock=lambda: time[0])
    await talk(harness, f"one {LONG}", f"two {LONG}", f"three {LONG}")
    time[0] = REST_S - 1
    await talk(harness, "four")
    assert sent(harness) == [f"two {LONG}", "2", f"three {LONG}", "3", "four"]
    assert len(summaries(harness)) == 1
    time[0] = REST_S
    await talk(harness, "five", "six")
    assert sent(harness)[0] == SUMMARY + NOTES


@pytest.mark.parametrize(
    "step", [Step("cut off", usage=SPENT, stop_reason="max_tokens"), Step(" ", usage=SPENT)]
)
async def test_half_a_summary_is_none(store: Store, step: Step) -> None:
    """What breaks off has lost what came last; it is paid for all the same."""
    harness = Summarising(store, [Step("1"), Step("2"), Step("3"), step])
    await talk(harness, f"one {LONG}", f"two {LONG}", f"three {LONG}")
    assert (await store.history.recall(HERE, 9)).summary == b""
    assert harness.box.texts == ["1", "2", "3"]
    _, whole = await used(harness)
    assert whole.spent.tokens == 110


async def test_a_summary_leaves_room_for_what_is_said(store: Store) -> None:
    """A model that writes without end cannot fill what may be sent; no letter is cut in two."""
    endless = Step("記" * 5_000)
    harness = Summarising(store, [Step("1"), Step("2"), Step("3"), endless, Step("4")])
    await talk(harness, f"one {LONG}", f"two {LONG}", f"three {LONG}", "four")
    assert sent(harness) == [SUMMARY + "記" * 200, f"three {LONG}", "3", "four"]
    harness.model.window = 1_000  # it is another one
    assert (await harness.runner.window.load(HERE))[0].text == SUMMARY + "記" * 100


async def test_the_newest_turn_is_sent_whatever_its_length(store: Store) -> None:
    """And is not summarised while it is the newest."""
    harness = Summarising(store, [Step("1"), Step("2"), NOTED])
    await talk(harness, LONG * 4, "two")
    assert sent(harness) == [LONG * 4, "1", "two"]
    assert len(summaries(harness)) == 1
    assert "User: two" not in summaries(harness)[0].messages[0].text


async def test_a_summary_is_paid_for(store: Store) -> None:
    """By the conversation, not by whoever spoke last, and as no message."""
    harness = Summarising(store, [Step("1"), Step("2"), Step("3"), NOTED])
    await talk(harness, f"one {LONG}", f"two {LONG}", f"three {LONG}")
    mine, whole = await used(harness)
    assert (mine.spent.messages, mine.spent.tokens) == (3, 0)
    assert (whole.spent.messages, whole.spent.tokens) == (3, 110)
    assert (
        b'kaiwa_model_calls_total{model="scripted",outcome="summary"} 1.0'
        in harness.metrics.exposition()
    )


async def test_what_a_summary_tells_is_taken_back_with_it(store: Store) -> None:
    """An edit or an unsent message of a later turn leaves it; one that it tells of has it written
    anew."""
    again = Step("Nobody likes anything.")
    steps = [Step("1"), Step("2"), Step("3"), NOTED, Step("4"), again, Step("5")]
    harness = Summarising(store, steps)
    await talk(harness, f"one {LONG}", f"two {LONG}", f"three {LONG}")
    await harness.arrive(edited("e1", "m2", f"THREE {LONG}"))
    await talk(harness, "four")
    assert sent(harness)[:2] == [SUMMARY + NOTES, f"THREE {LONG}"]
    await harness.arrive(unsent("e2", "m0"))
    await harness.runner.process(HERE)
    assert (await store.history.recall(HERE, 9)).summary == b""


async def test_forgetting_a_person_forgets_the_summary_of_what_they_share(store: Store) -> None:
    """It does not say whose words it tells; what the others said is kept."""
    harness = Summarising(store, [Step("1"), Step("2"), Step("3"), NOTED, Step("4")])
    await talk(harness, f"one {LONG}", f"two {LONG}", f"three {LONG}")
    assert decode_summary((await store.history.recall(HERE, 1)).summary).text == NOTES
    await talk(harness, "/forget me")
    assert await store.history.recall(HERE, 9) == (b"", [])
