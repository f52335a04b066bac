"""One message of the terminal and its answer, which comes as live events, or else from the
history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Protocol

from bot.channels import MOST_FILES
from bot.errors import StoreUnavailable
from bot.live_events import (
    Answered,
    ApprovalAsked,
    Joined,
    LiveEvent,
    Noticed,
    PollShown,
    ShownFile,
    TurnStarted,
)
from bot.transcript import Message, ToolResult, cards_of, choices_of, new_id

ReadHistory = Callable[[str], Awaitable[Sequence[Message]]]


class ConsoleClient(Protocol):
    """The part of ``bot.channels.console`` that a terminal uses."""

    async def say(
        self,
        conversation: str,
        text: str,
        *,
        message_id: str | None = None,
        locale: str = "",
        time_zone: str = "",
    ) -> str:
        """Store what was typed; its message id.

        Raises:
            BadInput: with a sentence for the user.
            StoreUnavailable: nothing was stored.
        """
        ...

    def watch(self, conversation: str) -> AbstractAsyncContextManager[AsyncIterator[LiveEvent]]:
        """The live events from now on.

        Raises:
            StoreUnavailable: on entering, or later from the iterator.
        """
        ...

    async def vote(self, conversation: str, poll_id: str, choice: int) -> None:
        """Vote for an option of a poll by its number, from 1; 0 closes the poll.

        Raises:
            StoreUnavailable: nothing was stored.
        """
        ...

    async def open_question(self, conversation: str) -> ApprovalAsked | None:
        """The question that waits for a decision.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatSession:
    """The conversation of this terminal.

    Attributes:
        read_history: its committed messages, oldest first.
        locale: BCP 47 tag of the person, or empty.
        time_zone: IANA name, or empty.
        poll_s: seconds between two reads of the history, for an answer whose live events were lost.
    """

    conversation: str
    client: ConsoleClient
    read_history: ReadHistory
    locale: str = ""
    time_zone: str = ""
    poll_s: float = 2.0


class Exchange:
    """One message and its answer, in the background loop.

    Args:
        show: called with the live events of the answering turn.
        own_turn: False for a message that decides about the turn under way, and ends with that
        turn. others: ids of the messages in that turn. question_id: of the question that the
        message answers.

    Attributes:
        accepted: the store has the message, so it will be answered.
        answer: None until it is there.
        question: what a person has to decide first; the turn is parked until then.
    """

    def __init__(
        self,
        session: ChatSession,
        text: str,
        show: Callable[[LiveEvent], None],
        *,
        own_turn: bool,
        others: Sequence[str],
        question_id: str,
    ) -> None:
        self.message_id = new_id("msg")
        self.own_turn = own_turn
        self.accepted = False
        self.answer: Answered | None = None
        self.question: ApprovalAsked | None = None
        self._session = session
        self._text = text
        self._show = show
        self._awaited_ids = (self.message_id, *others)
        self._question_id = question_id
        self._done = asyncio.Event()

    async def run(self) -> None:
        """Send the message, and show live events until its answer, a question, or ``stop_waiting``.

        Raises:
            BadInput: nothing was sent; with a sentence for the user.
            StoreUnavailable: where ``accepted``, the answer will still come to the history.
        """
        session = self._session
        async with session.client.watch(session.conversation) as events:
            await session.client.say(
                session.conversation,
                self._text,
                message_id=self.message_id,
                locale=session.locale,
                time_zone=session.time_zone,
            )
            self.accepted = True
            watching = asyncio.create_task(self._watch(events))
            try:
                await self._wait_for_answer()
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError, StoreUnavailable):
                    await watching

    def stop_waiting(self) -> None:
        """End ``run``; the message stays sent."""
        self._done.set()

    async def _watch(self, events: AsyncIterator[LiveEvent]) -> None:
        ours = False
        async for event in events:
            if isinstance(event, TurnStarted):
                ours = not self.own_turn or self.message_id in event.user_ids
            elif isinstance(event, Joined):
                ours = ours or self.message_id in event.user_ids
            # Of a turn that began earlier, only its end is shown: its text would begin in the
            # middle.
            if ours or (
                not self.own_turn and isinstance(event, (Answered, ApprovalAsked, Noticed))
            ):
                self._forward(event)

    async def _wait_for_answer(self) -> None:
        """Live events may be lost; the store has the answer and the question in any case."""
        found: Answered | ApprovalAsked | None = None
        while not await self._is_done():
            if found:  # a whole interval ago, so its live event will not come any more
                self._forward(found)
                return
            found = await self._poll_store()

    async def _poll_store(self) -> Answered | ApprovalAsked | None:
        session = self._session
        history = await session.read_history(session.conversation)
        if answer := next(
            filter(None, (answer_to(message_id, history) for message_id in self._awaited_ids)), None
        ):
            return answer
        question = await session.client.open_question(session.conversation)
        return question if question and question.question_id != self._question_id else None

    async def _is_done(self) -> bool:
        """Wait ``poll_s``, or until the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._session.poll_s):
                await self._done.wait()
        return self._done.is_set()

    def _forward(self, event: LiveEvent) -> None:
        if self._done.is_set():
            return
        if isinstance(event, Answered):
            self.answer = event
            self._done.set()
        elif isinstance(event, ApprovalAsked):
            self.question = event
            self._done.set()
        self._show(event)


async def vote(session: ChatSession, poll: PollShown, choice: int) -> PollShown | Noticed | None:
    """Vote, and wait a moment for what comes of it: the poll as it stands then, or why the vote
    does not count.

    Raises:
        StoreUnavailable: nothing was stored.
    """
    async with session.client.watch(session.conversation) as events:
        await session.client.vote(session.conversation, poll.id, choice)
        with suppress(TimeoutError):
            async with asyncio.timeout(session.poll_s):
                async for event in events:
                    if isinstance(event, Noticed) or (
                        isinstance(event, PollShown) and event.id == poll.id
                    ):
                        return event
    return None


def answer_to(message_id: str, history: Iterable[Message]) -> Answered | None:
    """The answer of the turn that took a message, with the words of its files; None where there is
    none yet."""
    files: list[ShownFile] = []
    results: list[ToolResult] = []
    is_taken = False
    for message in history:
        is_taken = is_taken or message.id == message_id
        results += message.results
        files += [
            ShownFile("", file.name, file.text)
            for result in message.results
            for file in result.files
        ]
        if is_answer(message):
            if is_taken:
                text = "\n\n".join(filter(None, (message.text, message.footer)))
                beside = tuple(files[-MOST_FILES:]), cards_of(results), choices_of(results)
                return Answered("", text, False, "", *beside)
            files, results = [], []
    return None


def is_answer(message: Message) -> bool:
    """Whether a message ends a turn."""
    return message.role == "model" and not message.calls
