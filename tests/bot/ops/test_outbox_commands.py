"""``kaiwa outbox``, as an operator or a script calls it."""

from __future__ import annotations

import asyncio
import json

import pytest

from bot.app.storage import open_store_of
from bot.channels import Delivery, Reply
from bot.settings import load
from bot.transcript import encode
from tests.bot.command_line import Call
from tests.bot.store.turns import leased

pytestmark = pytest.mark.usefixtures("restored_logging", "settings")


async def given_up(*answers: str) -> None:
    """Have answers become dead letters in the command's own store."""
    async with open_store_of(load()) as store:
        for answer in answers:
            lease = await leased(store, "console:room-0001")
            delivery = Delivery(f"id of {answer}", "turn", Reply(answer))
            await store.journal.commit(lease, None, [encode(delivery)], keep_turns=1)
            await store.outbox.move_head_to_dead_letters(lease, b"the chat is gone")
            await store.leases.release(lease)


def test_dead_letters_are_listed_put_back_and_deleted(call: Call) -> None:
    """Each by its id; lines for a person, JSON for a program; how many there are stands beside."""
    asyncio.run(given_up("One", "Two", "Three"))
    code, out, err = call("outbox", "list", "--limit", "2")
    assert code == 0
    first, second = (line.split("\t") for line in out.splitlines())
    assert first[2:] == ["console:room-0001", "answer: Three", "the chat is gone"]
    assert err == "dead letters: 3 (2 shown), conversations due: 0\n"
    code, out, err = call("outbox", "list", "--json")
    listed = json.loads(out)
    assert [letter["words"] for letter in listed["dead_letters"]] == ["Three", "Two", "One"]
    assert (listed["count"], listed["conversations_waiting"], err) == (3, 0, "")
    code, out, err = call("outbox", "discard", first[0])
    assert (code, out, err) == (0, f"✓ {first[0]}: deleted\n", "")
    code, out, err = call("outbox", "retry", second[0])
    assert (code, out) == (0, f"✓ {second[0]}: answer put back, console:room-0001\n")
    assert err == "A running worker takes them up within a second or two; without one they wait.\n"
    code, out, err = call("outbox", "retry", "--all")
    assert (code, len(out.splitlines())) == (0, 1)
    assert call("outbox", "list") == (0, "", "dead letters: none, conversations due: 1\n")
    assert call("outbox", "retry", "--all") == (0, "", "there are no dead letters\n")


def test_a_dead_letter_that_cannot_be_read_fails_the_retry(call: Call) -> None:
    """So that a script can tell; the fix stands beside, and works."""

    async def unreadable() -> None:
        async with open_store_of(load()) as store:
            lease = await leased(store, "console:room-0001")
            await store.journal.commit(lease, None, [b"{"], keep_turns=1)
            await store.outbox.move_head_to_dead_letters(lease, b"cannot be read")
            await store.leases.release(lease)

    asyncio.run(unreadable())
    code, out, err = call("outbox", "retry", "--all")
    letter_id = out.split()[1].rstrip(":")
    assert (code, err) == (1, "")
    assert out == f"✗ {letter_id}: cannot be read (kaiwa outbox discard {letter_id} deletes it)\n"
    assert call("outbox", "discard", letter_id)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["retry", "07-1-0"],
            "no such dead letter: 07-1-0; kaiwa outbox list shows those there are",
        ),
        (
            ["discard", "nonsense", "07-1-0"],
            "no such dead letter: nonsense, 07-1-0; kaiwa outbox list",
        ),
        (["retry"], "name the dead letters to put back, or all of them: kaiwa outbox retry --all"),
        (["retry", "--all", "07-1-0"], "name the dead letters to put back, or all of them"),
    ],
)
def test_dead_letters_that_do_not_exist_are_one_line(
    call: Call, arguments: list[str], words: str
) -> None:
    """Nothing is done; exit code 2."""
    code, out, err = call("outbox", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"kaiwa: {words}")
    assert err.count("\n") == 1
