"""A reply's way out: by reply token while it lives, by push where that is allowed, and never twice.

What is known of an attempt decides the next one. An attempt whose outcome is unknown is repeated with the same token,
and "Invalid reply token" on a young token then means that it was delivered. A push carries a retry key made of the
delivery's id, so LINE itself drops the second one.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import structlog

from bot.channels import AssertLease
from bot.channels.kv import KeyValue
from bot.channels.line.address import Address, Place
from bot.channels.line.bubble import Bubble
from bot.channels.line.failure import Failure
from bot.channels.line.lazy import LazyApi
from bot.channels.line.quota import Allowance
from bot.errors import DeliverLater, DeliveryRefused, TokenRefused

log = structlog.stdlib.get_logger(__name__)

MINUTE_MS = 60_000  # a reply token's life
MARGIN_MS = 10_000  # for the way here and back, and the difference of two clocks
KEEP_S = 86_400  # as long as LINE knows a retry key
RETRY_KEYS = uuid.UUID("0d4b4a2c-6f0e-5b51-9b7a-5a3d8f5c7c11")  # any constant: it makes delivery ids into UUIDs
PUSHING = b"pushing"
LONGEST_WAIT_S = 600.0
SPARE_S = 2.0  # of a token's minute, for the attempt itself
SOON_S = 0.5

PushMode = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class Letter:
    """What is to be sent, and where.

    Attributes:
        id: the delivery's, the same at every attempt.
        attempt: from 1.
        private: of use to one person, at once: never pushed to everybody in its place.
    """

    id: str
    attempt: int
    place: Place
    address: Address
    bubbles: Sequence[Bubble]
    private: bool = False

    @property
    def note(self) -> str:
        """Where it is noted what became of earlier attempts: ``PUSHING``, or the last one known to have failed."""
        return f"line:sent:{self.id}"

    @property
    def quote(self) -> str:
        """Where several talk, an answer shows what it answers."""
        return self.address.quote_token if self.place.kind != "user" else ""


class Sender:
    """Sends letters.

    Args:
        clock: milliseconds since the epoch.
    """

    def __init__(
        self, api: LazyApi, notes: KeyValue, allowance: Allowance, push: PushMode, clock: Callable[[], int]
    ) -> None:
        self._api = api
        self._notes = notes
        self._allowance = allowance
        self._push_mode = push
        self._clock = clock

    async def send(self, letter: Letter, assert_lease: AssertLease) -> None:
        """Send a letter; returning means delivered.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
            StoreUnavailable: it is not known what became of earlier attempts, or cannot be noted for later ones.
        """
        past = await self._notes.get(letter.note) if letter.attempt > 1 else b"0"
        maybe_done = past != str(letter.attempt - 1).encode()
        if past != PUSHING and self._has_token(letter.address, maybe_done) and await self._replied(letter, maybe_done):
            return
        if letter.private and self._push_mode != "always":
            log.info("delivery.not_pushed", delivery=letter.id)
            return
        await self._pushed(letter, assert_lease, again=past == PUSHING)

    def _has_token(self, address: Address, maybe_done: bool) -> bool:
        """Whether the reply token may be used; one that may have been used tells so for the whole of its minute."""
        life = MINUTE_MS if maybe_done else MINUTE_MS - MARGIN_MS
        is_young = self._clock() - address.received_at < life
        return self._push_mode != "always" and bool(address.reply_token) and is_young

    async def _replied(self, letter: Letter, maybe_done: bool) -> bool:
        """Use the reply token; false where it is of no use any more."""
        api = await self._api()
        try:
            await api.reply(letter.address.reply_token, letter.bubbles, letter.quote)
        except Failure as failure:
            if failure.is_dead_token:
                return maybe_done
            if not maybe_done and not failure.maybe_done:
                await self._notes.set(letter.note, str(letter.attempt).encode(), KEEP_S)
            later = await self._consequence(failure, letter.attempt)
            if (maybe_done or failure.maybe_done) and type(later) is DeliverLater:
                later = DeliverLater(str(later), min(later.after, self._telling_s(letter.address)))
            raise later from failure
        return True

    def _telling_s(self, address: Address) -> float:
        """How long a token may be waited with so that it can still tell whether it was used."""
        age = self._clock() - address.received_at
        left = (MINUTE_MS - age) / 1000 - SPARE_S
        return max(left, SOON_S) if age < MINUTE_MS else LONGEST_WAIT_S

    async def _pushed(self, letter: Letter, assert_lease: AssertLease, *, again: bool) -> None:
        api = await self._api()
        cost = await self._allowance.cost(letter.place)
        if not again:
            await self._allow_push(cost)
        # Another process may have used the reply token meanwhile, which is why it was dead for us: it must not find
        # a note that we push.
        await assert_lease()
        if not again:
            await self._notes.set(letter.note, PUSHING, KEEP_S)
        retry_key = str(uuid.uuid5(RETRY_KEYS, letter.id))
        try:
            await api.push(letter.place.id, letter.bubbles, retry_key, letter.quote)
        except Failure as failure:
            if failure.status == 409:
                return
            raise await self._consequence(failure, letter.attempt) from failure
        await self._allowance.spend(cost)

    async def _allow_push(self, cost: int) -> None:
        if self._push_mode == "never":
            raise DeliveryRefused("the reply token is too old or used, and LINE_PUSH is never")
        if not await self._allowance.covers(cost):
            raise DeliveryRefused(f"this month's LINE messages do not cover a push to {cost}")

    async def _consequence(self, failure: Failure, attempt: int) -> DeliverLater | DeliveryRefused:
        if failure.is_used_up:
            await self._allowance.used_up()
            return DeliveryRefused("this month's LINE messages are used up")
        if failure.status == 401:
            return TokenRefused("LINE refused LINE_CHANNEL_ACCESS_TOKEN: set a new one")
        if failure.status == 429 or failure.status >= 500 or not failure.status:
            wait = min(LONGEST_WAIT_S, 2.5 ** (attempt - 1))
            return DeliverLater(str(failure), max(wait, failure.after or 0.0))
        return DeliveryRefused(str(failure))
