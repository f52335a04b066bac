"""One turn: what has arrived becomes a transcript, the agent answers it, and all is committed at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from msgspec.structs import replace

from bot.agent import Agent
from bot.arrivals import Sorted, sort_out
from bot.channels import Arrival, Channel, Delivery, Reply
from bot.context import context_line, usable_zone
from bot.errors import LeaseLost, ModelError, StoreUnavailable, TurnFailed
from bot.housekeeping import KEEP_TURNS, Housekeeping
from bot.journal import JournalLedger, Kept, Said, decode_arrival, last_address, read_entries, read_record
from bot.live import TurnStarted, Watcher
from bot.media import loaded, unloaded
from bot.metrics import Metrics
from bot.spoken_commands import SpokenCommands
from bot.store import JournalledTurn, Lease, Store
from bot.texts import Texts, language_of
from bot.transcript import Message, Text, TurnRecord, encode, new_id
from bot.turn import NOBODY, Surroundings, Turn, now_ms

log = structlog.stdlib.get_logger(__name__)

TURN_S = 300.0
MAX_STARTS = 5  # without a new journal entry: a turn that kills its process must not do so for ever
READ_TURNS = 40  # sent to the model, at most
READ_BYTES = 200_000  # of history, likewise
ALBUM_S = 2.0  # pictures sent together arrive one by one
ALBUM_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where a message does not say, and what our own sentences tell.

    Attributes:
        language: ``en`` or ``ja``.
        time_zone: IANA name.
    """

    language: str
    time_zone: str
    bot_name: str = "Kaiwa"
    history_days: int = 30


@dataclass(slots=True)
class Outcome:
    """What a turn leaves: messages for the history, replies with their addresses."""

    messages: tuple[Message, ...] = ()
    replies: list[tuple[Reply, str]] = field(default_factory=list)


