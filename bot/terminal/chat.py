"""``kaiwa chat``: sends each typed line, and shows what comes, be it the answer or a reminder."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from bot import live_events as live
from bot.channels.console.channel import Console
from bot.channels.console.entries import Entry
from bot.commands import STOPS, SpokenCommands
from bot.errors import BadInput, StoreUnavailable
from bot.live_events import SAY, Button
from bot.tasks import run_beside
from bot.terminal.machine import language_tag, time_zone
from bot.terminal.screen import Screen, clock_time, numbers_of, shortened
from bot.transcript import new_id

TICK_S = 0.08  # between two pictures of a spinner
POLL_S = 2.0  # between two reads of the history, for an answer whose live events were lost
AGAIN_S = 1.0  # until the live events are followed again after an outage
DIGITS = 2  # of a number that stands for a button


class Chat:
    """Sends one message after the other; Ctrl-C ends the wait for an answer, which comes later."""

    def __init__(
        self,
        console: Console,
        conversation: str,
        screen: Screen,
        commands: SpokenCommands,
        poll_s: float = POLL_S,
    ) -> None:
        self._console = console
        self._conversation = conversation
        self._screen = screen
        self._commands = commands
        self._poll_s = poll_s
        self._say = partial(console.say, conversation, locale=language_tag(), time_zone=time_zone())
        self._reading: asyncio.Future[str | None] | None = None
        self._turn = live.TurnStarted("", ())  # the newest, with all that has joined it
        self._open: set[str] = set()  # ids of the messages whose answers have not been shown
        self._answered: set[str] = set()  # and of those whose answers have
        self._awaited = ""  # the message whose answer is awaited
        self._ends_all = False  # a command or a decision is awaited: the next answer is the last
        self._answer: live.Answered | None = None  # to the newest message
        self._done = asyncio.Event()  # there is nothing more to wait for
        self._question: live.CardShown | None = None  # waits; the next line answers it
        self._decided = ""  # the key of the question that was answered
        self._numbered: Mapping[int, Button] = {}  # what a number stands for

    async def resume(self) -> list[str]:
        """Show the last message and answer of an earlier run; the user's texts, oldest first.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        entries = await self._console.entries(self._conversation)
        texts = [entry.text for entry in entries if entry.role == "user"]
        answers = [entry.text for entry in entries if _is_answer(entry)]
        if texts and answers:
            self._screen.notice(f"› {texts[-1]}\n\n{shortened(answers[-1])}")
        return texts

    async def run(self, read_line: Callable[[], Awaitable[str | None]]) -> bool:
        """Send every line until None or /exit; whether the last message was answered."""
        is_answered = True
        async with run_beside(self._follow()):
            await self._is_done(self._poll_s)
            await self._catch_up()
            while (text := await self._next_text(read_line)) not in (None, "/exit"):
                complaint = await self._catch_up()
                if text == "/help":
                    self._screen.say("help")
                elif text and complaint:
                    self._screen.say(complaint)
                elif text:
                    is_answered = await self._send_or_press(text)
        if self._question is None:
            return is_answered
        self._screen.say("unanswered", time=clock_time(self._question.until))
        return False

    def interrupt(self) -> None:
        """Leave the answer that comes; at the prompt, leave the chat."""
        if self._reading is not None:
            self._reading.cancel()
        self._done.set()

    async def _next_text(self, read_line: Callable[[], Awaitable[str | None]]) -> str | None:
        self._reading = reading = asyncio.ensure_future(read_line())
        await asyncio.wait([reading])
        self._reading = None
        line = None if reading.cancelled() else reading.result()
        return None if line is None else line.strip()

    async def _send_or_press(self, text: str) -> bool:
        """Send a line; a number stands for the button that was shown with it."""
        if self._question is not None or not text.isdecimal() or len(text) > DIGITS:
            return await self._send(text)
        button = self._numbered.get(int(text))
        if button is None:
            return await self._send(text)
        if button.action != SAY:
            return await self._press(button)
        self._screen.notice(f"› {button.value}")
        return await self._send(button.value)

    async def _press(self, button: Button) -> bool:
        """Press a button, and wait a moment for what comes of it; whether the press arrived."""
        self._done.clear()
        try:
            await self._console.press(self._conversation, button.action, button.value)
        except StoreUnavailable as error:
            self._screen.failure(error)
            return False
        await self._is_done(self._poll_s)
        return True

    async def _send(self, text: str) -> bool:
        """Send a message and draw its turn until the answer, a question or Ctrl-C; whether it was
        answered, and not with an apology."""
        command, before = self._commands.read(text), (self._question, self._numbered)
        is_stop = self._commands.kinds.get(command or "") == STOPS
        is_command = is_stop or (command is not None and not self._open)
        self._ends_all = is_command or self._question is not None
        self._decided = self._question.key if self._question else ""
        self._answer, self._question, self._numbered = None, None, {}
        self._awaited, is_stored = new_id("msg"), False
        # The answer may come before the message is known to be stored.
        self._open.add(self._awaited)
        self._done.clear()
        with self._screen.answering():
            try:
                await self._say(text, message_id=self._awaited)
                is_stored = True
                await self._wait()
            except (BadInput, StoreUnavailable) as error:
                self._screen.failure(error)
        if not is_stored:
            self._open.discard(self._awaited)
            (self._question, self._numbered), self._decided = before, ""
        elif self._awaited in self._open and self._question is None:
            self._screen.say("left")
        self._awaited = ""
        return self._answer is not None and not self._answer.failed

    async def _wait(self) -> None:
        """Live events may be lost; the store has the answer and the question in any case."""
        clock = asyncio.get_running_loop().time
        look_at = clock() + self._poll_s
        while not await self._is_done(TICK_S):
            self._screen.tick()
            if clock() > look_at:
                await self._read_store()
                look_at = clock() + self._poll_s

    async def _is_done(self, seconds: float) -> bool:
        """Whether there is nothing more to wait for, after so long at most."""
        if not self._done.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._done.wait(), seconds)
        return self._done.is_set()

    async def _follow(self) -> None:
        """Show the live events for as long as the terminal is open."""
        while True:
            with suppress(StoreUnavailable):
                async with self._console.watch(self._conversation) as events:
                    if not self._awaited:
                        self._done.set()  # the first line has waited for this
                    async for event in events:
                        self._take(event)
            await asyncio.sleep(AGAIN_S)

    def _take(self, event: live.LiveEvent) -> None:
        """Show an event: all of a turn that is awaited, and what comes by itself."""
        match event:
            case live.TurnStarted():
                self._turn = event
            case live.Joined(user_ids):
                self._turn = replace(self._turn, user_ids=self._turn.user_ids + user_ids)
            case live.CardShown(until=0):
                self._numbered = numbers_of(event.buttons)
            case live.Answered(turn_id):
                is_newest = turn_id == self._turn.turn_id
                self._show_answer(event, set(self._turn.user_ids if is_newest else ()))
                return
            case live.CardShown():
                if self._awaited and event != self._question:
                    self._ask(event)
                elif event != self._question:
                    # Something else is being typed.
                    self._screen.say("question_waits")
                return
        if self._awaited or isinstance(event, live.CardShown | live.Noticed):
            self._screen.draw(event)
            if not self._awaited:
                self._done.set()  # of a press

    def _show_answer(self, answer: live.Answered, ids: set[str]) -> None:
        """Show the answer to the messages of these ids, unless it has been shown."""
        is_ours = not self._open.isdisjoint(ids)
        if not is_ours and not self._answered.isdisjoint(ids):
            return
        is_awaited = self._awaited in ids or bool(self._awaited and self._ends_all)
        if is_ours and not is_awaited:
            self._screen.say("earlier")
        # Turns run in order: the one that a command or a decision ends is the last of them.
        ids = {*ids, *self._open} if is_awaited and self._ends_all else ids
        self._answered |= self._open & ids
        self._open -= ids
        if answer.buttons:
            self._numbered = numbers_of(answer.buttons)
        self._screen.draw(answer)
        if is_awaited:
            self._answer = answer
            self._done.set()

    def _ask(self, question: live.CardShown) -> None:
        self._question = question
        self._screen.draw(question)
        self._done.set()

    async def _catch_up(self) -> str:
        """Show what the store has and nobody has seen; the key of the text that says why a typed
        line is not sent, empty where it may be."""
        known = self._question
        with suppress(StoreUnavailable):  # sending the line fails too, and shows it
            await self._read_store()
        if self._question == known:
            return ""
        return "asked_first" if self._question else "asked_over"

    async def _read_store(self) -> None:
        """Show late answers and the open question, as far as they have not been shown."""
        ids: set[str] = set()
        for entry in await self._console.entries(self._conversation) if self._open else ():
            ids.add(entry.id)
            if _is_answer(entry):
                if not self._open.isdisjoint(ids):
                    answer = live.Answered("", entry.text, files=tuple(entry.files))
                    answer = replace(answer, cards=entry.cards, buttons=entry.buttons)
                    self._show_answer(answer, ids)
                ids = set()
        cards = await self._console.cards(self._conversation, ())
        question = next((card for card in cards if card.until), None)
        if question is None or question.key == self._decided:
            self._question = None
        elif question != self._question:
            self._ask(question)


def _is_answer(entry: Entry) -> bool:
    return entry.role == "model" and not entry.calls
