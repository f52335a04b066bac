"""``kaiwa chat`` on a console without a model, whose answers are scripted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from bot import texts
from bot.channels import ButtonCard, InboundEvent
from bot.channels.console.channel import Console, Reads
from bot.commands import SpokenCommands
from bot.errors import StoreUnavailable
from bot.features.approvals.questions import Question
from bot.live_events import CardShown, Joined, LiveEvent, ToolStarted, TurnStarted
from bot.terminal.chat import Chat
from bot.terminal.screen import Screen, clock_time
from bot.transcript import Message, Role, Text, ToolCall, encode
from tests.bot.features.approvals.asking import card_asking
from tests.fakes.live import LocalLive
from tests.fakes.stored_files import LocalUploads
from tests.waiting import until


def waiting(card: ButtonCard) -> CardShown:
    """A card that waits, as it is shown."""
    shown = card.key, card.title, card.rows, card.note, card.buttons
    return CardShown(*shown, card.until, card.call_id)


HERE = "console:terminal_1"
WORDS = texts.load().table("terminal", "en")
# The id "ours" stands for the id of the newest message.
STARTED = TurnStarted("t1", ("ours",))
JOINED = Joined(("ours",))
CALLED = ToolStarted("c1", "slow", {})
UNTIL = 1_763_703_600_000
LAUNCH = Question("question_1", "c2", "launch", {"what": "rocket"}, until=UNTIL)
ASKED = waiting(card_asking(LAUNCH))
TIME = clock_time(UNTIL)
SHOWN = f"? launch\n  ▸ what: rocket\n  {WORDS['question'].format(time=TIME)}\n"
OPEN = f"{WORDS['unanswered'].format(time=TIME)}\n"

Step = LiveEvent | Callable[[], None]


class ChatHarness:
    """A console without a model: each message is answered by the next script.

    Attributes:
        scripts: events to publish and functions to call.
        history: the committed messages.
        sent: messages that were accepted.
        votes: that were accepted.
        question: the open one.
        is_away: whether the store does not answer.
    """

    def __init__(self) -> None:
        self.live = LocalLive()
        self.scripts: list[Sequence[Step]] = []
        self.history: list[Message] = []
        self.sent: list[Message] = []
        self.votes: list[InboundEvent] = []
        self.question: Question | None = None
        self.is_away = False
        reads = Reads(self._read_history, self._read_cards)
        console = Console(self._accept, self.live, reads, texts.load(), "en", LocalUploads())

        screen = Screen(WORDS, keyboard=None)
        self.chat = Chat(console, HERE, screen, SpokenCommands(texts.load()), poll_s=0.1)

    async def run(self, *lines: str) -> bool:
        """Type these lines."""

        async def typed() -> AsyncIterator[str]:
            for line in lines:
                yield line

        return await self.run_lines(typed())

    async def run_lines(self, lines: AsyncIterator[str]) -> bool:
        """Type lines, with what happens between them."""

        async def read_line() -> str | None:
            return await anext(lines, None)

        return await self.chat.run(read_line)

    async def publish(self, *events: LiveEvent) -> None:
        """Let events come by themselves."""
        await until(lambda: self.live.viewers > 0)
        await self.live.publish(HERE, *map(encode, events))

    async def _accept(self, conversation: str, arrival: InboundEvent) -> bool:
        await self._read_history(conversation)
        if arrival.event == "action":
            self.votes.append(arrival)
        else:
            self.sent.append(arrival.message)
        newest = arrival.message.id
        for step in self.scripts.pop(0):
            if step == STARTED:
                await self.live.publish(HERE, encode(TurnStarted("t1", (newest,))))
            elif step == JOINED:
                await self.live.publish(HERE, encode(Joined((newest,))))
            elif callable(step):
                step()
            else:
                await self.live.publish(HERE, encode(step))
        return True

    async def _read_history(self, conversation: str) -> list[Message]:
        assert conversation == HERE
        if self.is_away:
            raise StoreUnavailable("no answer within 2.5 s")
        return [*self.history]

    async def _read_cards(self, conversation: str, messages: Sequence[Message]) -> list[ButtonCard]:
        await self._read_history(conversation)
        return [card_asking(self.question)] if self.question else []

    def ask(self) -> None:
        """Park the turn; only the store has the question, no live event."""
        self.question = LAUNCH

    def decide(self) -> None:
        """Close the question."""
        self.question = None

    def commit(self) -> None:
        """Answer the oldest unanswered message; only in the history, without a live event."""
        message = self.sent[len(self.history) // 2]
        self.history += [message, message_of("model", f"answer to {message.text}")]

    def lose_the_store(self) -> None:
        """Let every further request to the store fail."""
        self.is_away = True

    def break_off(self) -> None:
        """End the live events of all viewers with an error."""
        self.live.break_off(HERE)


def message_of(role: Role, *parts: str | ToolCall, message_id: str = "m1") -> Message:
    """A message of these words and calls."""
    made = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Message(message_id, role, made, 0)
