"""How many messages may still be pushed this month: read from LINE, cached, counted along, and warned about in time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog
from msgspec import Struct
from msgspec.json import Decoder

from bot.channels.kv import KeyValue
from bot.channels.line.address import Place
from bot.channels.line.failure import Failure
from bot.channels.line.lazy import LazyApi
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

HOUR_S = 3_600
DAY_S = 86_400
WARN_AT = 80  # percent
READ, PUSHED = "line:quota", "line:quota:pushed"


async def untold() -> None:
    """Nobody is there to be told."""


class Quota(Struct, frozen=True):
    """The month so far; ``limit`` is None where there is none."""

    limit: int | None
    used: int

    @property
    def percent(self) -> int:
        """How much is used."""
        return 0 if self.limit is None else 100 if self.limit == 0 else self.used * 100 // self.limit


_decode = Decoder(Quota).decode


class Allowance:
    """Decides whether a push may be sent. What LINE does not tell is taken as leave: LINE itself has the last word.

    Args:
        used_up: is told when nothing is left.
    """

    def __init__(self, api: LazyApi, notes: KeyValue, used_up: Callable[[], Awaitable[None]]) -> None:
        self._api = api
        self._notes = notes
        self._tell_used_up = used_up

    async def cost(self, place: Place) -> int:
        """A push counts once for everybody who gets it."""
        if place.kind == "user":
            return 1
        name = f"line:members:{place.id}"
        known = await self._notes.get(name)
        if known is not None:
            return int(known)
        try:
            members = await (await self._api()).members(place)
        except Failure as failure:
            log.info("line.member_count_unknown", cause=str(failure))
            return 1
        await self._notes.set(name, str(members).encode(), HOUR_S)
        return members

    async def covers(self, cost: int) -> bool:
        """Whether so many messages are left."""
        quota = await self._quota()
        if quota is None or quota.limit is None:
            return True
        enough = quota.used + cost <= quota.limit
        if not enough or quota.percent >= WARN_AT:
            await self._warn(quota, 100 if not enough else WARN_AT)
        return enough

    async def spend(self, cost: int) -> None:
        """Count a push until LINE's own count is read again."""
        await self._notes.set(PUSHED, str(await self._pushed() + cost).encode(), HOUR_S)

    async def used_up(self) -> None:
        """LINE says that nothing is left, whatever we counted."""
        quota = await self._quota() or Quota(0, 0)
        limit = quota.limit or 0
        await self._notes.set(READ, encode(Quota(limit, limit)), HOUR_S)
        await self._warn(Quota(limit, limit), 100)

    async def _quota(self) -> Quota | None:
        if (known := await self._notes.get(READ)) is not None:
            quota = _decode(known)
            return Quota(quota.limit, quota.used + await self._pushed())
        try:
            api = await self._api()
            quota = Quota(await api.monthly_limit(), await api.monthly_use())
        except Failure as failure:
            log.warning("line.quota_unknown", cause=str(failure))
            return None
        await self._notes.set(PUSHED, b"0", HOUR_S)
        await self._notes.set(READ, encode(quota), HOUR_S)
        return quota

    async def _pushed(self) -> int:
        return int(await self._notes.get(PUSHED) or 0)

    async def _warn(self, quota: Quota, level: int) -> None:
        if await self._notes.incr(f"line:quota:warned:{level}", DAY_S) == 1:
            fix = "buy messages, or wait for next month" if level == 100 else "replies cost nothing, late answers do"
            log.warning("line.quota_low", used=quota.used, limit=quota.limit, fix=fix)
        if level == 100:
            await self._tell_used_up()
