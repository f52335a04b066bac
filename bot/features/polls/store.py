"""Polls in the store: each is a hash with its body, the count of each option, and what each voter
has chosen."""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import Keys, digest_of, person_of

KIND = "poll"  # in the index of what belongs to somebody: a conversation, and an id
OPEN_POLLS = 20  # of one place
VOTERS = 10_000  # of one poll
POLL_S = 30 * DAY_S  # a poll, after its last vote …
POLLS_S = 365 * DAY_S  # … and at most, after its start
Outcome = Literal["taken", "gone", "over", "not_yours", "full"]
CLOSE = 0  # in place of an option's number


class StoredPoll(NamedTuple):
    """A poll as it stands; ``counts`` are those of the options, in their order."""

    body: bytes
    is_closed: bool
    voters: int
    counts: tuple[int, ...]


class StoredPolls:
    """Polls by conversation and id. They expire ``POLL_S`` after their last vote, at most
    ``POLLS_S`` after they began. Bodies are the caller's."""

    def __init__(self, store: Store) -> None:
        self._scripts = store.scripts
        self._belongings = store.belongings

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
        person = person_of(conversation, creator)
        for owner in (person, conversation):
            await self._belongings.add(owner, _entry(conversation, poll_id), POLLS_S)
        arguments = [poll_id, digest_of(person), body, options, int(multiple), OPEN_POLLS]
        arguments += [POLL_S, POLLS_S]
        poll = {"poll": _key(conversation, poll_id)}
        return bool(await self._scripts.run("polls.start", conversation, arguments, poll))

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
        voter = person_of(conversation, person)
        await self._belongings.add(voter, _entry(conversation, poll_id), POLLS_S)
        arguments = [conversation, poll_id, digest_of(voter), choice, VOTERS, delivery, POLL_S]
        others = {"seen": Keys(conversation).seen(press_id), "poll": _key(conversation, poll_id)}
        found: bytes = await self._scripts.run("polls.vote", conversation, arguments, others)
        return cast(Outcome, found.decode())

    async def withdraw(self, person: str, entry: str) -> None:
        """Delete a poll that somebody has started; of another one, what they have voted
        (``bot.pipeline.feature.Erase``)."""
        conversation, _, poll_id = entry.rpartition(" ")
        poll = {"poll": _key(conversation, poll_id)}
        arguments = [poll_id, digest_of(person) if person else ""]
        await self._scripts.run("polls.withdraw", conversation, arguments, poll)

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
        poll = _key(conversation, poll_id)
        found = await self._scripts.call("polls.show", [poll], [pause])
        if not isinstance(found, list):
            return found if found is None else int(found)
        body, closed, voters, counts = found
        return StoredPoll(body, bool(closed), voters, tuple(counts))

    async def open_ids(self, conversation: str) -> list[str]:
        """The ids of the open polls, those with the newest votes last."""
        ids = await self._scripts.ask("ZRANGE", Keys(conversation).of("polls"), 0, -1)
        return [poll_id.decode() for poll_id in ids]


def _entry(conversation: str, poll_id: str) -> str:
    return f"{KIND} {conversation} {poll_id}"


def _key(conversation: str, poll_id: str) -> str:
    """The key of a poll; the key ``polls`` tells which are open."""
    return f"{Keys(conversation).of(KIND)}:{poll_id}"
