"""How arrivals become the messages a model reads: named, dated, with their pictures, edits made."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bot.arrivals import sort_out
from bot.channels import Arrival, Channel
from bot.context import context_line, usable_zone
from bot.housekeeping import Housekeeping
from bot.live import Joined, Watcher
from bot.media import loaded
from bot.spoken_commands import SpokenCommands
from bot.store import Lease
from bot.transcript import Message
from bot.turn import NOBODY, Heard


class Reception:
    """Receives what arrives for one turn.

    Args:
        time_zone: where the author's is not known.

    Attributes:
        address: where the newest message wants the answer.
    """

    def __init__(
        self,
        lease: Lease,
        channel: Channel,
        housekeeping: Housekeeping,
        commands: SpokenCommands,
        time_zone: str,
    ) -> None:
        self._lease = lease
        self._channel = channel
        self._housekeeping = housekeeping
        self._commands = commands
        self._time_zone = time_zone
        self.address = ""

    async def receive(self, arrivals: Sequence[Arrival], *, is_new: bool) -> Heard:
        """Make messages of arrivals; pictures are references still.

        Args:
            is_new: nothing has been said here before.
        """
        self.address = arrivals[-1].address or self.address
        conversation = self._lease.conversation
        prepared = await self._channel.prepare(conversation, arrivals, is_new=is_new)
        await self._housekeeping.remember(conversation, prepared)
        return Heard(tuple(self._dated(arrival) for arrival in prepared))

    async def join(self, watcher: Watcher, arrivals: Sequence[Arrival]) -> Heard:
        """The same for what arrives during the turn, changes to earlier messages included.

        Raises:
            LeaseLost: another process has the turn.
        """
        batch = sort_out(arrivals, self._commands.read)
        await self._housekeeping.apply(self._lease, batch.edited)
        if not batch.messages:
            return Heard(changes=batch.edited)
        await watcher.show(Joined(tuple(arrival.message.id for arrival in batch.messages)))
        heard = await self.receive(batch.messages, is_new=False)
        messages = await loaded(heard.messages, self._lease.conversation, self._channel)
        return Heard(tuple(messages), batch.edited)

    def _dated(self, arrival: Arrival) -> Message:
        author = arrival.message.author or NOBODY
        zone = usable_zone(author.time_zone, self._time_zone)
        return replace(arrival.message, context=context_line(arrival, self._channel.name, zone))
