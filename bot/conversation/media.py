"""Pictures for the model: fetched once a turn, bounded, never stored.

Messages hold references. A request gets the contents of the newest pictures that fit, and text in place of the others.
All turns of a process share one allowance of bytes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import structlog
from msgspec.structs import replace

from bot.channels import Channel
from bot.transcript import Media, Message, Part, Text

log = structlog.stdlib.get_logger(__name__)

MIB = 1024 * 1024
MOST = 6  # pictures in a request, the newest ones
MOST_BYTES = 12 * MIB  # of all pictures in a request: Gemini accepts 20 MB, base64 and text included
IN_FLIGHT = 48 * MIB  # of all turns of a process
EARLIER_TURNS = 2  # whose pictures are sent again
WAIT_S = 30.0  # for pictures of other turns; then the request goes without pictures
MIMES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
}

EARLIER = "[{}: sent earlier, not shown again; whoever sent it can send it again]"
REPEATED = "[{}: shown below]"
UNFIT = "[{}: not shown, too much was sent together; it can be sent again alone]"
BUSY = "[{}: not shown, the bot is looking at too many just now; it can be sent again in a minute]"
GONE = ""  # the provider has its own text for a missing picture


class Allowance:
    """A number of bytes that turns share, first come, first served: small requests do not overtake a large one.

    Args:
        patience_s: how long ``take`` waits.
    """

    def __init__(self, size: int, patience_s: float = WAIT_S) -> None:
        self._free = size
        self._patience_s = patience_s
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def has(self, size: int) -> bool:
        """Whether ``take`` would return at once."""
        return size <= self._free and not self._waiting

    async def take(self, size: int) -> None:
        """Take bytes, as soon as they are free.

        Raises:
            TimeoutError: they were not free within ``patience_s``.
        """
        if self.has(size):
            self._free -= size
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, granted))
        try:
            async with asyncio.timeout(self._patience_s):
                await granted
        except (asyncio.CancelledError, TimeoutError):
            if granted.cancelled():
                self._grant()
            else:
                self.give_back(size)
            raise

    def give_back(self, size: int) -> None:
        """Return bytes."""
        self._free += size
        self._grant()

    def _grant(self) -> None:
        while self._waiting and (self._waiting[0][1].cancelled() or self._waiting[0][0] <= self._free):
            size, granted = self._waiting.popleft()
            if not granted.cancelled():
                self._free -= size
                granted.set_result(None)


class TurnMedia:
    """The pictures of one turn: fetched for the first request that needs them, freed when the context ends."""

    def __init__(self, allowance: Allowance, channel: Channel, conversation: str) -> None:
        self._allowance = allowance
        self._channel = channel
        self._conversation = conversation
        self._held = 0  # of the allowance
        self._found: dict[str, bytes] = {}
        self._missing: dict[str, str] = {}  # the text in place of each missing picture

    async def __aenter__(self) -> TurnMedia:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._free_all()

    async def load(self, messages: Sequence[Message]) -> list[Message]:
        """The messages of a request, with contents."""
        recent: dict[str, Media] = {}
        for media in _recent(messages):
            recent.setdefault(media.ref, media)
        wanted = [media for media in recent.values() if media.ref not in self._missing][:MOST]
        refs = {media.ref for media in wanted}
        self._miss(recent.keys() - refs, UNFIT)
        if not refs <= self._found.keys():
            await self._fetch(wanted)
        return self._filled(messages)

    def describe(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The messages for the history: references, with type and size of the contents."""
        return tuple(
            _with_parts(message, tuple(self._describe(part) for part in message.parts)) for message in messages
        )

    async def _fetch(self, wanted: Sequence[Media]) -> None:
        """Fetch missing pictures in parallel.

        Args:
            wanted: the newest first.
        """
        refs = [media.ref for media in wanted]
        try:
            await self._reserve(wanted)
        except TimeoutError:
            log.warning("media.no_room", pictures=len(refs))
            self._miss(set(refs) - self._found.keys(), BUSY)
            return
        arriving = _Arriving(refs, self._found, self._held)
        async with asyncio.TaskGroup() as group:
            for media in wanted:
                if media.ref not in self._found:
                    group.create_task(self._receive(media, arriving))
        self._found = arriving.contents()
        self._miss(arriving.evicted, UNFIT)
        self._miss(set(refs) - self._found.keys(), GONE)
        self._shrink()

    async def _reserve(self, wanted: Sequence[Media]) -> None:
        """Take what these pictures may need of the allowance. Free everything before waiting, against deadlocks.

        Raises:
            TimeoutError: other turns hold it for too long.
        """
        sizes = (len(self._found.get(media.ref, b"")) or media.size or MOST_BYTES for media in wanted)
        most = min(sum(sizes), MOST_BYTES)
        if self._held and not self._allowance.has(most - self._held):
            self._free_all()
        if (more := most - self._held) > 0:
            await self._allowance.take(more)
            self._held += more

    async def _receive(self, media: Media, arriving: _Arriving) -> None:
        take = partial(arriving.take, media.ref)
        arriving.end(media.ref, is_whole=await self._channel.fetch(self._conversation, media, take))

    def _miss(self, refs: Iterable[str], text: str) -> None:
        """Replace pictures by a text until the turn ends; the first text of a picture stays."""
        for ref in refs:
            self._found.pop(ref, None)
            self._missing.setdefault(ref, text)

    def _shrink(self) -> None:
        """Return the unused part of the allowance."""
        size = sum(map(len, self._found.values()))
        self._allowance.give_back(self._held - size)
        self._held = size

    def _free_all(self) -> None:
        self._found.clear()
        self._shrink()

    def _filled(self, messages: Sequence[Message]) -> list[Message]:
        """The messages with contents or texts. A picture that occurs twice gets its contents where it is newest."""
        unused = dict(self._found)
        filled = []
        for message in reversed(messages):
            parts = [self._content(part, unused) for part in reversed(message.parts)]
            filled.append(_with_parts(message, tuple(reversed(parts))))
        return filled[::-1]

    def _content(self, part: Part, unused: dict[str, bytes]) -> Part:
        if not isinstance(part, Media):
            return part
        if data := unused.pop(part.ref, b""):
            return replace(self._describe(part), data=data)
        text = REPEATED if part.ref in self._found else self._missing.get(part.ref, EARLIER)
        return Text(text.format(part.mime.partition("/")[0])) if text else part

    def _describe(self, part: Part) -> Part:
        if not isinstance(part, Media) or not (data := self._found.get(part.ref)):
            return part
        return replace(part, mime=mime_of(data) or part.mime, size=len(data))


