"""The terminal's front: every message finds its answer, and the next line answers a question."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from msgspec.structs import replace

from bot import texts
from bot.channels import Button, say_buttons
from bot.commands import SpokenCommands
from bot.errors import StoreUnavailable
from bot.live_events import (
    Answered,
    AnswerText,
    CardShown,
    LiveEvent,
    Noticed,
    ToolFinished,
    TurnStarted,
)
from bot.transcript import FileRef, Message, Text, ToolCall, ToolResult
from tests.bot.features.approvals.asking import card_asking
from tests.bot.terminal.harness import (
    ASKED,
    CALLED,
    JOINED,
    LAUNCH,
    OPEN,
    SHOWN,
    STARTED,
    WORDS,
    ChatHarness,
    message_of,
    waiting,
)
from tests.waiting import until
from toolset.shown import Card

RESUMED = TurnStarted("t1", ("the first message",))
LAUNCHED = ToolFinished("c2", "launch", {"ok": True}, False, 3)
MADE = '✓ launch  3 ms\n  {"ok":true}\n'
REMINDER = Answered("r1", "⏰ drink water")
POLL = CardShown(
    "poll_1",
    "Lunch?",
    (("Sushi", ""), ("Curry", "")),
    "Press a button.",
    (
        Button("Sushi", "poll.vote", "poll_1:1"),
        Button("Curry", "poll.vote", "poll_1:2"),
        Button("End the poll", "poll.vote", "poll_1:0", closes=True),
    ),
)
COUNTED = replace(POLL, rows=(("Sushi", "0"), ("Curry", "1")))
CLOSED = replace(COUNTED, note="This poll is closed.", buttons=())

Printed = Callable[[], tuple[str, str]]


@pytest.fixture
def harness() -> ChatHarness:
    return ChatHarness()


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """The two streams so far: answers, and everything else."""
    out, err = "", ""

    def read() -> tuple[str, str]:
        nonlocal out, err
        new = capsys.readouterr()
        out, err = out + new.out, err + new.err
        return out, err

    return read


async def test_messages_get_their_answers(harness: ChatHarness, printed: Printed) -> None:
    """In order, also one that has joined a turn."""
    harness.scripts = [
        [STARTED, AnswerText("Hel"), AnswerText("lo"), Answered("t1", "Hello")],
        [TurnStarted("t1", ("another",)), JOINED, Answered("t1", "Both")],
    ]
    assert await harness.run("  hi there \n", "and Osaka?")
    assert printed() == ("Hello\nBoth\n", "")
    assert [message.text for message in harness.sent] == ["hi there", "and Osaka?"]


async def test_an_apology_is_no_answer(harness: ChatHarness, printed: Printed) -> None:
    """It is shown with its note, and a pipe's exit code will tell; a later answer makes it good."""
    apology = Answered("t1", "Too slow.", failed=True, note="cause")
    harness.scripts = [[STARTED, apology], [STARTED, apology], [STARTED, Answered("t1", "Yes.")]]
    assert not await harness.run("hi")
    assert printed() == ("", "Too slow.\n  cause\n")
    assert await harness.run("one", "two")


async def test_an_answer_whose_live_events_are_lost_comes_from_the_history(
    harness: ChatHarness, printed: Printed
) -> None:
    """Live events are lossy; the history is the truth."""
    harness.scripts = [
        [harness.commit],
        [STARTED, AnswerText("answer"), harness.break_off, harness.commit],
    ]
    assert await harness.run("hi", "you")
    assert printed() == ("answer to hi\nanswer to you\n", "")


async def test_an_outage_of_the_live_events_does_not_end_the_waiting(
    harness: ChatHarness, printed: Printed
) -> None:
    """They are followed again, and bring the answer."""

    async def answer_later() -> None:
        await until(lambda: harness.live.viewers == 0)
        await harness.publish(Answered("t1", "Yes."))

    later: list[asyncio.Task[None]] = []
    harness.scripts = [
        [STARTED, lambda: later.append(asyncio.create_task(answer_later())), harness.break_off]
    ]
    assert await harness.run("hi")
    await later[0]
    assert printed() == ("Yes.\n", "")


