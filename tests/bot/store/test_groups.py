"""Unmentioned messages of a group: the newest, in the order of their times."""

from __future__ import annotations

from bot.store import Store
from bot.store.keys import BACKGROUND_MESSAGES

HERE = "line:b:group:C1"


async def test_an_edit_pushes_nobody_out(store: Store) -> None:
    """It takes the place of the old words, also where no more messages are stored."""
    now = await store.now_ms(HERE)
    words = [b"%d" % number for number in range(BACKGROUND_MESSAGES)]
    for number, body in enumerate(words):
        await store.groups.receive(HERE, "U1", now + number, body)
    await store.groups.change(HERE, "U1", b"3", b"three")
    assert await store.groups.read(HERE) == [*words[:3], b"three", *words[4:]]