class Answering:
    """Takes turns, each under its conversation's lease."""

    def __init__(
        self,
        store: Store,
        agent: Agent,
        channels: Mapping[str, Channel],
        texts: Texts,
        metrics: Metrics,
        defaults: Defaults,
    ) -> None:
        self._store = store
        self._agent = agent
        self._channels = channels
        self._texts = texts
        self._metrics = metrics
        self._defaults = defaults
        self._housekeeping = Housekeeping(store, defaults.history_days)
        self._commands = SpokenCommands(texts)

    async def take(self, lease: Lease, journalled: JournalledTurn) -> None:
        """Take a turn to its commit.

        Raises:
            LeaseLost: another process has it; nothing was committed here.
            StoreUnavailable: it is left in its journal.
        """
        try:
            await self._take(lease, journalled)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception:  # a turn that cannot even be begun must not be begun for ever; details go to the log
            log.exception("turn cannot be taken")
            await self._give_up(lease, journalled)

    async def _give_up(self, lease: Lease, journalled: JournalledTurn) -> None:
        """End a turn that cannot be taken: its messages go, and whoever can still be reached is told."""
        text = self._texts.get("apology.crashed", self._defaults.language)
        reply = Reply(text, failed=True, note="the turn cannot be taken, see the log")
        delivery = Delivery(f"{journalled.turn_id}_1", journalled.turn_id, reply, last_address(journalled.entries))
        await self._store.journal.commit(lease, None, [encode(delivery)], KEEP_TURNS)
        self._metrics.turns.labels("failed").inc()

    async def _take(self, lease: Lease, journalled: JournalledTurn) -> None:
        started = time.monotonic()
        kept = read_entries(journalled.entries)
        await self._gather_album(lease, kept)
        batch = sort_out(kept.arrivals, self._commands.read)
        outcome = Outcome()
        await self._keep_house(lease, batch, outcome)
        if batch.messages:
            await self._answer(lease, journalled, kept, batch.messages, outcome)
        await self._commit(lease, journalled.turn_id, outcome)
        seconds = time.monotonic() - started
        failed = any(reply.failed for reply, _ in outcome.replies)
        self._metrics.turns.labels("failed" if failed else "answered").inc()
        self._metrics.turn_seconds.observe(seconds)
        log.info("turn", failed=failed, messages=len(outcome.messages), ms=round(seconds * 1000))

    async def _gather_album(self, lease: Lease, kept: Kept) -> None:
        """Pictures that were sent together are one question: wait a moment for those that are still to come."""
        waited = 0.0
        while not kept.steps and waited < ALBUM_S and _is_incomplete(kept.arrivals):
            await asyncio.sleep(ALBUM_POLL_S)
            waited += ALBUM_POLL_S
            kept.arrivals += [decode_arrival(entry) for entry in await self._store.journal.join(lease)]

    async def _keep_house(self, lease: Lease, batch: Sorted, outcome: Outcome) -> None:
        """Edits, commands and our own sentences."""
        if batch.left:
            await self._store.history.purge(lease)
        await self._housekeeping.apply(lease, batch.edited)
        channel = self._channels[lease.conversation.partition(":")[0]]
        told = await channel.prepare(lease.conversation, batch.told, is_new=False) if batch.told else []
        for arrival in told:
            outcome.replies.append((self._sentence(arrival.target, arrival), arrival.address))
        for command, arrival in batch.commands:
            reply = await self._obey(lease, command, arrival)
            outcome.replies.append((reply, arrival.address))
            said = Message(new_id("msg"), "model", (Text(reply.text),), now_ms())
            outcome.messages = () if command == "forget" else (*outcome.messages, arrival.message, said)

    async def _obey(self, lease: Lease, command: str, arrival: Arrival) -> Reply:
        if command == "reset":
            await self._housekeeping.reset(lease)
            return self._sentence("command.reset", arrival)
        if command == "forget":
            gone = await self._housekeeping.forget(lease, arrival)
            return self._sentence("command.forget", arrival, conversations=gone.conversations, messages=gone.messages)
        return self._sentence("command.help", arrival)

    async def _answer(
        self, lease: Lease, journalled: JournalledTurn, kept: Kept, arrivals: list[Arrival], outcome: Outcome
    ) -> None:
        """Let the agent answer the messages."""
        conversation, address = lease.conversation, arrivals[-1].address
        channel = self._channels[conversation.partition(":")[0]]
        history = await self._history(conversation)
        async with channel.showing(conversation, address) as watcher:
            await watcher.show(TurnStarted(journalled.turn_id, tuple(arrival.message.id for arrival in arrivals)))
            arrivals = await channel.prepare(conversation, arrivals, is_new=not history)
            await self._housekeeping.remember(conversation, arrivals[-1])
            turn = await self._restored(lease, journalled.turn_id, arrivals, history, watcher)
            for step in kept.steps:
                if isinstance(step, Said):
                    turn.restore_message(step.message, step.stop_reason)
                else:
                    turn.restore_result(step)
            reply = await self._reply(turn, journalled.starts)
        outcome.messages = (*outcome.messages, *unloaded(turn.added))
        outcome.replies.append((reply, address))

    async def _restored(
        self, lease: Lease, turn_id: str, arrivals: Sequence[Arrival], history: list[Message], watcher: Watcher
    ) -> Turn:
        """The turn before its first step, each message with its context line and its images."""
        conversation = lease.conversation
        channel = self._channels[conversation.partition(":")[0]]
        newest = arrivals[-1].message
        author = newest.author or NOBODY
        zone = usable_zone(author.time_zone, self._defaults.time_zone)
        arrived = [replace(arrival.message, context=context_line(arrival, channel.name, zone)) for arrival in arrivals]
        messages = await loaded([*history, *arrived], conversation, channel)
        surroundings = Surroundings(
            conversation=conversation,
            style=channel.style,
            locale=author.locale or language_of(newest.text, self._defaults.language),
            time_zone=zone,
            watcher=watcher,
        )
        ledger = JournalLedger(self._store, lease)
        earlier, own = messages[: len(history)], messages[len(history) :]
        return Turn(turn_id, surroundings, earlier, own, ledger, time.monotonic() + TURN_S)

    async def _reply(self, turn: Turn, starts: int) -> Reply:
        """The model's answer, or one honest sentence in its place."""
        language = language_of(_last_words(turn), self._defaults.language)
        try:
            if starts > MAX_STARTS:
                raise TurnFailed("crashed", f"started {starts} times without progress")
            async with asyncio.timeout(TURN_S):
                answer = await self._agent.run(turn)
        except (LeaseLost, StoreUnavailable):
            raise
        except (TurnFailed, ModelError) as error:
            failure, cause = error.apology, error.cause
        except TimeoutError:
            failure, cause = "timed_out", f"the turn took longer than {TURN_S:.0f} s"
        except Exception:  # one turn's crash is one user's apology; details go to the log
            log.exception("turn crashed")
            failure, cause = "crashed", "an unexpected error, see the log"
        else:
            cut = turn.stop_reason != "end_turn"
            return Reply(f"{answer.text}\n\n{self._texts.get('reply.cut', language)}" if cut else answer.text)
        log.warning("turn failed", apology=failure, cause=cause)
        apology = self._texts.get(f"apology.{failure}", language)
        await self._agent.close(turn)
        await turn.say(Message(new_id("msg"), "model", (Text(apology),), now_ms()), "end_turn")
        return Reply(apology, failed=True, note=cause)

    async def _commit(self, lease: Lease, turn_id: str, outcome: Outcome) -> None:
        channel = self._channels[lease.conversation.partition(":")[0]]
        portions = [(portion, address) for reply, address in outcome.replies for portion in channel.portions(reply)]
        deliveries = [
            encode(Delivery(f"{turn_id}_{number}", turn_id, reply, address))
            for number, (reply, address) in enumerate(portions, 1)
        ]
        model = self._agent.provider.model
        record = encode(TurnRecord(turn_id, now_ms(), model, outcome.messages)) if outcome.messages else None
        await self._store.journal.commit(lease, record, deliveries, KEEP_TURNS)

    def _sentence(self, key: str, arrival: Arrival, **values: object) -> Reply:
        author = arrival.message.author or NOBODY
        language = language_of(arrival.message.text, author.locale[:2] or self._defaults.language)
        if language not in self._texts.sentences:
            language = self._defaults.language
        known = {"bot_name": self._defaults.bot_name, "days": self._defaults.history_days}
        return Reply(self._texts.get(key, language, **known, **values))

    async def _history(self, conversation: str) -> list[Message]:
        """The newest turns that fit, whole turns only, so that calls and results never part."""
        entries = await self._store.history.read(conversation, READ_TURNS)
        size, first = 0, len(entries)
        while first > 0 and (size == 0 or size + len(entries[first - 1]) <= READ_BYTES):
            first -= 1
            size += len(entries[first])
        return [message for entry in entries[first:] for message in read_record(entry)]


def _last_words(turn: Turn) -> str:
    return next((m.text for m in reversed(turn.added) if m.role == "user"), "")


def _is_incomplete(arrivals: Sequence[Arrival]) -> bool:
    albums = {arrival.album: arrival.album_size for arrival in arrivals if arrival.album}
    return any(sum(arrival.album == album for arrival in arrivals) < size for album, size in albums.items())