async def test_a_store_that_goes_away_meanwhile_ends_the_waiting(
    harness: ChatHarness, printed: Printed
) -> None:
    """The message is stored; its answer is shown once the store answers again."""
    harness.scripts = [[STARTED, harness.commit, harness.lose_the_store]]
    assert not await harness.run("hi", "")
    lost = f"{WORDS['store_away']}\n  no answer within 2.5 s\n"
    assert printed() == ("", f"{lost}{WORDS['left']}\n")
    assert not await harness.run("not kept")
    harness.is_away = False
    await harness.run("")
    assert printed() == (
        "answer to hi\n",
        f"{lost}{WORDS['left']}\n{lost}{WORDS['earlier']}\n",
    )


async def test_what_cannot_be_taken_is_said_in_one_sentence(
    harness: ChatHarness, printed: Printed
) -> None:
    """The console knows why; the next line is read as if nothing had been."""
    harness.scripts = [[STARTED, Answered("t1", "Yes.")]]
    assert await harness.run("red \x1b[31m", "hi")
    why = "This message contains control characters. Please remove them.\n"
    assert printed() == ("Yes.\n", why)


async def test_ctrl_c_leaves_the_waiting_and_the_answer_is_shown_once(
    harness: ChatHarness, printed: Printed
) -> None:
    """Back at the prompt with a word about it; the history has the answer before its event."""
    late = Answered("t1", "answer to one")
    harness.scripts = [
        [STARTED, CALLED, harness.chat.interrupt],
        [harness.commit, late, STARTED, Answered("t1", "second")],
    ]
    await harness.run("one", "", "two", "")
    out, err = printed()
    assert out == "answer to one\nsecond\n"
    assert err == f"{WORDS['left']}\n{WORDS['earlier']}\n"


async def test_messages_that_shared_a_turn_share_its_answer(
    harness: ChatHarness, printed: Printed
) -> None:
    """Two that nobody waited for are answered at once: the answer is shown once."""
    harness.scripts = [[STARTED, harness.chat.interrupt], [STARTED, harness.chat.interrupt]]
    await harness.run("one", "two")
    harness.history = [*harness.sent, message_of("model", "to both")]
    await harness.run("")
    assert printed()[0] == "to both\n"


async def test_commands_stay_here(harness: ChatHarness, printed: Printed) -> None:
    """/help explains, /exit ends whatever follows; neither is sent; a path is a message."""
    harness.scripts = [[STARTED, Answered("t1", "A folder.")]]
    assert await harness.run("/help", "", "  ", "/etc/hosts", "/exit", "not reached")
    assert printed() == ("A folder.\n", f"{WORDS['help']}\n")


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_the_help_lists_the_commands(language: str) -> None:
    """All that can be typed here; the interpreter is for groups."""
    catalogue = texts.load()
    helps = catalogue.table("help", language).values()
    shown = "\n".join((catalogue.get("terminal.help", language), *helps))
    names = [name for name in SpokenCommands(catalogue).names if not name.startswith("interpret")]
    rows = catalogue.table("words", language).items()
    spoken = {row.rpartition(".")[2]: text for row, text in rows}
    words = {name: spoken[name].split(",")[0].removeprefix("/") for name in names}
    missing = [name for name in names if words[name] not in shown and name != "help"]
    assert missing == ([] if language == "en" else ["stop"])  # /stop works in every language


async def test_a_conversation_goes_on_where_it_was(harness: ChatHarness, printed: Printed) -> None:
    """The questions are there to be asked again; without a store there is no start."""
    call = ToolCall("c1", "look", {})
    harness.history = [
        message_of("user", "one"),
        message_of("model", "1"),
        message_of("user", "two"),
        message_of("model", "…", call),
    ]
    assert await harness.chat.resume() == ["one", "two"]
    assert printed() == ("", "› two\n\n1\n")
    harness.lose_the_store()
    with pytest.raises(StoreUnavailable):
        await harness.chat.resume()


