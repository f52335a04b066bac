"""Prompts and declarations, which are kept once for all requests that hold them."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from msgspec import Raw
from msgspec.json import Decoder

from bot import log as logging
from bot.features.traces.records import Piece
from bot.features.traces.store import Traces
from bot.transcript import UNREADABLE

MOST_FILES = 256 * 1024  # bytes of the files within a request that are kept
SHORTEST_PROMPT = 512  # bytes of a part of a request that is kept once, for all that have it
PROMPTS = 8  # such parts that a process remembers
# Parts of a request that are people's words, by vendor.
PEOPLES = ("contents", "messages", "input", "prompt")
_members = Decoder(dict[str, Raw]).decode


class Prompts:
    """What requests of this process have in common.

    Args:
        hours: for which words are kept.
    """

    def __init__(self, traces: Traces, hours: Callable[[], int]) -> None:
        self._traces = traces
        self._hours = hours
        self._digests: dict[bytes, str] = {}
        self._kept_at: dict[str, float] = {}  # by digest, when a prompt was sent to the store

    def pieces(self, body: tuple[bytes, ...]) -> tuple[Piece, ...]:
        """The pieces of a request's body as they are kept."""
        if len(body) == 1:
            self._learn(body[0])
        pieces: list[Piece] = []
        left = MOST_FILES
        for place, data in enumerate(body):
            if place % 2 == 0:
                pieces += self._without(logging.bytes_without_secrets(data))
            elif len(data) <= left:
                pieces.append(("file", data))
                left -= len(data)
            else:
                pieces.append(("left_out", str(len(data)).encode()))
        return tuple(pieces)

    def keep(self, prompt: bytes) -> str:
        """Keep what no body holds, without secrets; its digest."""
        struck = logging.bytes_without_secrets(prompt)
        digest = self._digest(struck)
        self._send(digest, struck)
        return digest

    def _learn(self, body: bytes) -> None:
        """Remember the parts of a body that hold nobody's words: prompt and declarations."""
        try:
            members = _members(body)
        except UNREADABLE:
            return
        for name, value in members.items():
            prompt = bytes(value)
            if name not in PEOPLES and len(prompt) >= SHORTEST_PROMPT:
                self._digest(prompt)

    def _digest(self, prompt: bytes) -> str:
        """The digest of what many requests share, which is remembered."""
        if prompt not in self._digests:
            while len(self._digests) >= PROMPTS:
                del self._digests[next(iter(self._digests))]
            self._digests[prompt] = sha256(prompt).hexdigest()[:32]
        return self._digests[prompt]

    def _without(self, data: bytes) -> list[Piece]:
        """JSON with digests in place of the prompts in it, which are kept once."""
        pieces: list[Piece] = [("json", data)]
        for prompt, digest in self._digests.items():
            parted: list[Piece] = []
            for kind, piece in pieces:
                before, found, after = (
                    piece.partition(prompt) if kind == "json" else (piece, b"", b"")
                )
                if not found:
                    parted.append((kind, piece))
                    continue
                self._send(digest, prompt)
                parted += [("json", before), ("shared", digest.encode()), ("json", after)]
            pieces = parted
        return [one for one in pieces if one[1]]

    def _send(self, digest: str, prompt: bytes) -> None:
        """Keep a prompt for as long as words that begin now, and some more."""
        hours, now = self._hours(), time.monotonic()
        if now - self._kept_at.get(digest, -math.inf) > hours * 900:
            keeping = self._traces.keep_prompt_later(digest, prompt, hours + 1 + hours // 2)
            keeping.add_done_callback(partial(self._note_kept, digest, now))

    def _note_kept(self, digest: str, at: float, kept: asyncio.Future[list[Any]]) -> None:
        if not kept.cancelled() and kept.exception() is None:
            self._kept_at[digest] = at
