"""Attachments: documents that people send are read as text, and pictures that tools make are kept
for a day."""

from __future__ import annotations

from bot.agent.turn import KeptFiles
from bot.features.attachments.reader import FileReader
from bot.features.attachments.tool_files import ToolFiles
from bot.pipeline.feature import Feature, TurnRequest
from bot.pipeline.services import Services


class Attachments(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._files = services.store.files
        self._reader = FileReader()
        self.tool_stores = {KeptFiles: self._of_turn}

    async def read_file(self, person: str, mime: str, data: bytes) -> str:
        """The text of a document, a PDF or a text file."""
        return await self._reader.read(person, mime, data)

    def _of_turn(self, request: TurnRequest) -> ToolFiles:
        return ToolFiles(self._files, request.conversation, request.author.id)


FEATURE = Attachments
