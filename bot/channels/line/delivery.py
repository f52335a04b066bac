"""How a reply leaves: by its reply token while that is valid, else by push, if allowed and paid
for, else by the reply token of a press of its asker's button; never twice.

The outcome of an attempt decides the next one. An attempt whose outcome is unknown is repeated with
the same token; "Invalid reply token" for a young token then means that the message was delivered. A
push carries a retry key made of the delivery's id, so LINE itself drops a second one. Pushes count
against the month's quota, which is read from LINE, cached, and counted in between. A person's
pushes have a limit of a day besides.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import structlog
from msgspec.json import Decoder

from bot.channels import AssertLease, DailyUse, Delivery, KeyValue, MayUse, Reach
from bot.channels.line.client import Client, Failure
from bot.channels.line.sdk import Sdk
from bot.channels.line.types import Address, Chat, LineMessage, Quota
from bot.errors import DeliverLater, DeliverOnPress, DeliveryRefused, TokenRefused
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

MINUTE_MS = 60_000  # a reply token is valid so long
MARGIN_MS = 10_000  # for the network, and for the difference of two clocks
KEEP_S = 86_400  # LINE remembers a retry key so long
RETRY_KEYS = uuid.UUID(
    "0d4b4a2c-6f0e-5b51-9b7a-5a3d8f5c7c11"
)  # any constant: namespace of UUIDs made from delivery ids
PUSHING = b"pushing"
LONGEST_WAIT_S = 600.0
SPARE_S = 2.0  # of a token's minute, for the attempt itself
SOON_S = 0.5
HOUR_S = 3_600
DAY_S = 86_400
WARN_AT = 80  # percent of the month's quota
READ, PUSHED = "line:quota", "line:quota:pushed"
PUSHES = "pushes"  # the name of what a person's limit counts
NOTHING_LATER = "nothing can be sent here later (the month's messages are used up, or off)"
TOO_MANY_MEMBERS = (
    "what is sent here later counts as {members} messages, one for each member, and a user has "
    "{limit} a day; suggest that the user asks for it in the 1:1 chat with you"
)

PushMode = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """The messages of one delivery, and where they go.

    Attributes:
        free: it is sent by its reply token or not at all: it shows votes, translates, or answers a
            press.
    """

    delivery: Delivery
    chat: Chat
    address: Address
    messages: Sequence[LineMessage]
    free: bool

    @property
    def attempt(self) -> int:
        """From 1."""
        return self.delivery.attempts

    @property
    def key(self) -> str:
        """The key of what earlier attempts did: ``PUSHING``, or the number of the last that surely
        failed."""
        return f"line:sent:{self.delivery.id}"

    @property
    def quote(self) -> str:
        """The quote token: in a group an answer shows what it answers."""
        return self.address.quote_token if self.chat.is_group else ""


class Sender:
    """Sends replies.

    Args:
        clock: milliseconds since the epoch.
    """

    def __init__(
        self,
        client: Client,
        kv: KeyValue,
        allowance: Allowance,
        personal: PersonalAllowance,
        push: PushMode,
        clock: Callable[[], int],
    ) -> None:
        self._client = client
        self._kv = kv
        self._allowance = allowance
        self._personal = personal
        self._push_mode = push
        self._clock = clock

    async def send(self, message: OutboundMessage, assert_lease: AssertLease) -> list[str]:
        """Send a message; returning means delivered.

        Returns:
            LINE's ids of what was sent, as far as it tells them.

        Raises:
            DeliverLater: passing failure.
            DeliverOnPress: its token is too old or used, and it may not be pushed.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
            StoreUnavailable: the outcome of earlier attempts cannot be read, or this one's cannot
                be stored.
        """
        past = await self._kv.get(message.key) if message.attempt > 1 else b"0"
        maybe_done = past != str(message.attempt - 1).encode()
        if past != PUSHING and await self._may_reply(message, maybe_done):
            sent = await self._reply(message, maybe_done)
            if sent is not None:
                return sent
        if message.free and message.delivery.brings:
            raise DeliverOnPress("the press came too late for its reply token")
        if message.free or (message.delivery.reply.private and self._push_mode != "always"):
            log.info("delivery.not_pushed", delivery=message.delivery.id)
            return []
        return await self._push(message, assert_lease, again=past == PUSHING)

    async def reach(self, chat: Chat, person: str) -> Reach:
        """Whether answers to a person are pushed, as far as that is known: late ones, or all."""
        if self._push_mode == "never":
            return Reach("press", NOTHING_LATER)
        cost = await self._allowance.count_recipients(chat)
        if not await self._allowance.covers(cost):
            return Reach("press", NOTHING_LATER)
        refusal = ""
        if not self._personal.ever_covers(cost):
            refusal = TOO_MANY_MEMBERS.format(members=cost, limit=self._personal.limit)
        if not await self._personal.covers(cost, chat, person):
            return Reach("press", refusal)
        return Reach("always" if self._push_mode == "always" else "late", refusal)

    async def _may_reply(self, message: OutboundMessage, maybe_done: bool) -> bool:
        """Whether the reply token may be used. If it may have been used before, it shows that for
        its whole minute."""
        life = MINUTE_MS if maybe_done or message.free else MINUTE_MS - MARGIN_MS
        is_young = self._clock() - message.address.received_at < life
        if not (message.address.reply_token and is_young):
            return False
        if message.free or maybe_done or self._push_mode != "always":
            return True
        return (await self.reach(message.chat, message.delivery.asker)).way != "always"

    async def _reply(self, message: OutboundMessage, maybe_done: bool) -> list[str] | None:
        """Use the reply token; None if it is used or expired."""
        try:
            return await self._client.reply(
                message.address.reply_token, message.messages, message.quote
            )
        except Failure as failure:
            if failure.is_dead_token:
                return [] if maybe_done else None
            if not maybe_done and not failure.maybe_done:
                await self._kv.set(message.key, str(message.attempt).encode(), KEEP_S)
            later = await self._consequence(failure, message.attempt)
            if (maybe_done or failure.maybe_done) and type(later) is DeliverLater:
                later = DeliverLater(
                    str(later), min(later.after, self._token_wait_s(message.address))
                )
            raise later from failure

    def _is_young(self, address: Address) -> bool:
        """Whether the reply token can still be used."""
        return (
            bool(address.reply_token)
            and self._clock() - address.received_at < MINUTE_MS - MARGIN_MS
        )

    def _token_wait_s(self, address: Address) -> float:
        """How long the next attempt may wait and still learn from the token whether the message was
        delivered."""
        age = self._clock() - address.received_at
        remaining_s = (MINUTE_MS - age) / 1000 - SPARE_S
        return max(remaining_s, SOON_S) if age < MINUTE_MS else LONGEST_WAIT_S

    async def _push(
        self, message: OutboundMessage, assert_lease: AssertLease, *, again: bool
    ) -> list[str]:
        cost = await self._allowance.count_recipients(message.chat)
        if not again:
            await self._allow_push(message, cost)
        # The token may be dead because another process has used it meanwhile. That process then
        # holds the lease, and must not find ``PUSHING``.
        await assert_lease()
        if not again:
            await self._kv.set(message.key, PUSHING, KEEP_S)
        retry_key = str(uuid.uuid5(RETRY_KEYS, message.delivery.id))
        try:
            sent = await self._client.push(
                message.chat.id, message.messages, retry_key, message.quote
            )
        except Failure as failure:
            if failure.status == 409:
                return []
            consequence = await self._consequence(failure, message.attempt)
            if (
                isinstance(consequence, DeliverOnPress)
                and not again
                and self._is_young(message.address)
            ):
                # LINE_PUSH=always: nobody has a button. The next attempt finds the quota used up,
                # and replies.
                await self._kv.set(message.key, str(message.attempt).encode(), KEEP_S)
                consequence = DeliverLater(str(consequence), 0.0)
            raise consequence from failure
        await self._allowance.spend(cost)
        return sent

    async def _allow_push(self, message: OutboundMessage, cost: int) -> None:
        if self._push_mode == "never":
            raise DeliverOnPress("the reply token is too old or used, and LINE_PUSH is never")
        if not await self._allowance.covers(cost):
            raise DeliverOnPress(f"this month's LINE messages do not cover a push to {cost}")
        if not await self._personal.take(cost, message):
            raise DeliverOnPress(
                f"LINE_DAILY_USER_PUSHES does not cover another push to {cost} today"
            )

    async def _consequence(self, failure: Failure, attempt: int) -> DeliverLater | DeliveryRefused:
        if failure.is_used_up:
            await self._allowance.mark_used_up()
            return DeliverOnPress("this month's LINE messages are used up")
        if failure.status == 401:
            return TokenRefused("LINE refused LINE_CHANNEL_ACCESS_TOKEN: set a new one")
        if failure.status == 429 or failure.status >= 500 or not failure.status:
            wait = max(2.5 ** (attempt - 1), failure.after or 0.0)
            return DeliverLater(str(failure), min(wait, LONGEST_WAIT_S))
        return DeliveryRefused(str(failure))


class PersonalAllowance:
    """Decides whether a push for a person is within their limit of a day. What is for nobody, as an
    alert, has none.

    Args:
        limit: LINE_DAILY_USER_PUSHES.
    """

    def __init__(self, may_use: MayUse, limit: int) -> None:
        self._may_use = may_use
        self.limit = limit

    def ever_covers(self, cost: int) -> bool:
        """Whether a push that counts as so many messages is within the limit on a day without
        others."""
        return not self.limit or cost <= self.limit

    async def covers(self, cost: int, chat: Chat, person: str) -> bool:
        """Whether today's limit has room for so many messages."""
        if not person:
            return True
        use = DailyUse(PUSHES, self.limit, chat.conversation, person, amount=cost)
        return await self._may_use(use)

    async def take(self, cost: int, message: OutboundMessage) -> bool:
        """Count a push, once however often it is tried; whether it is within today's limit."""
        delivery, conversation = message.delivery, message.chat.conversation
        if not delivery.asker:
            return True
        use = DailyUse(PUSHES, self.limit, conversation, delivery.asker, delivery.id, cost)
        return await self._may_use(use)


