"""User groups: mentions of them carry an id, for which their handle is looked up."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct
from msgspec.json import Decoder

from bot.channels import KeyValue
from bot.channels.slack.client import Client
from bot.channels.slack.types import read
from bot.errors import DeliverLater, StoreUnavailable
from bot.safe_text.glyphs import safe_name
from bot.transcript import UNREADABLE, encode

HOUR_S = 3_600
MOST = 1_000  # that are kept

_decode = Decoder(dict[str, str]).decode


class UserGroup(Struct, frozen=True):
    """A user group, as usergroups.list returns it."""

    id: str
    handle: str = ""


class Groups:
    """Looks user groups up, which needs the scope usergroups:read."""

    def __init__(self, client: Client, kv: KeyValue) -> None:
        self._client = client
        self._kv = kv

    async def find(self, team: str) -> dict[str, str]:
        """The handles of a workspace's groups by id; empty where they cannot be read. Never
        raises."""
        key = f"slack:groups:{team}"
        with suppress(StoreUnavailable, *UNREADABLE):
            if (known := await self._kv.get(key)) is not None:
                return _decode(known)
        try:
            response = await self._client.get("usergroups.list", include_disabled=False)
        except DeliverLater:
            return {}
        groups = read(response.data.get("usergroups"), list[UserGroup]) or []
        handles = {group.id: name for group in groups[:MOST] if (name := safe_name(group.handle))}
        if not response.retry_after:
            self._kv.set_later(key, encode(handles), HOUR_S)
        return handles
