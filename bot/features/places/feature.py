"""Places: what an operator's file sets for a conversation and a person counts for turns that begin
later; which tools are offered counts at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import structlog

from bot.agent.loop import Configuration
from bot.channels import InboundEvent, PlaceSettings
from bot.clock import DAY_S, now_ms
from bot.errors import SettingsError, StoreUnavailable
from bot.features.places.book import PlaceBook
from bot.features.places.seen import GOOD, GOOD_S, SeenPlaces, Use
from bot.features.places.settings import Config
from bot.pipeline.feature import Feature
from bot.pipeline.services import Services
from bot.place_file import Sources, read_sources, unpack
from bot.prices import micros_of
from bot.store.keys import digest_of
from bot.telemetry.observed import Observe, ObservedStep, ResponseRead, guarded
from bot.transcript import UNREADABLE, encode
from toolset.offer.rules import Rule

log = structlog.stdlib.get_logger(__name__)

LOOK_S = 2.0  # between two looks at the file
Stamps = tuple[tuple[int, int, int], ...]


class Places(Feature):
    """The feature (``bot.pipeline.feature.Feature``), where there is a file.

    Args:
        path: of the file.
        fallbacks: see ``Config``.
    """

    def __init__(self, services: Services, path: Path, fallbacks: tuple[str, ...] = ()) -> None:
        self._services = services
        self._path = path
        self._fallbacks = fallbacks
        self._seen = SeenPlaces(services.store)
        self._book: PlaceBook | None = None
        self._stamps: Stamps = ()  # of what was read
        self._looked_at: Stamps = ()
        self._broken = ""  # why the file cannot be used
        self._looking: asyncio.Task[None] | None = None
        self.every = {DAY_S: self._keep_longer}

    async def open(self) -> None:
        """Read the file, and look at it again and again from now on.

        Raises:
            SettingsError: it is broken, and there is no earlier one.
        """
        await self._read()
        self._looking = asyncio.create_task(self._look_again())

    async def aclose(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()

    def settings_of(self, conversation: str, person: str) -> PlaceSettings | None:
        """What the file sets."""
        return self._book.settings(conversation, person) if self._book else None

    async def configure(self, conversation: str, event: InboundEvent) -> Configuration:
        """Persona and model for the turn; the tools are looked up when they are offered."""
        services, person = self._services, event.author_id
        self._seen.note_later(services.place(conversation), now_ms())
        found = services.settings_of(conversation, person)
        provider = services.model_of(conversation, person) if found.models else None
        return Configuration(
            found.persona,
            found.replaces_persona,
            provider,
            offers=(partial(self._offer, conversation),),
        )

    def observer(self, conversation: str, turn_id: str) -> Observe:
        """What counts the use of the conversation's place."""
        return guarded(partial(self._observe, conversation))

    def _observe(self, conversation: str, step: ObservedStep) -> None:
        if isinstance(step, ResponseRead):
            use = Use(step.usage.total, micros_of(step.model, step.usage))
            place = self._services.place(conversation)
            self._seen.add_later(self._services.days.today, place, use)

    async def forget_in(self, conversation: str, author_id: str | None) -> None:
        """Forget that somebody has written there."""
        await self._seen.forget(self._services.place(conversation))

    def _offer(self, conversation: str, person: str) -> Rule:
        return self._services.settings_of(conversation, person).offer

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
            except Exception:  # the next look may succeed
                log.exception("places.not_read")

    async def look(self) -> None:
        """Read the file if it is another one, and nobody has written it since the last look: what
        is half written may be without an error, and is never read."""
        if self._broken:
            about = digest_of(self._broken)
            await self._services.alerts.notice("places_broken", self._broken, about=about)
        before, now = self._looked_at, await asyncio.to_thread(_stamps, self._paths())
        self._looked_at = now
        # A persona file that is missing is not among those that are looked at.
        if now == before and (self._broken or now != self._stamps):
            await self._read()

    def _paths(self) -> Sequence[Path]:
        personas: Iterable[str] = self._book.sources.personas if self._book else ()
        return [self._path, *(self._path.parent / name for name in personas)]

    async def _read(self) -> None:
        """Read the file; where it is broken, take the last good one.

        Raises:
            SettingsError: there is none.
        """
        stamps = await asyncio.to_thread(_stamps, self._paths())
        try:
            sources = await asyncio.to_thread(read_sources, self._path)
            book = self._book
            if book is None or book.sources != sources:
                book = self._make(sources)
        except SettingsError as error:
            is_news, self._broken = error.fix != self._broken, error.fix
            if is_news:
                log.error("places.broken", cause=error.fix)
            await self._take_kept(error, is_news=is_news)
            return
        # Those of before the reading, so that no change is missed; where it names other personas
        # than before, it is read once more.
        self._broken, self._stamps = "", stamps
        self._take(book)
        self._services.store.kv.set_later(GOOD, encode(book.sources), GOOD_S)

    def _make(self, sources: Sources) -> PlaceBook:
        services = self._services
        book = PlaceBook(sources, services.defaults.bot_name, self._fallbacks)
        book.check_models(services.models)
        return book

    def _take(self, book: PlaceBook) -> None:
        before, self._book = self._book, book
        if before is book:
            return
        log.info("places.read", digest=book.sources.digest, places=len(book.places))
        accounts = [[table.values for table in one.file.accounts] for one in (before, book) if one]
        if before and accounts[0] != accounts[1]:
            log.warning("places.accounts_changed", fix="restart Kaiwa")

    async def _take_kept(self, error: SettingsError, *, is_news: bool) -> None:
        """Take the last good file that any process has read; see ``_read``."""
        try:
            kept = await self._services.store.kv.get(GOOD)
            sources = unpack(kept) if kept else None
            if sources and (self._book is None or self._book.sources != sources):
                self._take(self._make(sources))
        except (SettingsError, StoreUnavailable, *UNREADABLE) as failure:
            if is_news:
                log.warning("places.none_kept", cause=str(failure))
        if self._book is None:
            raise error

    async def _keep_longer(self) -> None:
        """Keep the file for long from now on, unless another process has read another one since."""
        if self._book and not self._broken:
            kv, kept = self._services.store.kv, encode(self._book.sources)
            if await kv.get(GOOD) in (None, kept):
                await kv.set(GOOD, kept, GOOD_S)


def _stamps(paths: Iterable[Path]) -> Stamps:
    """What changes when one of the files does."""
    found = []
    for path in paths:
        try:
            state = path.stat()
        except OSError:
            found.append((0, 0, 0))
        else:
            found.append((state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(found)


def make_feature(services: Services, config: Config) -> Feature:
    """The feature; without a file one that does nothing."""
    if config.places is None:
        return Feature()
    return Places(services, config.places, config.fallback_models)


FEATURE = make_feature
