"""The page's and the terminal's channel, connected to the histories and cards that it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import chain

from bot.app.services import ProcessServices
from bot.channels import Accept, ButtonCard
from bot.channels.console.channel import Console, Reads
from bot.pipeline.feature import Feature
from bot.pipeline.history import read_history
from bot.pipeline.journal import read_open_card
from bot.pipeline.services import Features
from bot.transcript import Message
from bot.web.files import SignedFiles, StoredUploads


def make_console(
    services: ProcessServices, accept: Accept, files: SignedFiles, features: Features
) -> Console:
    """The channel of page and terminal."""
    store = services.store

    async def read_cards(conversation: str, messages: Sequence[Message]) -> list[ButtonCard]:
        asked = features.each(Feature.cards, conversation, messages)
        shown, waits = await asyncio.gather(asked, read_open_card(store, conversation))
        return [*chain(*shown), *([waits] if waits else [])]

    reads = Reads(
        partial(read_history, store),
        read_cards,
        files,
        title=services.agent.tools.title,
    )
    uploads = StoredUploads(store.files)
    language = services.settings.language
    return Console(accept, store.live, reads, services.texts, language=language, uploads=uploads)
