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
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import structlog
from msgspec.json import Decoder

from bot.channels import AssertLease, DailyUse, Delivery, Host, Reach
from bot.channels.line.client import Client, Failure
from bot.channels.line.sdk import Sdk
from bot.channels.line.types import JSON, Address, Chat, Quota
from bot.clock import DAY_S, HOUR_S
from bot.errors import (
    LONGEST_WAIT_S,
    DeliverLater,
    DeliverOnPress,
    DeliveryRefused,
    TokenRefused,
)
from bot.transcript import channel_named, encode

if TYPE_CHECKING:
    from bot.channels.line import Config

log = structlog.stdlib.get_logger(__name__)

MINUTE_MS = 60_000  # a reply token is valid so long
MARGIN_MS = 10_000  # for the network, and for the difference of two clocks
KEEP_S = 86_400  # LINE remembers a retry key so long
RETRY_KEYS = uuid.UUID(
    "0d4b4a2c-6f0e-5b51-9b7a-5a3d8f5c7c11"
)  # any constant: namespace of UUIDs made from delivery ids
PUSHING = b"pushing"
SPARE_S = 2.0  # of a token's minute, for the attempt itself
SOON_S = 0.5
WARN_AT = 80  # percent of the month's quota
PUSHES = "pushes"  # the name of what a person's limit counts
_decode_quota = Decoder(Quota).decode
NOTHING_LATER = "nothing can be sent here later (the month's messages are used up, or off)"
TOO_MANY_MEMBERS = (
    "what is sent here later counts as {members} messages, one for each member, and a user has "
    "{limit} a day; suggest that the user asks for it in the 1:1 chat with you"
)


class OutboundMessage(NamedTuple):
    """The messages of one delivery, and where they go.

    Attributes:
        quote: the quote token: in a group an answer shows what it answers.
        free: it is sent by its reply token or not at all: it shows votes, translates, or answers a
            press.
    """

    delivery: Delivery
    chat: Chat
    address: Address
    messages: Sequence[JSON]
    quote: str
    free: bool

    @property
    def key(self) -> str:
        """The key of what earlier attempts did: ``PUSHING``, or the number of the last that surely
        failed."""
        return f"{channel_named('line', self.chat.account)}:sent:{self.delivery.id}"


