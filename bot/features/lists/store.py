"""Lists that the people of a place share: one hash for each place, from an item's number to its
value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.json import Decoder, Encoder

from bot.store import Store
from bot.store.keys import DAY_S, Keys, digest_of, person_of

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


class StoredLists:
    """Lists by place. They expire ``LISTS_S`` after they were last read or changed."""

    def __init__(self, store: Store) -> None:
        self._scripts = store.scripts
        self._belongings = store.belongings

    async def read(self, place: str) -> list[StoredItem]:
        """All items of a place, oldest first."""
        stored = await self._read(place)
        return sorted(_item(number, value) for number, value in stored.items())

    async def add(
        self, place: str, author: str, list_name: str, texts: Sequence[str], idempotency_key: str
    ) -> list[int]:
        """Add items, each once for its position and idempotency key.

        Returns:
            Their numbers; 0 for an item without room among ``LIST_ITEMS``.
        """
        person = person_of(place, author)
        for owner in (person, place):
            await self._belongings.add(owner, _entry(place), LISTS_S)
        by = digest_of(person)
        arguments: list[Any] = [LISTS_S, LIST_ITEMS]
        for position, text in enumerate(texts):
            begin = f"{digest_of(f'{idempotency_key}:{position}')} 0 {by} "
            arguments += ("", begin.encode() + encode((list_name, text)))
        numbers = await self._scripts.call("write_items", [_key(place)], arguments)
        return [int(number) for number in numbers]

    async def tick(self, place: str, numbers: Sequence[int], *, done: bool) -> list[int]:
        """Mark items as done, or as open again; returns the numbers that there are."""
        stored = await self._read(place)
        arguments: list[Any] = [LISTS_S, LIST_ITEMS]
        for number in numbers:
            if value := stored.get(number):
                mark = TICKED if done else OPEN
                arguments += (number, value[: MARK.start] + mark + value[MARK.stop :])
        found = await self._scripts.call("write_items", [_key(place)], arguments)
        return [int(number) for number in found if number]

    async def _read(self, place: str) -> dict[int, bytes]:
        """The values by number. Reading lists is their use."""
        key = _key(place)
        _, stored = await self._scripts.ask_each([("EXPIRE", key, LISTS_S), ("HGETALL", key)])
        items = {int(field): value for field, value in stored.items() if field != b"last"}
        if items:
            authors = {value[AUTHOR].decode() for value in items.values()}
            for owner in (digest_of(place), *authors):
                _ = self._belongings.renew_later(owner, [_entry(place)], LISTS_S)
        return items

    async def withdraw(self, person: str, place: str) -> None:
        """Delete the items that somebody has added, or all of them (``bot.store.Erase``)."""
        author, key = digest_of(person).encode(), _key(place)
        if not person:
            await self._scripts.ask("DEL", key)
            return
        stored = await self._scripts.ask("HGETALL", key)
        theirs = [field for field, value in stored.items() if value[AUTHOR] == author]
        if theirs:
            await self._scripts.ask("HDEL", key, *theirs)


def _item(number: int, value: bytes) -> StoredItem:
    _, mark, _, content = value.split(b" ", 3)
    list_name, text = decode(content)
    return StoredItem(number, list_name, text, mark == b"1")


def _entry(place: str) -> str:
    return f"{KIND} {place}"


def _key(place: str) -> str:
    return Keys(place).of(KIND)
