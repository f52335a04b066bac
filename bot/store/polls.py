"""Polls: each a hash with its body, the count of each option, and what each voter has chosen."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple, cast

from bot.store.clients import Client, translate_errors
from bot.store.keys import OPEN_POLLS, VOTERS, Keys, shows_in, shows_pattern
from bot.store.lists import digest_of
from bot.store.queues import Command
from bot.store.scripts import Scripts

Outcome = Literal["taken", "gone", "over", "not_yours", "full"]
CLOSE = 0  # in place of an option's number


class StoredPoll(NamedTuple):
    """A poll as it stands; ``counts`` are those of the options, in their order."""

    body: bytes
    is_closed: bool
    voters: int
    counts: tuple[int, ...]


class Polls:
    """Polls by conversation and id. They expire ``POLL_S`` after their last vote. Bodies are the
    caller's."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def start(
        self,
        conversation: str,
        poll_id: str,
        creator: str,
        body: bytes,
        *,
        options: int,
        multiple: bool,
    ) -> bool:
        """Keep a poll; a known id changes nothing. Where ``OPEN_POLLS`` are open, the oldest one
        without a vote goes.

        Returns:
            False where all of them have votes.
        """
        arguments = [poll_id, digest_of(creator), body, options, int(multiple), OPEN_POLLS]
        poll = {"poll": Keys(conversation).poll(poll_id)}
        return bool(await self._scripts.run("start_poll", conversation, arguments, poll))

    async def press(
        self,
        conversation: str,
        poll_id: str,
        press_id: str,
        person: str,
        choice: int,
        delivery: bytes,
    ) -> Outcome:
        """Record a press of a button, once for each ``press_id``.

        Args:
            choice: number of an option, from 1, or ``CLOSE``.
            delivery: goes into the outbox if the poll has changed and no such delivery waits there;
                it shows the poll.

        Returns:
            ``taken``, or why not: the poll is ``gone`` or ``over``, has all its voters, or somebody
            else closes it.
        """
        keys = Keys(conversation)
        arguments = [conversation, poll_id, digest_of(person), choice, VOTERS, delivery]
        others = {"seen": keys.seen(press_id), "poll": keys.poll(poll_id)}
        return _outcome(await self._scripts.run("vote", conversation, arguments, others))

    async def withdraw(self, polls: Iterable[tuple[str, str]], people: Collection[str]) -> None:
        """Delete those of these polls that one of these people has started; of the others, what
        they have voted.

        Args:
            polls: conversation and id of each.
        """
        requests: list[Command] = []
        for conversation, poll_id in polls:
            own = Keys(conversation)
            keys = [own.poll(poll_id), own.of("polls")]
            for person in people:
                arguments = [poll_id, digest_of(person)]
                requests.append(self._scripts.command("withdraw_vote", keys, arguments))
        async with translate_errors():
            await self._client.execute_each(requests)

    async def show(
        self, conversation: str, poll_id: str, pause_ms: int | None = None
    ) -> StoredPoll | int | None:
        """The poll as it stands; None if it is gone.

        Args:
            pause_ms: given where a delivery shows the poll: what changes from now on is for the
                next one.

        Returns:
            A time (ms of the store's clock) where it was shown less than ``pause_ms`` ago: then it
            may be shown again.
        """
        pause = "" if pause_ms is None else pause_ms
        poll = Keys(conversation).poll(poll_id)
        found = await self._scripts.call("show_poll", [poll], [pause])
        if not isinstance(found, list):
            return found if found is None else int(found)
        body, closed, voters, counts = found
        return StoredPoll(body, bool(closed), voters, tuple(counts))

    async def open_ids(self, conversation: str) -> list[str]:
        """The ids of the open polls, those with the newest votes last."""
        async with translate_errors():
            ids = cast(
                "list[bytes]", await self._client.zrange(Keys(conversation).of("polls"), 0, -1)
            )
        return [poll_id.decode() for poll_id in ids]

    async def waiting(self, channel: str) -> list[str]:
        """The conversations of a channel that only keep polls, where something is to be shown;
        scans every key."""
        async with translate_errors():
            keys = [
                key async for key in self._client.scan_iter(shows_pattern(channel), count=1_000)
            ]
        return [shows_in(key.decode()) for key in keys]


def _outcome(found: bytes) -> Outcome:
    match found:
        case b"taken":
            return "taken"
        case b"over":
            return "over"
        case b"not_yours":
            return "not_yours"
        case b"full":
            return "full"
        case _:
            return "gone"
