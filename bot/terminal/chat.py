"""``kaiwa chat``: sends each typed line, shows the answer while it is generated, and later the
answers nobody saw."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import Empty, SimpleQueue

from bot.commands import SpokenCommands
from bot.errors import BadInput, StoreUnavailable
from bot.live_events import Answered, ApprovalAsked, LiveEvent, Noticed, PollShown, TurnStarted
from bot.tasks import run_beside
from bot.terminal import Screen, beside_text, clock_time, poll_text
from bot.terminal.arrivals import Arrivals
from bot.terminal.background import BackgroundLoop
from bot.terminal.exchange import ChatSession, Exchange, answer_to, is_answer, vote
from bot.transcript import Message

TICK_S = 0.08  # between two pictures of a spinner
DIGITS = 2  # of a number that stands for a choice or an option


class Chat:
    """Sends one message after the other; Ctrl-C stops waiting for an answer, which is shown once it
    exists.

    Args:
        labels: the catalogue's ``terminal`` texts, by key.
        discard_typeahead: throws away what was typed before a question was on the screen: it was
        not meant as a reply. above_prompt: erases the prompt, and draws it again on exit.
    """

    def __init__(
        self,
        session: ChatSession,
        loop: BackgroundLoop,
        screen: Screen,
        commands: SpokenCommands,
        labels: Mapping[str, str],
        discard_typeahead: Callable[[], None] = lambda: None,
        above_prompt: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._session = session
        self._loop = loop
        self._screen = screen
        self._commands = commands
        self._labels = labels
        self._discard_typeahead = discard_typeahead
        self._sent: set[str] = set()  # ids of messages
        self._unanswered: list[str] = []  # those whose answers have not been shown
        self._question: ApprovalAsked | None = None  # the next line answers it
        self._numbered: (
            PollShown | Sequence[str]
        ) = ()  # the poll or the choices that a number stands for
        self._arrivals = Arrivals(session, self._show_arrival, above_prompt)

    def resume(self) -> list[str]:
        """Show the last message and answer of an earlier run.

        Returns:
            The texts of the user so far, oldest first.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        history = self._read_history()
        texts = [
            message.text
            for message in history
            if message.role == "user" and not message.is_reminder
        ]
        answers = [message.text for message in history if is_answer(message)]
        if texts and answers:
            self._screen.show_last_turn(texts[-1], answers[-1])
        return texts

    def run(self, lines: Iterable[str]) -> bool:
        """Send every line, to the last one or to /exit.

        Returns:
            Whether the last message was answered.
        """
        with self._loop.open(run_beside(self._arrivals.run())):
            return self._run(lines)

    def _run(self, lines: Iterable[str]) -> bool:
        answered = True
        self._show_question()
        for line in self._at_prompt(lines):
            text = line.strip()
            if text == "/exit":
                break
            self._show_unanswered()
            if text == "/help":
                self._screen.show_notice(self._labels["help"])
            elif complaint := self._show_question():
                if text:
                    self._screen.show_notice(self._labels[complaint])
            elif text:
                answered = self._send_or_vote(text)
        if self._question is None:
            return answered
        self._screen.show_notice(
            self._labels["unanswered"].format(time=clock_time(self._question.until))
        )
        return False

    def _at_prompt(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines; while the next one is awaited, what comes by itself is shown."""
        source = iter(lines)
        while True:
            self._arrivals.enter_prompt()
            line = next(source, None)
            self._arrivals.leave_prompt()
            if line is None:
                return
            yield line

    def _send_or_vote(self, text: str) -> bool:
        """Send a line; a number stands for the choice or the option that was shown with it."""
        numbered = self._numbered
        number = (
            int(text)
            if text.isdecimal() and len(text) <= DIGITS and self._question is None
            else None
        )
        if number is None:
            return self.send(text)
        if isinstance(numbered, PollShown):
            return (
                self._vote(numbered, number) if number <= len(numbered.options) else self.send(text)
            )
        if not 1 <= number <= len(numbered):
            return self.send(text)
        choice = numbered[number - 1]
        self._screen.show_notice(f"› {choice}")
        return self.send(choice)

    def _vote(self, poll: PollShown, choice: int) -> bool:
        """Vote and show what comes of it; whether the vote arrived."""
        try:
            outcome = self._loop.start(vote(self._session, poll, choice)).result()
        except StoreUnavailable as error:
            self._screen.show_error(self._labels["store_away"], str(error))
            return False
        if outcome is not None:
            self._arrivals.known.append(outcome)
            self._show_arrival(outcome)
        return True

    def send(self, text: str) -> bool:
        """Send one message and draw its turn until the answer, a question or Ctrl-C.

        Returns:
            Whether it was answered, and not with an apology.
        """
        self._arrivals.known.clear()
        numbered, self._numbered = self._numbered, ()
        events: SimpleQueue[LiveEvent | None] = SimpleQueue()
        exchange = self._exchange(text, events.put)
        running = self._loop.start(exchange.run())
        running.add_done_callback(lambda _: events.put(None))
        try:
            with suppress(KeyboardInterrupt):
                self._draw(events)
        finally:
            self._loop.call_soon(exchange.stop_waiting)
            wait([running])
        try:
            running.result()
        except BadInput as error:
            self._screen.show_error(str(error))
        except StoreUnavailable as error:
            self._screen.show_error(self._labels["store_away"], str(error))
        if not exchange.accepted:
            self._numbered = numbered
        self._remember(exchange)
        return exchange.answer is not None and not exchange.answer.failed

    def _exchange(self, text: str, show: Callable[[LiveEvent], None]) -> Exchange:
        """An approval, /stop, and any command while no turn runs start no turn of their own."""
        command = self._commands.read(text)
        own_turn = (
            self._question is None
            and command != "stop"
            and (command is None or bool(self._unanswered))
        )
        question_id = self._question.question_id if self._question else ""
        others = () if own_turn else self._unanswered
        return Exchange(
            self._session, text, show, own_turn=own_turn, others=others, question_id=question_id
        )

    def _remember(self, exchange: Exchange) -> None:
        """Note a question or an answer that is still open."""
        if not exchange.accepted:
            return
        self._sent.add(exchange.message_id)
        self._question = exchange.question
        if exchange.question:
            self._unanswered.append(exchange.message_id)
            self._discard_typeahead()
        elif exchange.answer is None:
            self._unanswered.append(exchange.message_id)
            self._screen.show_notice(self._labels["left"])
        elif not exchange.own_turn:
            # turns run in order: the one that has just ended was the last of them
            self._unanswered.clear()

    def _draw(self, events: SimpleQueue[LiveEvent | None]) -> None:
        with self._screen.draw_answer() as drawing:
            while True:
                try:
                    event = events.get(timeout=TICK_S)
                except Empty:
                    drawing.tick()
                    continue
                if event is None:
                    return
                if isinstance(event, TurnStarted):
                    # turns run in order: earlier ones have their answers now
                    self._show_unanswered()
                self._arrivals.known.append(event)
                self._note_numbered(event)
                drawing.show(event)

    def _note_numbered(self, event: LiveEvent) -> None:
        """Note what a number stands for from now on."""
        if isinstance(event, PollShown):
            self._numbered = event if event.close else ()
        elif isinstance(event, Answered) and event.choices:
            self._numbered = event.choices

    def _show_arrival(self, event: LiveEvent, user_ids: Collection[str] = ()) -> None:
        """Show what comes by itself (``bot.terminal.arrivals.ShowArrival``)."""
        late = [message_id for message_id in self._unanswered if message_id in user_ids]
        if not late and not self._sent.isdisjoint(user_ids):
            return  # its answer has come from the history
        self._unanswered = [message_id for message_id in self._unanswered if message_id not in late]
        self._note_numbered(event)
        match event:
            case Answered(_, text, True, note):
                self._screen.show_error(text, note)
            case Answered(_, text):
                if late:
                    self._screen.show_notice(self._labels["earlier"])
                self._screen.show_answer(text + beside_text(event))
            case PollShown():
                self._screen.show_notice(poll_text(event, self._labels["vote"]))
            case Noticed(text):
                self._screen.show_notice(text)
            case ApprovalAsked():
                self._screen.show_notice(self._labels["question_waits"])

    def _show_question(self) -> str:
        """Show the open question unless it has been shown.

        Returns:
            The key of the text that says why a typed line is not sent; empty where it may be.
        """
        current, known = self._question, self._question
        with suppress(StoreUnavailable):  # sending the line fails too, and shows it
            current = self._read_question()
        self._question = current
        if current is None:
            return "asked_over" if known else ""
        if known and current.question_id == known.question_id:
            return ""
        with self._screen.draw_answer() as drawing:
            drawing.show(current)
        self._discard_typeahead()
        return "asked_first"

    def _show_unanswered(self) -> None:
        """Show late answers, as far as the history has them."""
        if not self._unanswered:
            return
        with suppress(StoreUnavailable):  # tried again with the next line
            history = self._read_history()
            found = {message_id: answer_to(message_id, history) for message_id in self._unanswered}
            self._unanswered = [message_id for message_id, answer in found.items() if not answer]
            for answer in dict.fromkeys(
                filter(None, found.values())
            ):  # several messages may share one
                self._screen.show_notice(self._labels["earlier"])
                self._screen.show_answer(answer.text + beside_text(answer))

    def _read_history(self) -> Sequence[Message]:
        async def read() -> Sequence[Message]:
            return await self._session.read_history(self._session.conversation)

        return self._loop.start(read()).result()

    def _read_question(self) -> ApprovalAsked | None:
        return self._loop.start(
            self._session.client.open_question(self._session.conversation)
        ).result()