class Sender:
    """Sends replies."""

    def __init__(self, client: Client, sdk: Sdk, config: Config, host: Host) -> None:
        self._client = client
        self._kv = host.kv
        self._allowance = Allowance(sdk, host)
        self._may_use = host.may_use
        self._daily_pushes = config.line_daily_user_pushes
        self._push_mode = config.line_push
        self._clock = host.clock

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
        attempt = message.delivery.attempts
        past = await self._kv.get(message.key) if attempt > 1 else b"0"
        maybe_done = past != str(attempt - 1).encode()
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
        refusal, limit = "", self._daily_pushes
        if limit and cost > limit:
            refusal = TOO_MANY_MEMBERS.format(members=cost, limit=limit)
        if not await self._may_push_for(person, chat, cost):
            return Reach("press", refusal)
        return Reach("always" if self._push_mode == "always" else "late", refusal)

    async def _may_reply(self, message: OutboundMessage, maybe_done: bool) -> bool:
        """Whether the reply token may be used. If it may have been used before, it shows that for
        its whole minute."""
        life = MINUTE_MS if maybe_done or message.free else MINUTE_MS - MARGIN_MS
        if not self._has_token(message.address, life):
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
                await self._kv.set(message.key, str(message.delivery.attempts).encode(), KEEP_S)
            later = await self._consequence(failure, message.delivery.attempts)
            if (maybe_done or failure.maybe_done) and type(later) is DeliverLater:
                later = DeliverLater(
                    str(later), min(later.after, self._token_wait_s(message.address))
                )
            raise later from failure

    def _has_token(self, address: Address, life_ms: int) -> bool:
        """Whether there is a reply token that is no older."""
        return bool(address.reply_token) and self._clock() - address.received_at < life_ms

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
            consequence = await self._consequence(failure, message.delivery.attempts)
            is_replaced = isinstance(consequence, DeliverOnPress) and not again
            if is_replaced and self._has_token(message.address, MINUTE_MS - MARGIN_MS):
                # LINE_PUSH=always: nobody has a button. The next attempt finds the quota used up,
                # and replies.
                await self._kv.set(message.key, str(message.delivery.attempts).encode(), KEEP_S)
                consequence = DeliverLater(str(consequence), 0.0)
            raise consequence from failure
        await self._allowance.spend(cost)
        return sent

    async def _allow_push(self, message: OutboundMessage, cost: int) -> None:
        if self._push_mode == "never":
            raise DeliverOnPress("the reply token is too old or used, and LINE_PUSH is never")
        if not await self._allowance.covers(cost):
            raise DeliverOnPress(f"this month's LINE messages do not cover a push to {cost}")
        delivery = message.delivery
        if not await self._may_push_for(delivery.asker, message.chat, cost, delivery.id):
            raise DeliverOnPress(
                f"LINE_DAILY_USER_PUSHES does not cover another push to {cost} today"
            )

    async def _may_push_for(
        self, person: str, chat: Chat, cost: int, delivery_id: str = ""
    ) -> bool:
        """Whether a push is within a person's limit of a day. What is for nobody, as an alert, has
        none.

        Args:
            delivery_id: is counted, once however often it is tried; without it nothing is.
        """
        if not person:
            return True
        conversation, limit = chat.conversation, self._daily_pushes
        return await self._may_use(
            DailyUse(PUSHES, limit, conversation, person, delivery_id, amount=cost)
        )

    async def _consequence(self, failure: Failure, attempt: int) -> DeliverLater | DeliveryRefused:
        if failure.is_used_up:
            await self._allowance.mark_used_up()
            return DeliverOnPress("this month's LINE messages are used up")
        if failure.status == 401:
            return TokenRefused("LINE refused LINE_CHANNEL_ACCESS_TOKEN: set a new one")
        if failure.status == 429 or failure.status >= 500 or not failure.status:
            wait = max(2.5 ** (attempt - 1), failure.after or 0.0)
            return DeliverLater(str(failure), wait)
        return DeliveryRefused(str(failure))


class Allowance:
    """Decides whether a push may be sent. If LINE does not say, it may: LINE itself refuses one too
    many.

    The operator is told when little is left, and when nothing is.
    """

    def __init__(self, sdk: Sdk, host: Host) -> None:
        self._sdk = sdk
        self._kv = host.kv
        self._channel = host.channel("line")
        self._notify = partial(host.notify, platform=self._channel)
        self._read = f"{self._channel}:quota"
        self._pushed = f"{self._read}:pushed"

    async def count_recipients(self, chat: Chat) -> int:
        """How many messages a push counts as: one for each person who gets it."""
        if not chat.is_group:
            return 1
        name = f"{self._channel}:members:{chat.id}"
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
        await self._kv.set(self._pushed, str(await self._read_pushed() + cost).encode(), HOUR_S)

    async def mark_used_up(self) -> None:
        """Store that the quota is used up: LINE says so, whatever we counted."""
        quota = await self._read_quota() or Quota(0, 0)
        limit = quota.limit or 0
        await self._kv.set(self._read, encode(Quota(limit, limit)), HOUR_S)
        await self._warn(Quota(limit, limit), 100)

    async def _read_quota(self) -> Quota | None:
        if (known := await self._kv.get(self._read)) is not None:
            quota = _decode_quota(known)
            return Quota(quota.limit, quota.used + await self._read_pushed())
        try:
            quota = await self._sdk.get_quota()
        except Failure as failure:
            log.warning("line.quota_unknown", cause=str(failure))
            return None
        await self._kv.set(self._pushed, b"0", HOUR_S)
        await self._kv.set(self._read, encode(quota), HOUR_S)
        return quota

    async def _read_pushed(self) -> int:
        return int(await self._kv.get(self._pushed) or 0)

    async def _warn(self, quota: Quota, level: int) -> None:
        if await self._kv.incr(f"{self._read}:warned:{level}", DAY_S) == 1:
            fix = "replies cost nothing, late answers do"
            if level == 100:
                fix = "buy messages, or wait for next month"
            used, limit = quota.used, quota.limit
            log.warning("line.quota_low", channel=self._channel, used=used, limit=limit, fix=fix)
        await self._notify("line_month" if level == 100 else "line_month_low")
