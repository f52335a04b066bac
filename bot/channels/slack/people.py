"""Who somebody is: names, languages and time zones, asked once a day."""

from __future__ import annotations

from contextlib import suppress

from msgspec import DecodeError, Struct, ValidationError, convert
from msgspec.json import Decoder

from bot.channels.kv import KeyValue
from bot.channels.slack.api import Api
from bot.errors import DeliverLater, StoreUnavailable
from bot.transcript import Author, encode

DAY_S = 86_400
UNKNOWN_S = 600  # before somebody Slack does not tell of is asked for again


class _Profile(Struct):
    display_name: str | None = None
    real_name: str | None = None


class _User(Struct):
    id: str
    name: str | None = None
    locale: str | None = None
    tz: str | None = None
    profile: _Profile | None = None


_decode = Decoder(Author).decode


class People:
    """Looks users up. Whoever cannot be found is somebody without a name."""

    def __init__(self, api: Api, notes: KeyValue) -> None:
        self._api = api
        self._notes = notes

    async def find(self, team: str, user: str) -> Author:
        """One user."""
        note = f"slack:user:{team}:{user}"
        with suppress(StoreUnavailable, DecodeError):
            if (known := await self._notes.get(note)) is not None:
                return _decode(known)
        try:
            answer = await self._api.get("users.info", user=user, include_locale=True)
        except DeliverLater:
            return Author(user)
        author = _author(user, answer.data.get("user"))
        if not answer.retry_after:
            with suppress(StoreUnavailable):
                await self._notes.set(note, encode(author), DAY_S if answer.ok else UNKNOWN_S)
        return author


def _author(user_id: str, data: object) -> Author:
    try:
        user = convert(data, _User)
    except ValidationError:
        return Author(user_id)
    profile = user.profile or _Profile()
    name = profile.display_name or profile.real_name or user.name or ""
    return Author(user_id, name, user.locale or "", user.tz or "")