async def test_an_answer_of_the_history_has_what_is_beside_it(
    harness: ChatHarness, printed: Printed
) -> None:
    """The files, cards and choices of its own turn, as if its live event had come."""
    chart = FileRef("f1", "1.png", "image/png", "20 °C")
    other = FileRef("f2", "2.png", "image/png", "9 °C")
    results = ToolResult(
        "c1", "look", {}, files=(chart,), card=Card("Tokyo"), choices=("Today", "Tomorrow")
    )

    def commit() -> None:
        harness.history = [
            message_of("tool"),
            Message("r0", "tool", (ToolResult("c0", "look", {}, files=(other,)),), 0),
            message_of("model", "before"),
            *harness.sent,
            Message("r1", "tool", (results,), 0),
            Message("m2", "model", (Text("Here."),), 0, footer="Sources: x"),
        ]

    harness.scripts = [[commit]]
    assert await harness.run("chart?")
    shown = "Here.\n\nSources: x\n\n20 °C\n\nTokyo\n\n[1 Today · 2 Tomorrow]\n"
    assert printed() == (shown, "")


async def test_the_next_line_answers_a_question(harness: ChatHarness, printed: Printed) -> None:
    """The turn goes on, is followed to its end, may ask again, and its answer is shown once."""
    another = waiting(card_asking(replace(LAUNCH, id="question_2")))

    def ask_another() -> None:
        harness.question = replace(LAUNCH, id="question_2")

    harness.scripts = [
        [STARTED, harness.ask, ASKED],
        [ask_another, RESUMED, LAUNCHED, another],
        [harness.decide, RESUMED, LAUNCHED, AnswerText("Up"), Answered("t1", "Up")],
        [STARTED, Answered("t1", "Fine")],
    ]
    assert await harness.run("launch both", "yes", "yes", "how are you?")
    assert printed() == ("Up\nFine\n", f"{SHOWN}{MADE}{SHOWN}{MADE}")
    assert len(harness.sent) == 4


async def test_a_question_nobody_answers_stays_open(harness: ChatHarness, printed: Printed) -> None:
    """A notice says until when, the result is no answer, and the next run asks it again."""
    harness.scripts = [[STARTED, harness.ask, ASKED]]
    assert not await harness.run("launch it")
    assert printed() == ("", f"{SHOWN}{OPEN}")
    again = ChatHarness()
    again.ask()
    again.scripts = [[again.decide, RESUMED, Answered("t1", "Up")]]
    assert await again.run("yes")
    assert printed() == ("Up\n", f"{SHOWN}{OPEN}{SHOWN}")


async def test_a_question_whose_event_is_lost_comes_from_the_store(
    harness: ChatHarness, printed: Printed
) -> None:
    """So does the end of its turn; the store may hold an answered question for a while."""
    harness.scripts = [[STARTED, harness.ask], [harness.commit], [STARTED, Answered("t1", "Fine")]]
    assert await harness.run("launch it", "yes", "how are you?")
    assert printed() == ("answer to launch it\nFine\n", SHOWN)


async def test_a_line_typed_before_the_question_is_not_sent(
    harness: ChatHarness, printed: Printed
) -> None:
    """Whoever did not wait does not decide by a line typed before the question was read."""
    harness.scripts = [[STARTED, harness.chat.interrupt]]

    async def lines() -> AsyncIterator[str]:
        yield "launch it"
        harness.ask()
        yield "and Osaka?"

    assert not await harness.run_lines(lines())
    assert printed() == ("", f"{WORDS['left']}\n{SHOWN}{WORDS['asked_first']}\n{OPEN}")
    assert [message.text for message in harness.sent] == ["launch it"]


async def test_an_answer_to_a_question_that_is_open_no_more_is_not_sent(
    harness: ChatHarness, printed: Printed
) -> None:
    """A yes without a question means nothing; what came of it is shown."""
    harness.scripts = [[STARTED, harness.ask, ASKED]]

    async def lines() -> AsyncIterator[str]:
        yield "launch it"
        harness.decide()
        harness.commit()
        yield "yes"

    await harness.run_lines(lines())
    notes = f"{SHOWN}{WORDS['earlier']}\n{WORDS['asked_over']}\n"
    assert printed() == ("answer to launch it\n", notes)
    assert len(harness.sent) == 1


