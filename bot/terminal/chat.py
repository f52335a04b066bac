"""``kaiwa chat``: sends each typed line, shows the answer while it is generated, and later the answers nobody saw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from queue import Empty, SimpleQueue

from bot.commands import SpokenCommands
from bot.errors import BadInput, StoreUnavailable
from bot.live_events import ApprovalAsked, LiveEvent, TurnStarted
from bot.terminal import Screen, clock_time, files_text
from bot.terminal.background import BackgroundLoop
from bot.terminal.exchange import ChatSession, Exchange, answer_to, is_answer
from bot.transcript import Message

TICK_S = 0.08  # between two pictures of a spinner


class Chat:
    """Sends one message after the other; Ctrl-C stops waiting for an answer, which is shown once it exists.

    Args:
        labels: the catalogue's ``terminal`` texts, by key.
        discard_typeahead: throws away what was typed before a question was on the screen: it was not meant as a reply.
    """

    def __init__(
        self,
        session: ChatSession,
        loop: BackgroundLoop,
        screen: Screen,
        commands: SpokenCommands,
        labels: Mapping[str, str],
        discard_typeahead: Callable[[], None] = lambda: None,
    ) -> None:
        self._session = session
        self._loop = loop
        self._screen = screen
        self._commands = commands
        self._labels = labels
        self._discard_typeahead = discard_typeahead
        self._unanswered: list[str] = []  # ids of messages whose answers have not been shown
        self._question: ApprovalAsked | None = None  # the next line answers it

    def resume(self) -> list[str]:
        """Show the last message and answer of an earlier run.

        Returns:
            The texts of the user so far, oldest first.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        history = self._read_history()
        texts = [message.text for message in history if message.role == "user" and not message.is_reminder]
        answers = [message.text for message in history if is_answer(message)]
        if texts and answers:
            self._screen.show_last_turn(texts[-1], answers[-1])
        return texts

    def run(self, lines: Iterable[str]) -> bool:
        """Send every line, to the last one or to /exit.

        Returns:
            Whether the last message was answered.
        """
        answered = True
        self._show_question()
        for line in lines:
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
                answered = self.send(text)
        if self._question is None:
            return answered
        self._screen.show_notice(self._labels["unanswered"].format(time=clock_time(self._question.until)))
        return False

    def send(self, text: str) -> bool:
        """Send one message and draw its turn until the answer, a question or Ctrl-C.

        Returns:
            Whether it was answered, and not with an apology.
        """
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
        self._remember(exchange)
        return exchange.answer is not None and not exchange.answer.failed

    def _exchange(self, text: str, show: Callable[[LiveEvent], None]) -> Exchange:
        """An approval, /stop, and any command while no turn runs start no turn of their own."""
        command = self._commands.read(text)
        own_turn = self._question is None and command != "stop" and (command is None or bool(self._unanswered))
        question_id = self._question.question_id if self._question else ""
        others = () if own_turn else self._unanswered
        return Exchange(self._session, text, show, own_turn=own_turn, others=others, question_id=question_id)

    def _remember(self, exchange: Exchange) -> None:
        """Note a question or an answer that is still open."""
        if not exchange.accepted:
            return
        self._question = exchange.question
        if exchange.question:
            self._unanswered.append(exchange.message_id)
            self._discard_typeahead()
        elif exchange.answer is None:
            self._unanswered.append(exchange.message_id)
            self._screen.show_notice(self._labels["left"])
        elif not exchange.own_turn:
            self._unanswered.clear()  # turns run in order: the one that has just ended was the last of them

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
                    self._show_unanswered()  # turns run in order: earlier ones have their answers now
                drawing.show(event)

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
            for answer in dict.fromkeys(filter(None, found.values())):  # several messages may share one
                self._screen.show_notice(self._labels["earlier"])
                self._screen.show_answer(answer.text + files_text(answer.files))

    def _read_history(self) -> Sequence[Message]:
        async def read() -> Sequence[Message]:
            return await self._session.read_history(self._session.conversation)

        return self._loop.start(read()).result()

    def _read_question(self) -> ApprovalAsked | None:
        return self._loop.start(self._session.client.open_question(self._session.conversation)).result()
