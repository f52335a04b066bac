"""A message of the terminal on its way to its answer, which live events bring, or else the history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from itertools import dropwhile
from typing import Protocol

from bot.errors import StoreUnavailable
from bot.live_events import Answered, ApprovalAsked, Joined, LiveEvent, Noticed, TurnStarted
from bot.transcript import Message, new_id

ReadHistory = Callable[[str], Awaitable[Sequence[Message]]]


class ConsoleClient(Protocol):
    """The part of ``bot.channels.console`` that a terminal uses."""

    async def say(
        self, conversation: str, text: str, *, message_id: str | None = None, locale: str = "", time_zone: str = ""
    ) -> str:
        """Accept what was typed, durably.

        Raises:
            BadInput: with a sentence for whoever typed it.
            StoreUnavailable: nothing was kept.
        """
        ...

    def watch(self, conversation: str) -> AbstractAsyncContextManager[AsyncIterator[LiveEvent]]:
        """What happens from now on.

        Raises:
            StoreUnavailable: on entering, or later from the iterator.
        """
        ...

    async def open_question(self, conversation: str) -> ApprovalAsked | None:
        """The question that is open.

        Raises:
            StoreUnavailable: nobody knows.
        """
        ...


@dataclass(frozen=True, slots=True)
class Talk:
    """The conversation of this terminal.

    Attributes:
        read_history: its committed messages, oldest first.
        locale: BCP 47 tag of the person, or empty.
        time_zone: IANA name, or empty.
    """

    conversation: str
    client: ConsoleClient
    read_history: ReadHistory
    locale: str = ""
    time_zone: str = ""


class Exchange:
    """One message on its way to its answer, in the background.

    Args:
        show: is given the events of the turn that answers.
        look_s: seconds between two looks into the history, for an answer whose live events got lost.
        follows: the message is no turn's own, but decides about the turn that is there: its end is the message's too.
        others: ids of messages in that turn.
        question: the id of the question that the message answers.

    Attributes:
        kept: the store has the message, so it will be answered.
        answer: once it is there.
        asked: what a person has to decide first; the turn waits for that.
    """

    def __init__(
        self,
        talk: Talk,
        text: str,
        show: Callable[[LiveEvent], None],
        look_s: float,
        *,
        follows: bool = False,
        others: Sequence[str] = (),
        question: str = "",
    ) -> None:
        self.message_id = new_id("msg")
        self.kept = False
        self.answer: Answered | None = None
        self.asked: ApprovalAsked | None = None
        self._talk = talk
        self._text = text
        self._show = show
        self._look_s = look_s
        self.follows = follows
        self._awaited = (self.message_id, *others)
        self._question = question
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Say it, and show what happens until it is answered, a question is asked, or nobody waits any more.

        Raises:
            BadInput: nothing was said, with a sentence for the user.
            StoreUnavailable: where ``kept``, the answer will be in the history one day.
        """
        talk = self._talk
        async with talk.client.watch(talk.conversation) as events:
            await talk.client.say(
                talk.conversation,
                self._text,
                message_id=self.message_id,
                locale=talk.locale,
                time_zone=talk.time_zone,
            )
            self.kept = True
            watching = asyncio.create_task(self._watch(events))
            try:
                await self._end()
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError, StoreUnavailable):
                    await watching

    def leave(self) -> None:
        """Wait no longer; what has been said stays said."""
        self._over.set()

    async def _watch(self, events: AsyncIterator[LiveEvent]) -> None:
        ours = False
        async for event in events:
            if isinstance(event, TurnStarted):
                ours = self.follows or self.message_id in event.user_ids
            elif isinstance(event, Joined):
                ours = ours or self.message_id in event.user_ids
            # Of a turn that was there before, only what ends it: its words would begin in the middle.
            if ours or (self.follows and isinstance(event, (Answered, ApprovalAsked, Noticed))):
                self._pass_on(event)

    async def _end(self) -> None:
        """Wait. Live events may get lost; the store knows the answer, and the question, in any case."""
        found: Answered | ApprovalAsked | None = None
        while not await self._is_over():
            if found:  # for a whole pause, so its live event will not come any more
                self._pass_on(found)
                return
            found = await self._look()

    async def _look(self) -> Answered | ApprovalAsked | None:
        talk = self._talk
        past = await talk.read_history(talk.conversation)
        if answer := next(filter(None, (answer_to(message_id, past) for message_id in self._awaited)), ""):
            return Answered("", answer)
        asked = await talk.client.open_question(talk.conversation)
        return asked if asked and asked.question_id != self._question else None

    async def _is_over(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._look_s):
                await self._over.wait()
        return self._over.is_set()

    def _pass_on(self, event: LiveEvent) -> None:
        if self._over.is_set():
            return
        if isinstance(event, Answered):
            self.answer = event
            self._over.set()
        elif isinstance(event, ApprovalAsked):
            self.asked = event
            self._over.set()
        self._show(event)


def answer_to(message_id: str, past: Iterable[Message]) -> str:
    """The model's last word in the turn that took a message, or nothing where there is none yet."""
    since = dropwhile(lambda message: message.id != message_id, past)
    return next((message.text for message in since if is_answer(message)), "")


def is_answer(message: Message) -> bool:
    """Whether a message is a turn's last word."""
    return message.role == "model" and not message.calls