async def test_a_decision_while_the_store_is_away_can_be_made_again(
    harness: ChatHarness, printed: Printed
) -> None:
    """The question stays the next line's business."""
    harness.scripts = [
        [STARTED, harness.ask, ASKED],
        [harness.decide, RESUMED, Answered("t1", "Up")],
    ]

    async def lines() -> AsyncIterator[str]:
        yield "launch it"
        harness.is_away = True
        yield "yes"
        harness.is_away = False
        yield "yes"

    assert await harness.run_lines(lines())
    lost = f"{WORDS['store_away']}\n  no answer within 2.5 s\n"
    assert printed() == ("Up\n", f"{SHOWN}{lost}")


async def test_stop_ends_the_turn_that_was_left(harness: ChatHarness, printed: Printed) -> None:
    """Only its end is shown, and shown once; a command without a turn has its own answer."""
    harness.scripts = [
        [STARTED, harness.chat.interrupt],
        [AnswerText("the end of a sen"), harness.commit, Answered("t1", "Stopped.")],
        [Noticed("by the way"), Answered("t2", "Gone.")],
    ]
    assert await harness.run("tell me a story", "/stop", "", "/forget me")
    assert printed() == ("Stopped.\nGone.\n", f"{WORDS['left']}\nby the way\n")


async def test_what_comes_by_itself_is_shown(harness: ChatHarness, printed: Printed) -> None:
    """A reminder, a notice, a late answer, and again after an outage; no line is typed for it."""
    harness.scripts = [[REMINDER, STARTED, harness.chat.interrupt]]

    async def lines() -> AsyncIterator[str]:
        yield "hi"
        harness.commit()
        await harness.publish(Answered("t1", "answer to hi"), Noticed("by the way"))
        harness.break_off()
        yield ""
        await harness.publish(REMINDER, TurnStarted("r1", ("routine",)), ASKED)

    await harness.run_lines(lines())
    assert printed() == (
        "⏰ drink water\nanswer to hi\n⏰ drink water\n",
        f"{WORDS['left']}\n{WORDS['earlier']}\nby the way\n{WORDS['question_waits']}\n",
    )


async def test_a_number_stands_for_a_choice(harness: ChatHarness, printed: Printed) -> None:
    """Its words are sent and shown; a number that stands for nothing is a message."""
    buttons = say_buttons(("Sushi", "Curry"))
    harness.scripts = [
        [STARTED, Answered("t1", "What?", buttons=buttons)],
        [STARTED, Answered("t1", "How many?")],
        [STARTED, Answered("t1", "Which?", buttons=buttons)],
        [STARTED, Answered("t1", "No.")],
    ]
    await harness.run("hungry", "２", "2", "3")
    assert [message.text for message in harness.sent] == ["hungry", "Curry", "2", "3"]
    assert printed()[1] == "› Curry\n"


async def test_a_number_votes_in_a_poll(harness: ChatHarness, printed: Printed) -> None:
    """The counts are shown once; 0 closes the poll, and then a number is a message again."""
    events: list[list[LiveEvent]] = [
        [STARTED, POLL, Answered("t1", "Please vote.")],
        [COUNTED],
        [CLOSED],
        [STARTED, Answered("t1", "Two.")],
    ]
    harness.scripts = [*events]
    await harness.run("a poll", "2", "0", "2")
    assert [message.text for message in harness.sent] == ["a poll", "2"]
    votes = [vote.target for vote in harness.votes]
    assert votes == ["poll_1:2", "poll_1:0"]
    shown = f"Lunch?\n1 Sushi\n2 Curry\n0 End the poll\nPress a button.\n{WORDS['press']}\n"
    counted = shown.replace("Sushi", "Sushi: 0").replace("Curry", "Curry: 1")
    closed = "Lunch?\nSushi: 0\nCurry: 1\nThis poll is closed.\n"
    assert printed() == ("Please vote.\nTwo.\n", f"{shown}{counted}{closed}")


async def test_a_vote_that_does_not_arrive_can_be_made_again(harness: ChatHarness) -> None:
    """The store was away; what comes later of a vote is shown at the prompt."""
    harness.scripts = [[STARTED, POLL, Answered("t1", "Please vote.")], []]

    async def lines() -> AsyncIterator[str]:
        yield "a poll"
        harness.is_away = True
        yield "2"
        harness.is_away = False
        yield "2"

    assert await harness.run_lines(lines())
    assert len(harness.votes) == 1
