"""One turn: what has arrived becomes a transcript, the agent answers it, and all is committed at once.

A turn that is not committed stays in its journal. Whoever attends next goes on from there, as often as it takes while
it gets on, and a few times while it does not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import structlog
from msgspec.structs import replace

from bot.agent.turn import NOBODY, now_ms
from bot.channels import Channel, Delivery, InboundEvent, Reply
from bot.commands import SpokenCommands
from bot.conversation.admission import Admission
from bot.conversation.albums import gathered
from bot.conversation.alerts import Alerts
from bot.conversation.approvals import Approvals
from bot.conversation.edits import KEEP_TURNS, Forgotten, Housekeeping
from bot.conversation.journal import Kept, decode_arrival, read_entries, readable_arrivals
from bot.conversation.replying import Defaults, Replying, TurnResult
from bot.conversation.triage import Triage, belongs, count_of_one_turn, triage
from bot.errors import AwaitingApproval, LeaseLost, StoreUnavailable
from bot.metrics import Metrics
from bot.store import ARRIVAL, CHANGE, JournalledTurn, Lease, Store
from bot.telemetry import span
from bot.texts import Texts, language_of
from bot.transcript import Message, Text, TurnRecord, encode, new_id

log = structlog.stdlib.get_logger(__name__)

MAX_STARTS = 5  # without a new journal entry: a turn that kills its process must not do so for ever
MAX_FAILURES = 3  # for the same reason, one that nobody foresaw
REST_MS = 1_000  # after the first failure; doubled after the next


class Answering:
    """Takes turns, each under its conversation's lease."""

    def __init__(
        self,
        store: Store,
        replying: Replying,
        approvals: Approvals,
        admission: Admission,
        alerts: Alerts,
        housekeeping: Housekeeping,
        channels: Mapping[str, Channel],
        texts: Texts,
        commands: SpokenCommands,
        metrics: Metrics,
        defaults: Defaults,
    ) -> None:
        self._store = store
        self._channels = channels
        self._texts = texts
        self._metrics = metrics
        self._defaults = defaults
        self._housekeeping = housekeeping
        self._replying = replying
        self._approvals = approvals
        self._admission = admission
        self._alerts = alerts
        self._commands = commands

    async def take(self, lease: Lease, journalled: JournalledTurn, *, quietly: bool = False) -> int | None:
        """Take a turn to its commit, or past the question it waits for.

        Args:
            quietly: show nothing of the answer before it is delivered.

        Returns:
            Where it is left in its journal, when to go on (ms of the store's clock), else None.

        Raises:
            LeaseLost: another process has it; nothing was committed here.
            AwaitingApproval: it waits in its journal for a person.
            StoreUnavailable: it is left in its journal.
        """
        if journalled.not_before:
            return journalled.not_before
        if reason := self._hopeless(lease, journalled):
            await self._give_up(lease, journalled, reason)
            return None
        try:
            kept = read_entries(journalled.entries)
            if kept.open_question is not None:
                is_prompt = self._channels[lease.conversation.partition(":")[0]].is_prompt
                await self._approvals.decide(lease, journalled, kept, is_prompt=is_prompt)
                return None  # that is told first, then the turn goes on
            with span("turn", self._metrics) as turn:
                outcome = await self._take(lease, journalled, kept, quietly=quietly)
                failed = any(reply.failed for reply, _ in outcome.replies)
                if failed:
                    turn.end("turn.failed", "failed", messages=len(outcome.messages))
                else:
                    turn.end("turn.answered", "answered", messages=len(outcome.messages))
        except (LeaseLost, AwaitingApproval, StoreUnavailable):
            raise
        except Exception as error:  # the next attempt may fare better; details go to the log
            log.exception("turn.crashed")
            return await self._try_again(lease, journalled, type(error).__name__)
        return None

    def _hopeless(self, lease: Lease, journalled: JournalledTurn) -> str:
        """Why the turn need not be tried; empty where it may be."""
        if self._channel(lease) is None:
            return f"the channel {lease.conversation.partition(':')[0]} is switched off"
        return f"started {MAX_STARTS} times without getting on" if journalled.starts > MAX_STARTS else ""

    async def _try_again(self, lease: Lease, journalled: JournalledTurn, reason: str) -> int | None:
        failures = await self._store.journal.fail(lease, reason, REST_MS)
        if failures.times < MAX_FAILURES:
            return failures.retry_at
        await self._give_up(lease, journalled, f"failed {failures.times} times: {reason}")
        return None

    async def _give_up(self, lease: Lease, journalled: JournalledTurn, reason: str) -> None:
        """End a turn that cannot be answered: its messages become a dead letter, and who sent them is told."""
        # What has joined it since it was begun is given up with it.
        journalled = await self._store.journal.begin(lease, journalled.turn_id) or journalled
        outcome = self._apology(lease, journalled, reason)
        await self._commit(lease, journalled.turn_id, outcome, given_up=reason)
        self._metrics.turns.labels("failed").inc()
        log.error("turn.given_up", cause=reason)
        await self._alerts.notice("dead_letters", reason)

    def _apology(self, lease: Lease, journalled: JournalledTurn, reason: str) -> TurnResult:
        arrivals = readable_arrivals(journalled.entries)
        batch = triage(arrivals, self._commands.read)
        is_awaited = bool(batch.messages or batch.commands or batch.told or not arrivals)
        if not is_awaited or self._channel(lease) is None:
            return TurnResult()
        asked = [arrival.message for arrival in batch.messages]
        language = language_of(asked[-1].text if asked else "", self._defaults.language)
        reply = Reply(self._texts.get("apology.crashed", language), failed=True, note=f"{reason}, see the log")
        address = next((arrival.address for arrival in reversed(arrivals) if arrival.address), "")
        said = Message(new_id("msg"), "model", (Text(reply.text),), now_ms())
        return TurnResult((*asked, said) if asked else (), [(reply, address)])

    async def _take(self, lease: Lease, journalled: JournalledTurn, kept: Kept, *, quietly: bool) -> TurnResult:
        outcome = TurnResult()
        if not kept.steps:  # a turn that has got on was let in
            arrivals = await self._begin(lease, kept.arrivals)
            kept.arrivals = await self._let_in(lease, journalled.turn_id, arrivals, outcome)
        batch = triage(kept.arrivals, self._commands.read)
        await self._keep_house(lease, batch, outcome)
        if batch.messages:
            answered = await self._replying.answer(lease, journalled, batch.messages, kept.steps, quietly=quietly)
            outcome.messages = (*outcome.messages, *answered.messages)
            outcome.replies += answered.replies
            outcome.model = answered.model
        await self._commit(lease, journalled.turn_id, outcome)
        return outcome

    async def _begin(self, lease: Lease, arrivals: list[InboundEvent]) -> list[InboundEvent]:
        """What the turn answers: the words of one person, with all pictures that were sent together."""
        own = arrivals[: count_of_one_turn(arrivals, self._commands.read)]
        if others := len(arrivals) - len(own):
            await self._store.journal.give_back(lease, others)
            return own
        authors = {arrival.author_id for arrival in own if arrival.event == "message"}
        return await gathered(own, partial(self._join, lease, authors))

    async def _join(self, lease: Lease, authors: Collection[str]) -> list[InboundEvent]:
        """What has arrived since the turn began and may join it, on record as its own."""
        waiting = await self._store.inbox.read(lease.conversation)
        joining = []
        for entry in waiting:
            arrival = decode_arrival(entry.body)
            if not (entry.kind == CHANGE or (entry.kind == ARRIVAL and belongs(arrival, authors))):
                break
            joining.append((entry.frame, arrival))
        await self._store.journal.join(lease, [frame for frame, _ in joining])
        return [arrival for _, arrival in joining]

    async def _let_in(
        self, lease: Lease, turn_id: str, arrivals: list[InboundEvent], outcome: TurnResult
    ) -> list[InboundEvent]:
        """Leave out what goes beyond a day's limits, commands and what we answer ourselves like all else."""
        admitted = await self._admission.admit(lease.conversation, turn_id, arrivals)
        outcome.messages = (*outcome.messages, *admitted.messages)
        outcome.replies += admitted.replies
        return admitted.arrivals

    async def _keep_house(self, lease: Lease, batch: Triage, outcome: TurnResult) -> None:
        """Edits, commands and our own sentences."""
        if batch.left:
            await self._housekeeping.leave(lease, batch.left)
        await self._housekeeping.apply(lease, batch.edited)
        channel = self._channel(lease)
        told = await channel.enrich(lease.conversation, batch.told, is_new=False) if channel and batch.told else []
        for arrival in told:
            key = "apology.left_out" if arrival.left_out else arrival.target
            sentence = replace(self._sentence(key, arrival), private=arrival.event == "decision")
            outcome.replies.append((sentence, arrival.address))
        if batch.dropped:
            outcome.messages = (*outcome.messages, *(arrival.message for arrival in batch.dropped))
            if not batch.commands:  # by a button, which says nothing itself
                last = batch.dropped[-1]
                outcome.replies.append((self._sentence("apology.stopped", last), last.address))
        for command, arrival in batch.commands:
            reply = await self._obey(lease, command, arrival, dropped=bool(batch.dropped))
            outcome.replies.append((reply, arrival.address))
            said = Message(new_id("msg"), "model", (Text(reply.text),), now_ms())
            outcome.messages = () if command == "forget" else (*outcome.messages, arrival.message, said)

    async def _obey(self, lease: Lease, command: str, arrival: InboundEvent, *, dropped: bool) -> Reply:
        if command == "reset":
            await self._housekeeping.reset(lease)
            return self._sentence("command.reset", arrival)
        if command == "stop":
            return self._sentence("apology.stopped" if dropped else "command.stop", arrival)
        if command == "usage":
            return await self._admission.usage(lease.conversation, arrival)
        if command == "forget":
            return self._forgotten(await self._housekeeping.forget(lease, arrival), lease, arrival)
        return self._sentence("command.help", arrival)

    def _forgotten(self, gone: Forgotten, lease: Lease, arrival: InboundEvent) -> Reply:
        """What was deleted, and what cannot be; it names its reader by its address, so it is kept for nobody."""
        values = {"conversations": gone.conversations, "messages": gone.messages, "files": gone.files}
        reply = self._sentence("command.forget", arrival, **values)
        keeper = f"forget_elsewhere.{lease.conversation.partition(':')[0]}"
        elsewhere = self._texts.sentences[self._language(arrival)].get(keeper, "")
        return replace(reply, text=f"{reply.text} {elsewhere}".strip(), fleeting=True)

    async def _commit(self, lease: Lease, turn_id: str, outcome: TurnResult, given_up: str = "") -> None:
        channel = self._channel(lease)
        split = [
            (portion, address)
            for reply, address in outcome.replies
            for portion in (channel.split(reply) if channel else [])
        ]
        deliveries = [
            encode(Delivery(f"{turn_id}_{number}", turn_id, reply, address))
            for number, (reply, address) in enumerate(split, 1)
        ]
        record = TurnRecord(turn_id, now_ms(), outcome.model or self._replying.model, outcome.messages)
        entry = encode(record) if outcome.messages else None
        await self._store.journal.commit(lease, entry, deliveries, KEEP_TURNS, given_up)

    def _channel(self, lease: Lease) -> Channel | None:
        return self._channels.get(lease.conversation.partition(":")[0])

    def _sentence(self, key: str, arrival: InboundEvent, **values: object) -> Reply:
        language = self._language(arrival)
        known = {"bot_name": self._defaults.bot_name, "days": self._defaults.history_days}
        text = self._texts.get(key, language, **known, **values)
        if key == "command.help" and (commands := self._replying.tool_commands(language)):
            text = f"{text}\n{self._texts.get('command.tools', language, commands=' '.join(commands))}"
        return Reply(text, kind="help" if key == "command.help" else "greeting" if key.endswith(".greeting") else "")

    def _language(self, arrival: InboundEvent) -> str:
        author = arrival.message.author or NOBODY
        language = language_of(arrival.message.text, author.locale[:2] or self._defaults.language)
        return language if language in self._texts.sentences else self._defaults.language