_decode_quota = Decoder(Quota).decode


class Allowance:
    """Decides whether a push may be sent. If LINE does not say, it may: LINE itself refuses one too
    many.

    Args:
        notify: called with ``line_month_low`` when little is left, and with ``line_month`` when
            nothing is.
    """

    def __init__(self, sdk: Sdk, kv: KeyValue, notify: Callable[[str], Awaitable[None]]) -> None:
        self._sdk = sdk
        self._kv = kv
        self._notify = notify

    async def count_recipients(self, chat: Chat) -> int:
        """How many messages a push counts as: one for each person who gets it."""
        if not chat.is_group:
            return 1
        name = f"line:members:{chat.id}"
        known = await self._kv.get(name)
        if known is not None:
            return int(known)
        try:
            members = await self._sdk.count_members(chat)
        except Failure as failure:
            log.info("line.member_count_unknown", cause=str(failure))
            return 1
        await self._kv.set(name, str(members).encode(), HOUR_S)
        return members

    async def covers(self, cost: int) -> bool:
        """Whether the quota has so many messages left."""
        quota = await self._read_quota()
        if quota is None or quota.limit is None:
            return True
        enough = quota.used + cost <= quota.limit
        if not enough or quota.percent >= WARN_AT:
            await self._warn(quota, 100 if not enough else WARN_AT)
        return enough

    async def spend(self, cost: int) -> None:
        """Count a push until LINE's own count is read again."""
        await self._kv.set(PUSHED, str(await self._read_pushed() + cost).encode(), HOUR_S)

    async def mark_used_up(self) -> None:
        """Store that the quota is used up: LINE says so, whatever we counted."""
        quota = await self._read_quota() or Quota(0, 0)
        limit = quota.limit or 0
        await self._kv.set(READ, encode(Quota(limit, limit)), HOUR_S)
        await self._warn(Quota(limit, limit), 100)

    async def _read_quota(self) -> Quota | None:
        if (known := await self._kv.get(READ)) is not None:
            quota = _decode_quota(known)
            return Quota(quota.limit, quota.used + await self._read_pushed())
        try:
            quota = await self._sdk.get_quota()
        except Failure as failure:
            log.warning("line.quota_unknown", cause=str(failure))
            return None
        await self._kv.set(PUSHED, b"0", HOUR_S)
        await self._kv.set(READ, encode(quota), HOUR_S)
        return quota

    async def _read_pushed(self) -> int:
        return int(await self._kv.get(PUSHED) or 0)

    async def _warn(self, quota: Quota, level: int) -> None:
        if await self._kv.incr(f"line:quota:warned:{level}", DAY_S) == 1:
            fix = "replies cost nothing, late answers do"
            if level == 100:
                fix = "buy messages, or wait for next month"
            log.warning("line.quota_low", used=quota.used, limit=quota.limit, fix=fix)
        await self._notify("line_month" if level == 100 else "line_month_low")