class _Arriving:
    """Pictures while they are fetched. When they exceed their size, the oldest picture is evicted.

    Args:
        refs: of all wanted pictures, the newest first.
        found: contents that were fetched before.

    Attributes:
        evicted: refs of evicted pictures.
    """

    def __init__(self, refs: Iterable[str], found: Mapping[str, bytes], size: int) -> None:
        self._pieces = {ref: [found[ref]] if ref in found else [] for ref in refs}
        self._left = size - sum(map(len, found.values()))
        self.evicted: set[str] = set()

    def take(self, ref: str, piece: bytes) -> bool:
        """Add a piece; False if its picture is evicted."""
        if ref in self._pieces:
            self._pieces[ref].append(piece)
            self._left -= len(piece)
        while self._left < 0:
            oldest, pieces = self._pieces.popitem()
            self._left += sum(map(len, pieces))
            self.evicted.add(oldest)
        return ref in self._pieces

    def end(self, ref: str, *, is_whole: bool) -> None:
        """Join the pieces of a picture, or drop them if it is not whole."""
        if pieces := self._pieces.get(ref):
            content = b"".join(pieces) if is_whole else b""
            self._left += sum(map(len, pieces)) - len(content)
            self._pieces[ref] = [content]

    def contents(self) -> dict[str, bytes]:
        """The contents by ref."""
        return {ref: pieces[0] for ref, pieces in self._pieces.items() if pieces and pieces[0]}


def _recent(messages: Sequence[Message]) -> Iterator[Media]:
    """The media of this turn and of the newest turns before it, newest first."""
    answers = 0
    for message in reversed(messages):
        answers += message.is_answer
        if answers > EARLIER_TURNS:
            return
        yield from (part for part in reversed(message.parts) if isinstance(part, Media))


def mime_of(data: bytes) -> str:
    """The MIME type of an image by its first bytes; empty for types that models do not read."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in (b"heic", b"heix", b"mif1"):
        return "image/heic"
    return next((mime for start, mime in MIMES.items() if data.startswith(start)), "")


def _with_parts(message: Message, parts: tuple[Part, ...]) -> Message:
    return message if parts == message.parts else replace(message, parts=parts)
