"""``kaiwa chat`` on a console without a model, whose answers are scripted."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bot import texts
from bot.channels import InboundEvent, Question
from bot.channels.console.channel import Console, Reads
from bot.commands import SpokenCommands
from bot.errors import StoreUnavailable
from bot.live_events import ApprovalAsked, Joined, LiveEvent, ToolStarted, TurnStarted
from bot.terminal import Drawing, clock_time
from bot.terminal.background import BackgroundLoop
from bot.terminal.chat import Chat
from bot.terminal.exchange import ChatSession
from bot.terminal.plain_screen import PlainScreen
from bot.transcript import Message, Role, Text, ToolCall, encode
from tests.fakes.live import LocalLive

HERE = "console:terminal_1"
WORDS = texts.load().table("terminal", "en")
STARTED = TurnStarted("t1", ("ours",))
JOINED = Joined(("ours",))
CALLED = ToolStarted("c1", "slow", {})
UNTIL = 1_763_703_600_000
LAUNCH = Question("question_1", "c2", "launch", {"what": "rocket"}, until=UNTIL)
ASKED = ApprovalAsked("question_1", "c2", "launch", "▸ what: rocket", UNTIL)
TIME = clock_time(UNTIL)
SHOWN = f"? launch\n  ▸ what: rocket\n{WORDS['question'].format(time=TIME)}\n"
OPEN = f"{WORDS['unanswered'].format(time=TIME)}\n"


class Impatient(PlainScreen):
    """A screen whose user presses Ctrl-C as soon as a tool is called."""

    @contextmanager
    def draw_answer(self) -> Iterator[Drawing]:
        with super().draw_answer() as drawing:
            yield Interrupted(drawing)


class Interrupted:
    """The drawing of such a screen."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing

    def show(self, event: LiveEvent) -> None:
        if isinstance(event, ToolStarted):
            raise KeyboardInterrupt
        self._drawing.show(event)

    def tick(self) -> None:
        self._drawing.tick()


class ChatHarness:
    """A console without a model: each message is answered by the next script.

    Attributes:
        scripts: events (the id ``ours`` stands for the message's) and functions to call.
        history: the committed messages.
        votes: that were accepted.
        question: the open one.
        forgotten: how often typeahead was discarded.
        at_looks: functions to call, one at each read of the store.
        away: whether the store does not answer.
    """

    def __init__(self, loop: BackgroundLoop, screen: type[PlainScreen] = PlainScreen) -> None:
        self.live = LocalLive()
        self.scripts: list[Sequence[LiveEvent | Callable[[], None]]] = []
        self.history: list[Message] = []
        self.said: list[Message] = []
        self.votes: list[InboundEvent] = []
        self.question: Question | None = None
        self.forgotten = 0
        self.at_looks: list[Callable[[], None]] = []
        self.away = False
        self.out = io.StringIO()
        self.err = io.StringIO()
        console = Console(
            self._accept, self.live, Reads(self._past, self._question), texts.load(), "en"
        )
        session = ChatSession(HERE, console, self._past, "en-GB", "Asia/Tokyo", poll_s=0.05)
        self.chat = Chat(
            session,
            loop,
            screen(self.out, self.err, WORDS),
            SpokenCommands(texts.load()),
            WORDS,
            self._discard_typeahead,
        )

    async def _accept(self, conversation: str, arrival: InboundEvent) -> bool:
        await self._past(conversation)
        self.said.append(arrival.message)
        self.votes += [arrival] if arrival.event == "vote" else []
        for step in self.scripts.pop(0):
            if step == STARTED:
                await self.live.publish(HERE, encode(TurnStarted("t1", (arrival.message.id,))))
            elif step == JOINED:
                await self.live.publish(HERE, encode(Joined((arrival.message.id,))))
            elif callable(step):
                step()
            else:
                await self.live.publish(HERE, encode(step))
        return True

    async def _past(self, conversation: str) -> list[Message]:
        assert conversation == HERE
        if self.away:
            raise StoreUnavailable("no answer within 2.5 s")
        if self.at_looks:
            self.at_looks.pop(0)()
        return [*self.history]

    async def _question(self, conversation: str) -> Question | None:
        await self._past(conversation)
        return self.question

    def _discard_typeahead(self) -> None:
        self.forgotten += 1

    def ask(self) -> None:
        """Park the turn; only the store has the question, no live event."""
        self.question = LAUNCH

    def decide(self) -> None:
        """Close the question."""
        self.question = None

    def commit(self) -> None:
        """Answer the oldest unanswered message; only in the history, without a live event."""
        message = self.said[len(self.history) // 2]
        self.history += [message, said("model", f"answer to {message.text}")]

    def take_its_time(self) -> None:
        """Commit the newest message and close the question after some more polls."""
        self.at_looks = [lambda: None] * 8 + [self.decide, self.commit]

    def lose_the_store(self) -> None:
        """Let every further request to the store fail."""
        self.away = True

    def break_off(self) -> None:
        """End the live events of all viewers with an error."""
        self.live.break_off(HERE)

    @property
    def printed(self) -> tuple[str, str]:
        """The two streams: answers, and everything else."""
        return self.out.getvalue(), self.err.getvalue()


def said(role: Role, *parts: str | ToolCall, message_id: str = "m1") -> Message:
    """A message of these words and calls."""
    return Message(
        message_id, role, tuple(Text(part) if isinstance(part, str) else part for part in parts), 0
    )
