"""A conversation at a terminal: says what is typed, shows the answer as it grows, and never loses one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from itertools import dropwhile
from queue import Empty, SimpleQueue
from typing import Protocol

from bot.errors import BadInput, StoreUnavailable
from bot.live import Answered, Joined, LiveEvent, TurnStarted
from bot.terminal import Screen
from bot.terminal.background import Background
from bot.transcript import Message, new_id

TICK_S = 0.08  # between two pictures of something that turns
LOOK_S = 2.0

Past = Callable[[str], Awaitable[Sequence[Message]]]


class Line(Protocol):
    """What a terminal needs of its channel (``bot.channels.console``)."""

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


@dataclass(frozen=True, slots=True)
class Talk:
    """The conversation of this terminal.

    Attributes:
        past: its committed messages, oldest first.
        locale: BCP 47 tag of the person, or empty.
        time_zone: IANA name, or empty.
    """

    conversation: str
    line: Line
    past: Past
    locale: str = ""
    time_zone: str = ""


class Chat:
    """The front: one message after another, each followed to its answer or left to be answered later.

    Args:
        words: our own sentences, by key.
        look_s: seconds between two looks into the history, for an answer whose live events got lost.
    """

    def __init__(
        self, talk: Talk, background: Background, screen: Screen, words: Mapping[str, str], *, look_s: float = LOOK_S
    ) -> None:
        self._talk = talk
        self._background = background
        self._screen = screen
        self._words = words
        self._look_s = look_s
        self._left: list[str] = []  # ids of messages whose answers nobody waited for

    def resume(self) -> list[str]:
        """Show how an earlier run ended.

        Returns:
            What the user has said so far.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        past = self._past()
        said = [message.text for message in past if message.role == "user"]
        answers = [message.text for message in past if _is_answer(message)]
        if said and answers:
            self._screen.recall(said[-1], answers[-1])
        return said

    def hold(self, lines: Iterable[str]) -> bool:
        """Answer every line until there are no more, or one says /exit.

        Returns:
            Whether the last message got its answer.
        """
        answered = True
        for line in lines:
            text = line.strip()
            if text == "/exit":
                break
            self._show_left()
            if text == "/help":
                self._screen.tell(self._words["help"])
            elif text:
                answered = self.ask(text)
        return answered

    def ask(self, text: str) -> bool:
        """Send one message and show what happens until it is answered, or Ctrl-C ends the waiting.

        Returns:
            Whether it was answered, and not with an apology.
        """
        events: SimpleQueue[LiveEvent | None] = SimpleQueue()
        exchange = Exchange(self._talk, text, events.put, self._look_s)
        running = self._background.start(exchange.run())
        running.add_done_callback(lambda _: events.put(None))
        try:
            with suppress(KeyboardInterrupt):
                self._draw(events)
        finally:
            self._background.soon(exchange.leave)
            wait([running])
        try:
            running.result()
        except BadInput as error:
            self._screen.complain(str(error))
        except StoreUnavailable as error:
            self._screen.complain(self._words["store_away"], str(error))
        if exchange.kept and exchange.answer is None:
            self._left.append(exchange.message_id)
            self._screen.tell(self._words["left"])
        return exchange.answer is not None and not exchange.answer.failed

    def _draw(self, events: SimpleQueue[LiveEvent | None]) -> None:
        with self._screen.answering() as drawing:
            while True:
                try:
                    event = events.get(timeout=TICK_S)
                except Empty:
                    drawing.tick()
                    continue
                if event is None:
                    return
                if isinstance(event, TurnStarted):
                    self._show_left()  # turns come in order: earlier ones have their answers now
                drawing.show(event)

    def _show_left(self) -> None:
        """Show the answers that nobody waited for, as far as they are there."""
        if not self._left:
            return
        with suppress(StoreUnavailable):  # then next time
            past = self._past()
            found = {message_id: answer_to(message_id, past) for message_id in self._left}
            self._left = [message_id for message_id, answer in found.items() if not answer]
            for answer in dict.fromkeys(filter(None, found.values())):  # several messages may share one
                self._screen.tell(self._words["earlier"])
                self._screen.give(answer)

    def _past(self) -> Sequence[Message]:
        async def read() -> Sequence[Message]:
            return await self._talk.past(self._talk.conversation)

        return self._background.start(read()).result()


class Exchange:
    """One message on its way to its answer, in the background.

    Args:
        show: is given the events of the turn that answers.

    Attributes:
        kept: the store has the message, so it will be answered.
        answer: once it is there.
    """

    def __init__(self, talk: Talk, text: str, show: Callable[[LiveEvent], None], look_s: float) -> None:
        self.message_id = new_id("msg")
        self.kept = False
        self.answer: Answered | None = None
        self._talk = talk
        self._text = text
        self._show = show
        self._look_s = look_s
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Say it, and show what happens until it is answered or nobody waits any more.

        Raises:
            BadInput: nothing was said, with a sentence for the user.
            StoreUnavailable: where ``kept``, the answer will be in the history one day.
        """
        talk = self._talk
        async with talk.line.watch(talk.conversation) as events:
            await talk.line.say(
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
                ours = self.message_id in event.user_ids
            elif isinstance(event, Joined):
                ours = ours or self.message_id in event.user_ids
            if ours:
                self._pass_on(event)

    async def _end(self) -> None:
        """Wait. Live events may get lost; the history has the answer in any case."""
        found = ""
        while not await self._is_over():
            if found:  # for a whole pause, so its live event will not come any more
                self._pass_on(Answered("", found))
                return
            found = answer_to(self.message_id, await self._talk.past(self._talk.conversation))

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
        self._show(event)


def answer_to(message_id: str, past: Iterable[Message]) -> str:
    """The model's last word in the turn that took a message, or nothing where there is none yet."""
    since = dropwhile(lambda message: message.id != message_id, past)
    return next((message.text for message in since if _is_answer(message)), "")


def _is_answer(message: Message) -> bool:
    return message.role == "model" and not message.calls
