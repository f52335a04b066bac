"""A conversation at a terminal: says what is typed, shows the answer as it grows, and never loses one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from queue import Empty, SimpleQueue

from bot.commands import SpokenCommands
from bot.errors import BadInput, StoreUnavailable
from bot.live_events import ApprovalAsked, LiveEvent, TurnStarted
from bot.terminal import Screen, clock_time
from bot.terminal.background import Background
from bot.terminal.exchange import Exchange, Talk, answer_to, is_answer
from bot.transcript import Message

TICK_S = 0.08  # between two pictures of something that turns
LOOK_S = 2.0


class Chat:
    """One message after another, each followed to its answer or left to be answered later.

    Args:
        words: our own sentences, by key.
        forget_typed: throws away what was typed before a question could be read, so that it does not answer it.
        look_s: seconds between two looks into the history, for an answer whose live events got lost.
    """

    def __init__(
        self,
        talk: Talk,
        background: Background,
        screen: Screen,
        commands: SpokenCommands,
        words: Mapping[str, str],
        *,
        forget_typed: Callable[[], None] = lambda: None,
        look_s: float = LOOK_S,
    ) -> None:
        self._talk = talk
        self._background = background
        self._screen = screen
        self._commands = commands
        self._words = words
        self._forget_typed = forget_typed
        self._look_s = look_s
        self._unanswered: list[str] = []  # ids of messages whose answers nobody waited for
        self._asked: ApprovalAsked | None = None  # the next line answers it

    def resume(self) -> list[str]:
        """Show how an earlier run ended.

        Returns:
            What the user has said so far.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        past = self._read_history()
        said = [message.text for message in past if message.role == "user"]
        answers = [message.text for message in past if is_answer(message)]
        if said and answers:
            self._screen.recall(said[-1], answers[-1])
        return said

    def hold(self, lines: Iterable[str]) -> bool:
        """Answer every line until there are no more, or one says /exit.

        Returns:
            Whether the last message got its answer.
        """
        answered = True
        self._show_question()
        for line in lines:
            text = line.strip()
            if text == "/exit":
                break
            self._show_unanswered()
            if text == "/help":
                self._screen.tell(self._words["help"])
            elif complaint := self._show_question():
                if text:
                    self._screen.tell(self._words[complaint])
            elif text:
                answered = self.ask(text)
        if self._asked is None:
            return answered
        self._screen.tell(self._words["unanswered"].format(time=clock_time(self._asked.until)))
        return False

    def ask(self, text: str) -> bool:
        """Send one message and show what happens until it is answered, or Ctrl-C ends the waiting.

        Returns:
            Whether it was answered, and not with an apology.
        """
        events: SimpleQueue[LiveEvent | None] = SimpleQueue()
        exchange = self._exchange(text, events.put)
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
        self._remember(exchange)
        return exchange.answer is not None and not exchange.answer.failed

    def _exchange(self, text: str, show: Callable[[LiveEvent], None]) -> Exchange:
        """A decision belongs to the turn that waits for it, a command to the turn it stops, or to none at all."""
        command = self._commands.read(text)
        follows = self._asked is not None or command == "stop" or (command is not None and not self._unanswered)
        question = self._asked.question_id if self._asked else ""
        others = self._unanswered if follows else ()
        return Exchange(self._talk, text, show, self._look_s, follows=follows, others=others, question=question)

    def _remember(self, exchange: Exchange) -> None:
        """Remember what has been left open."""
        if not exchange.kept:
            return
        self._asked = exchange.asked
        if exchange.asked:
            self._unanswered.append(exchange.message_id)
            self._forget_typed()
        elif exchange.answer is None:
            self._unanswered.append(exchange.message_id)
            self._screen.tell(self._words["left"])
        elif exchange.follows:
            self._unanswered.clear()  # turns come in order: the one that has ended now was the last of them

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
                    self._show_unanswered()  # turns come in order: earlier ones have their answers now
                drawing.show(event)

    def _show_question(self) -> str:
        """Show the question that is open, where it has not been shown.

        Returns:
            Why a line that has been typed is no answer to what was read before; nothing where it may be said.
        """
        asked, known = self._asked, self._asked
        with suppress(StoreUnavailable):  # then the line is not taken either, which is told
            asked = self._open_question()
        self._asked = asked
        if asked is None:
            return "asked_over" if known else ""
        if known and asked.question_id == known.question_id:
            return ""
        with self._screen.answering() as drawing:
            drawing.show(asked)
        self._forget_typed()
        return "asked_first"

    def _show_unanswered(self) -> None:
        """Show the answers that nobody waited for, as far as they are there."""
        if not self._unanswered:
            return
        with suppress(StoreUnavailable):  # then next time
            past = self._read_history()
            found = {message_id: answer_to(message_id, past) for message_id in self._unanswered}
            self._unanswered = [message_id for message_id, answer in found.items() if not answer]
            for answer in dict.fromkeys(filter(None, found.values())):  # several messages may share one
                self._screen.tell(self._words["earlier"])
                self._screen.give(answer)

    def _read_history(self) -> Sequence[Message]:
        async def read() -> Sequence[Message]:
            return await self._talk.read_history(self._talk.conversation)

        return self._background.start(read()).result()

    def _open_question(self) -> ApprovalAsked | None:
        return self._background.start(self._talk.client.open_question(self._talk.conversation)).result()
