"""Lists that the people of a place share: one hash for each place, from an item's number to its
value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.json import Decoder, Encoder

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import Keys, digest_of, person_of

KIND = "lists"  # in the index of what belongs to somebody, with a place
LISTS_S = 365 * DAY_S  # lists of a place, after their last use
LIST_ITEMS = 300  # of all lists of one place

# A value is ``digest mark author JSON``: of the idempotency key, 1 if it is ticked, of who added
# it, list and text. A new item takes the room of the oldest ticked one.
OPEN, TICKED = b"0", b"1"
MARK = slice(17, 18)  # of a value
AUTHOR = slice(19, 35)

encode = Encoder().encode
decode = Decoder(tuple[str, str]).decode


class StoredItem(NamedTuple):
    """One item; its number is its own among all lists of the place."""

    number: int
    list_name: str
    text: str
    is_ticked: bool


class PlaceLists:
    """The lists of one place, for one of its people; items remember who added them, for
    ``/forget me``. They expire ``LISTS_S`` after they were last read or changed.

    Every method raises ``StoreUnavailable`` if the store does not answer.
    """

    def __init__(self, store: Store, place: str, author: str = "") -> None:
        self._scripts = store.scripts
        self._belongings = store.belongings
        self._place = place
        self._person = person_of(place, author)
        self._key = _key(place)
        self._entry = f"{KIND} {place}"

    async def read(self) -> list[StoredItem]:
        """All items, oldest first."""
        stored = await self._read()
        return sorted(_item(number, value) for number, value in stored.items())

    async def add(self, list_name: str, texts: Sequence[str], idempotency_key: str) -> list[int]:
        """Add items, each once for its position and idempotency key.

        Returns:
            Their numbers; 0 for an item without room among ``LIST_ITEMS``.
        """
        for owner in (self._person, self._place):
            await self._belongings.add(owner, self._entry, LISTS_S)
        arguments: list[Any] = [LISTS_S, LIST_ITEMS]
        for position, text in enumerate(texts):
            digest = digest_of(f"{idempotency_key}:{position}")
            begin = f"{digest} 0 {digest_of(self._person)} "
            arguments += ("", begin.encode() + encode((list_name, text)))
        numbers = await self._scripts.call("write_items", [self._key], arguments)
        return [int(number) for number in numbers]

    async def tick(self, numbers: Sequence[int], *, done: bool) -> list[int]:
        """Mark items as done, or as open again; returns the numbers that there are."""
        stored = await self._read()
        arguments: list[Any] = [LISTS_S, LIST_ITEMS]
        for number in numbers:
            if value := stored.get(number):
                mark = TICKED if done else OPEN
                arguments += (number, value[: MARK.start] + mark + value[MARK.stop :])
        found = await self._scripts.call("write_items", [self._key], arguments)
        return [int(number) for number in found if number]

    async def _read(self) -> dict[int, bytes]:
        """The values by number. Reading lists is their use."""
        requests = [("EXPIRE", self._key, LISTS_S), ("HGETALL", self._key)]
        _, stored = await self._scripts.ask_each(requests)
        items = {int(field): value for field, value in stored.items() if field != b"last"}
        if items:
            authors = {value[AUTHOR].decode() for value in items.values()}
            for owner in (digest_of(self._place), *authors):
                _ = self._belongings.renew_later(owner, [self._entry], LISTS_S)
        return items


async def erase(store: Store, person: str, place: str) -> None:
    """Delete the items that somebody has added, or all of them (``bot.store.Erase``)."""
    author, key = digest_of(person).encode(), _key(place)
    if not person:
        await store.scripts.ask("DEL", key)
        return
    stored = await store.scripts.ask("HGETALL", key)
    theirs = [field for field, value in stored.items() if value[AUTHOR] == author]
    if theirs:
        command: list[str | bytes] = ["HDEL", key]
        await store.scripts.ask(*command + theirs)


def _item(number: int, value: bytes) -> StoredItem:
    _, mark, _, content = value.split(b" ", 3)
    list_name, text = decode(content)
    return StoredItem(number, list_name, text, mark == b"1")


def _key(place: str) -> str:
    return Keys(place).of(KIND)
