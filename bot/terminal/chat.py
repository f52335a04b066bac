"""``kaiwa chat``: sends each typed line, and shows what comes, be it the answer or a reminder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import NamedTuple

from bot.channels import MOST_FILES
from bot.commands import SpokenCommands
from bot.errors import BadInput, StoreUnavailable
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
from bot.tasks import run_beside
from bot.terminal import clock_time
from bot.terminal.keyboard import Keyboard
from bot.terminal.screen import Screen
from bot.transcript import Message, ToolResult, cards_of, choices_of, new_id

TICK_S = 0.08  # between two pictures of a spinner
AGAIN_S = 1.0  # until the live events are followed again after an outage
DIGITS = 2  # of a number that stands for a choice or an option

ReadLine = Callable[[], Awaitable[str | None]]


class ChatSession(NamedTuple):
    """What the terminal does in its conversation (``bot.channels.console``).

    Attributes:
        say: stores a text as the message of an id; raises BadInput with a sentence for the user.
        watch: the live events from now on.
        vote: for an option of a poll by its number, from 1; 0 closes the poll.
        open_question: that waits for a decision.
        read_history: the committed messages, oldest first.
        poll_s: seconds between two reads of the history, for an answer whose live events were lost.
    """

    say: Callable[[str, str], Awaitable[object]]
    watch: Callable[[], AbstractAsyncContextManager[AsyncIterator[LiveEvent]]]
    vote: Callable[[str, int], Awaitable[None]]
    open_question: Callable[[], Awaitable[ApprovalAsked | None]]
    read_history: Callable[[], Awaitable[Sequence[Message]]]
    poll_s: float = 2.0


class Chat:
    """Sends one message after the other; Ctrl-C stops the wait for an answer, which is shown later.

    Args:
        labels: the catalogue's ``terminal`` texts, by key.
    """

    def __init__(
        self,
        session: ChatSession,
        screen: Screen,
        commands: SpokenCommands,
        labels: Mapping[str, str],
    ) -> None:
        self._session = session
        self._screen = screen
        self._commands = commands
        self._labels = labels
        self._keyboard: Keyboard | None = None
        self._reading: asyncio.Future[str | None] | None = None
        self._is_following = asyncio.Event()
        self._turn: tuple[str, set[str]] = ("", set())  # the newest, and the ids of its messages
        self._sent: set[str] = set()  # ids of messages
        self._open: list[str] = []  # those whose answers have not been shown
        self._awaited = ""  # the message whose answer is awaited
        self._any_answer_counts = False  # the awaited message has no turn of its own
        self._answer: Answered | None = None  # to the newest message
        self._done = asyncio.Event()  # there is nothing more to wait for
        self._question: ApprovalAsked | None = None  # the next line answers it
        self._decided = ""  # the id of the question that was answered
        self._numbered: PollShown | Sequence[str] = ()  # what a number stands for

    async def resume(self) -> list[str]:
        """Show the last message and answer of an earlier run; the user's texts, oldest first.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        history = await self._session.read_history()
        texts = [one.text for one in history if one.role == "user" and not one.is_reminder]
        answers = [message.text for message in history if message.is_answer]
        if texts and answers:
            self._screen.recall(texts[-1], answers[-1])
        return texts

    async def run(self, read_line: ReadLine, keyboard: Keyboard | None = None) -> bool:
        """Send every line to the last one, which is None, or to /exit.

        Args:
            keyboard: where somebody types the lines.

        Returns:
            Whether the last message was answered.
        """
        self._keyboard = keyboard
        is_answered = True
        async with run_beside(self._follow()):
            await self._within_poll_s(self._is_following)
            await self._catch_up()
            while (text := await self._next_text(read_line)) not in (None, "/exit"):
                complaint = await self._catch_up()
                if text == "/help":
                    self._screen.notice(self._labels["help"])
                elif text and complaint:
                    self._screen.notice(self._labels[complaint])
                elif text:
                    is_answered = await self._send_or_vote(text)
        if self._question is None:
            return is_answered
        until = clock_time(self._question.until)
        self._screen.notice(self._labels["unanswered"].format(time=until))
        return False

    def interrupt(self) -> None:
        """Leave the answer that comes; at the prompt, leave the chat."""
        if self._reading is not None:
            self._reading.cancel()
        self._done.set()

    async def _next_text(self, read_line: ReadLine) -> str | None:
        self._reading = reading = asyncio.ensure_future(read_line())
        with self._screen.typing(self._keyboard) if self._keyboard else nullcontext():
            await asyncio.wait([reading])
        self._reading = None
        line = None if reading.cancelled() else reading.result()
        return None if line is None else line.strip()

    async def _send_or_vote(self, text: str) -> bool:
        """Send a line; a number stands for the choice or the option that was shown with it."""
        numbered = self._numbered
        if self._question is not None or not text.isdecimal() or len(text) > DIGITS:
            return await self.send(text)
        number = int(text)
        if isinstance(numbered, PollShown):
            if number <= len(numbered.options):
                return await self._vote(numbered, number)
        elif 1 <= number <= len(numbered):
            text = numbered[number - 1]
            self._screen.notice(f"› {text}")
        return await self.send(text)

    async def _vote(self, poll: PollShown, choice: int) -> bool:
        """Vote, and wait a moment for what comes of it; whether the vote arrived."""
        self._done.clear()
        try:
            await self._session.vote(poll.id, choice)
        except StoreUnavailable as error:
            self._screen.error(self._labels["store_away"], str(error))
            return False
        await self._within_poll_s(self._done)
        return True

    async def send(self, text: str) -> bool:
        """Send one message and draw its turn until the answer, a question or Ctrl-C.

        Returns:
            Whether it was answered, and not with an apology.
        """
        command, question, numbered = self._commands.read(text), self._question, self._numbered
        is_command = command == "stop" or (command is not None and not self._open)
        self._any_answer_counts = is_command or question is not None
        self._answer, self._awaited = None, new_id("msg")
        # The answer may come before the message is known to be stored.
        self._open.append(self._awaited)
        self._numbered, self._question = (), None
        self._decided = question.question_id if question else ""
        self._done.clear()
        with self._screen.answering():
            try:
                await self._session.say(text, self._awaited)
                self._sent.add(self._awaited)
                await self._wait()
            except (BadInput, StoreUnavailable) as error:
                is_ours = isinstance(error, BadInput)
                sentence = str(error) if is_ours else self._labels["store_away"]
                self._screen.error(sentence, "" if is_ours else str(error))
        if self._awaited not in self._sent:
            self._open.remove(self._awaited)
            self._numbered, self._question, self._decided = numbered, question, ""
        elif self._awaited in self._open and self._question is None:
            self._screen.notice(self._labels["left"])
        self._awaited = ""
        return self._answer is not None and not self._answer.failed

    async def _wait(self) -> None:
        """Live events may be lost; the store has the answer and the question in any case."""
        clock = asyncio.get_running_loop().time
        look_at = clock() + self._session.poll_s
        while not self._done.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._done.wait(), TICK_S)
            self._screen.tick()
            if clock() > look_at and not self._done.is_set():
                await self._read_store()
                look_at = clock() + self._session.poll_s

    async def _within_poll_s(self, event: asyncio.Event) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), self._session.poll_s)

    async def _follow(self) -> None:
        """Show the live events for as long as the terminal is open."""
        while True:
            with suppress(StoreUnavailable):
                async with self._session.watch() as events:
                    self._is_following.set()
                    async for event in events:
                        self._take(event)
            await asyncio.sleep(AGAIN_S)

    def _take(self, event: LiveEvent) -> None:
        """Show an event: all of a turn that is awaited, and what comes by itself."""
        turn_id, ids = self._turn
        if isinstance(event, TurnStarted):
            self._turn = event.turn_id, set(event.user_ids)
        elif isinstance(event, Joined):
            self._turn = turn_id, ids | set(event.user_ids)
        if isinstance(event, ApprovalAsked):
            self._ask(event)
        elif isinstance(event, Answered):
            self._show_answer(event, ids if event.turn_id == turn_id else ())
        elif self._awaited or isinstance(event, PollShown | Noticed):
            self._screen.draw(event)
        if isinstance(event, PollShown):
            self._numbered = event if event.close else ()
        if isinstance(event, PollShown | Noticed) and not self._awaited:
            self._done.set()  # of a vote

    def _show_answer(self, answer: Answered, ids: Collection[str]) -> None:
        """Show the answer to the messages of these ids, unless it has been shown."""
        if self._sent.intersection(ids) and not set(self._open).intersection(ids):
            return
        is_awaited = self._awaited in ids or bool(self._awaited and self._any_answer_counts)
        if not is_awaited and set(self._open).intersection(ids):
            self._screen.notice(self._labels["earlier"])
        # Turns run in order: the one that a command or a decision ends is the last of them.
        is_last = is_awaited and self._any_answer_counts
        self._open = [one for one in self._open if one not in ids and not is_last]
        self._numbered = answer.choices or self._numbered
        self._screen.draw(answer)
        if is_awaited:
            self._answer = answer
            self._done.set()

    def _ask(self, question: ApprovalAsked) -> None:
        """Show a question while somebody waits; at the prompt, something else is being typed."""
        if self._question and self._question.question_id == question.question_id:
            return
        if not self._awaited:
            self._screen.notice(self._labels["question_waits"])
            return
        self._show_question(question)

    def _show_question(self, question: ApprovalAsked) -> None:
        self._question = question
        self._screen.draw(question)
        self._done.set()
        if self._keyboard:  # what was typed before the question was read is no decision
            self._keyboard.discard_typeahead()

    async def _catch_up(self) -> str:
        """Show what the store has and nobody has seen.

        Returns:
            The key of the text that says why a typed line is not sent; empty where it may be.
        """
        known = self._question
        with suppress(StoreUnavailable):  # sending the line fails too, and shows it
            await self._read_store()
        if self._question is None:
            return "asked_over" if known else ""
        is_new = known is None or known.question_id != self._question.question_id
        return "asked_first" if is_new else ""

    async def _read_store(self) -> None:
        """Show late answers and the open question, as far as they have not been shown."""
        if self._open:
            for ids, answer in _answers_in(await self._session.read_history()):
                if set(self._open).intersection(ids):
                    self._show_answer(answer, ids)
        question = await self._session.open_question()
        if question is None or question.question_id == self._decided:
            self._question = None
        elif self._question is None or self._question.question_id != question.question_id:
            self._show_question(question)


def _answers_in(history: Sequence[Message]) -> list[tuple[set[str], Answered]]:
    """The answers, each with the ids of its turn's messages and the words of its files."""
    answers: list[tuple[set[str], Answered]] = []
    ids: set[str] = set()
    files: list[ShownFile] = []
    results: list[ToolResult] = []
    for message in history:
        ids.add(message.id)
        results += message.results
        for result in message.results:
            files += [ShownFile("", file.name, file.text) for file in result.files]
        if message.is_answer:
            text = "\n\n".join(filter(None, (message.text, message.footer)))
            answer = Answered(
                "",
                text,
                files=tuple(files[-MOST_FILES:]),
                cards=cards_of(results),
                choices=choices_of(results),
            )
            answers.append((ids, answer))
            ids, files, results = set(), [], []
    return answers
