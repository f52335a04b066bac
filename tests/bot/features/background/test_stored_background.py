"""Unmentioned messages of a group: the newest, in the order of their times."""

from __future__ import annotations

from bot.features.background.store import KIND, MESSAGES, StoredBackground
from bot.store import Store

HERE = "line:b:group:C1"


async def test_an_edit_pushes_nobody_out(store: Store) -> None:
    """It takes the place of the old words, also where no more messages are stored."""
    background, now = StoredBackground(store), await store.now_ms(HERE)
    words = [b"%d" % number for number in range(MESSAGES)]
    for number, body in enumerate(words):
        await background.add(HERE, "U1", now + number, body)
    await background.change(HERE, "U1", b"3", b"three")
    assert await background.read(HERE) == [*words[:3], b"three", *words[4:]]


async def test_what_somebody_wrote_goes_with_them(store: Store) -> None:
    """Found by the index; what others wrote stays."""
    background, now = StoredBackground(store), await store.now_ms(HERE)
    await background.add(HERE, "U1", now, b"one")
    await background.add(HERE, "U2", now + 1, b"two")
    await store.personal_data.erase_person("line:U1", {KIND: background.withdraw})
    assert await background.read(HERE) == [b"two"]
    assert await store.belongings.read("line:U1") == []
