"""Files in memory: of tool calls (``bot.channels.Files``), and of messages on the page
(``bot.channels.Uploads``)."""

from __future__ import annotations

from bot.channels import Upload
from bot.errors import StoreUnavailable
from bot.transcript import FileRef

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 100
CHART = FileRef("f" * 32, "weather.png", "image/png", "09:00 · 20 °C", len(PNG))


class LocalFiles:
    """The files.

    Attributes:
        stored: contents by id.
        public_url: PUBLIC_URL.
        away: nothing answers.
    """

    def __init__(self, public_url: str = "https://kaiwa.example") -> None:
        self.stored = {CHART.id: PNG}
        self.public_url = public_url
        self.away = False

    async def read(self, file: FileRef) -> bytes | None:
        if self.away:
            raise StoreUnavailable("away")
        return self.stored.get(file.id)

    async def path(self, file: FileRef) -> str:
        if self.away:
            raise StoreUnavailable("away")
        return f"/files/{file.id}{'0' * 32}.png" if file.id else ""

    async def url(self, file: FileRef) -> str:
        path = await self.path(file)
        return f"{self.public_url}{path}" if path and self.public_url else ""


class LocalUploads:
    """The files of messages.

    Attributes:
        stored: by conversation and ref.
    """

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str], Upload] = {}

    async def keep(self, conversation: str, ref: str, upload: Upload) -> None:
        self.stored[conversation, ref] = upload

    async def read(self, conversation: str, ref: str) -> Upload | None:
        return self.stored.get((conversation, ref))
