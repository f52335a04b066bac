"""One conversation's care: turns in strict order, from inbox to outbox, under one lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog
from msgspec.structs import replace

from bot.agent import Agent
from bot.channels import Channel, Delivery, Reply
from bot.context import context_line, usable_zone
from bot.delivery import Postman
from bot.errors import LeaseLost, ModelError, StoreUnavailable, TurnFailed
from bot.journal import JournalLedger, Kept, Said, last_address, read_entries, read_record
from bot.live import TurnStarted
from bot.metrics import Metrics
from bot.store import JournalledTurn, Lease, Store
from bot.texts import Texts, language_of
from bot.transcript import Message, Text, TurnRecord, encode, new_id
from bot.turn import NOBODY, Surroundings, Turn, now_ms

log = structlog.stdlib.get_logger(__name__)

RENEW_S = 2.0  # a lease lives about three times as long
TURN_S = 300.0
MAX_STARTS = 5  # without a new journal entry: a turn that kills its process must not do so for ever
KEEP_TURNS = 200  # in the store
READ_TURNS = 40  # sent to the model, at most
READ_BYTES = 200_000  # of history, likewise


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where a message does not say: language (``en``, ``ja``) and IANA time zone."""

    language: str
    time_zone: str


class Conversations:
    """Takes care of conversations, each under its lease, as many at once as are asked for."""

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
        self._postman = Postman(store, channels, metrics)
        self.closing = False  # begins no new turn; what waits is left for others

    async def attend(self, conversation: str) -> None:
        """Deliver what is left and answer what waits; where another process does so already, leave at once.

        Raises:
            StoreUnavailable: the due index brings the conversation back.
        """
        lease = await self._store.leases.acquire(conversation)
        if lease is None:
            return
        retry_at: int | None = None
        with structlog.contextvars.bound_contextvars(conversation=conversation):
            try:
                async with self._held(lease):
                    retry_at = await self._care(lease)
            except LeaseLost:
                log.warning("lease lost, another process goes on")
            finally:
                # Also after a shutdown's cancellation: the next worker shall not wait for the lease to expire.
                await asyncio.shield(self._release(lease, retry_at))

    async def past(self, conversation: str) -> list[Message]:
        """The committed messages, oldest first."""
        entries = await self._store.history.read(conversation, KEEP_TURNS)
        return [message for entry in entries for message in read_record(entry)]

    @asynccontextmanager
    async def _held(self, lease: Lease) -> AsyncIterator[None]:
        """Renew the lease while the work inside runs; losing it ends the work with ``LeaseLost``."""
        try:
            async with asyncio.TaskGroup() as group:
                renewing = group.create_task(self._renew(lease))
                yield
                renewing.cancel()
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed

    async def _renew(self, lease: Lease) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            await self._store.leases.renew(lease)

    async def _release(self, lease: Lease, retry_at: int | None) -> None:
        with suppress(LeaseLost, StoreUnavailable):
            await self._store.leases.release(lease, retry_at)

    async def _care(self, lease: Lease) -> int | None:
        retry_at = await self._postman.deliver(lease)
        while not self.closing and (journalled := await self._store.journal.begin(lease, new_id("turn"))) is not None:
            with structlog.contextvars.bound_contextvars(turn=journalled.turn_id):
                await self._take_turn(lease, journalled)
                retry_at = await self._postman.deliver(lease)
        return retry_at

    async def _take_turn(self, lease: Lease, journalled: JournalledTurn) -> None:
        try:
            await self._answer(lease, journalled)
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

    async def _answer(self, lease: Lease, journalled: JournalledTurn) -> None:
        started = time.monotonic()
        kept = read_entries(journalled.entries)
        turn = self._restored(lease, journalled.turn_id, kept, await self._history(lease.conversation))
        user_ids = tuple(arrival.message.id for arrival in kept.arrivals)
        await turn.surroundings.watcher.show(TurnStarted(turn.turn_id, user_ids))
        reply = await self._reply(turn, journalled.starts)
        record = TurnRecord(turn.turn_id, now_ms(), self._agent.provider.model, tuple(turn.added))
        delivery = Delivery(f"{turn.turn_id}_1", turn.turn_id, reply, kept.arrivals[-1].address)
        await self._store.journal.commit(lease, encode(record), [encode(delivery)], KEEP_TURNS)
        seconds = time.monotonic() - started
        self._metrics.turns.labels("failed" if reply.failed else "answered").inc()
        self._metrics.turn_seconds.observe(seconds)
        log.info("turn", failed=reply.failed, rounds=turn.rounds, ms=round(seconds * 1000))

    def _restored(self, lease: Lease, turn_id: str, kept: Kept, history: list[Message]) -> Turn:
        """The turn as its journal tells it, each message with its context line."""
        conversation = lease.conversation
        channel = self._channels[conversation.partition(":")[0]]
        newest = kept.arrivals[-1].message
        author = newest.author or NOBODY
        zone = usable_zone(author.time_zone, self._defaults.time_zone)
        arrived = [
            replace(arrival.message, context=context_line(arrival, channel.name, zone)) for arrival in kept.arrivals
        ]
        surroundings = Surroundings(
            conversation=conversation,
            style=channel.style,
            locale=author.locale or language_of(newest.text, self._defaults.language),
            time_zone=zone,
            watcher=channel.watcher(conversation),
        )
        ledger = JournalLedger(self._store, lease)
        turn = Turn(turn_id, surroundings, history, arrived, ledger, time.monotonic() + TURN_S)
        for step in kept.steps:
            if isinstance(step, Said):
                turn.restore_message(step.message, step.stop_reason)
            else:
                turn.restore_result(step)
        return turn

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
