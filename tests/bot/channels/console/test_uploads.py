"""Files that people add to their messages on the page: what is taken, who gets it back, and how
long it stays."""

from __future__ import annotations

import httpx
import pytest

from bot.channels import InboundEvent, Upload
from bot.channels.console.channel import Console, Reads
from bot.channels.console.inbound import MOST_UPLOAD
from bot.file_types import MIB, PDF, TEXT
from bot.store import Store
from bot.transcript import Media, Message
from bot.web.files import StoredUploads
from tests.bot.harness import texts
from tests.fakes.live import LocalLive
from tests.fakes.mcp_server import PNG
from tests.fakes.site import Site

HERE, THERE = "/console/conversation", "/console/another_one"
FILE = "/files/file_0001"
CHAT = "console:conversation"


async def test_a_picture_is_served_to_its_conversation_alone(client: httpx.AsyncClient) -> None:
    """With its real type, which a browser does not guess, and without the right to run anything."""
    stored = await client.put(
        HERE + FILE, params={"name": "cat.jpg", "type": "image/jpeg"}, content=PNG
    )
    assert (stored.status_code, stored.json()) == (201, {"mime": "image/png", "size": len(PNG)})
    served = await client.get(HERE + FILE)
    assert (served.status_code, served.content, served.headers["content-type"]) == (
        200,
        PNG,
        "image/png",
    )
    assert served.headers["x-content-type-options"] == "nosniff"
    assert served.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert [
        (await client.get(path)).status_code for path in (THERE + FILE, HERE + "/files/file_0002")
    ] == [404, 404]


async def test_only_pictures_are_served(site: Site, client: httpx.AsyncClient) -> None:
    """The model reads a web page as text; nobody's browser runs it."""
    stored = await client.put(
        HERE + FILE, params={"name": "a.html", "type": "text/html"}, content=b"<script>"
    )
    assert stored.json() == {"mime": TEXT, "size": 8}
    assert site.uploads.stored == {(CHAT, "file_0001"): Upload(TEXT, b"<script>")}
    assert (await client.get(HERE + FILE)).status_code == 404


@pytest.mark.parametrize(
    ("name", "content", "status", "sentence"),
    [
        ("a.exe", b"MZ", 415, "a.exe: files of this kind cannot be read."),
        ("a.png", b"", 400, "a.png is empty, damaged"),
        ("a.pdf", b"<html>", 400, "a.pdf is empty, damaged"),
        ("a.md", b"x" * (2 * MIB + 1), 413, "a.md is too large: 2 MB are the limit."),
        ("a.pdf", b"%PDF-" + b"x" * MOST_UPLOAD, 413, "a.pdf is too large: 8 MB are the limit."),
        ("\u202eexe.png", b"MZ", 400, "exe.png is empty, damaged"),
    ],
)
async def test_what_is_not_taken_is_said(
    site: Site, client: httpx.AsyncClient, name: str, content: bytes, status: int, sentence: str
) -> None:
    """In words for whoever chose the file; nothing of it is stored."""
    refused = await client.put(HERE + FILE, params={"name": name}, content=content)
    assert refused.status_code == status
    assert refused.json()["error"].startswith(sentence)
    assert site.uploads.stored == {}


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null"])
async def test_pages_of_other_sites_upload_nothing(
    site: Site, client: httpx.AsyncClient, origin: str
) -> None:
    """The guard stands before the endpoint."""
    refused = await client.put(
        HERE + FILE, params={"name": "a.png"}, content=PNG, headers={"Origin": origin}
    )
    assert (refused.status_code, site.uploads.stored) == (403, {})


@pytest.mark.parametrize(
    "file",
    [
        {"ref": "../../etc", "mime": "image/png"},
        {"ref": "file_0001", "mime": "application/x-msdownload"},
        {"ref": "file_0001", "mime": "image/png", "size": -1},
        {"ref": "file_0001", "mime": "image/png", "name": "x" * 256},
    ],
)
async def test_a_message_names_files_properly(
    site: Site, client: httpx.AsyncClient, file: dict[str, object]
) -> None:
    """What the page never sends is refused."""
    refused = await client.post(f"{HERE}/messages", json={"text": "", "files": [file]})
    assert (refused.status_code, site.waiting) == (400, 0)


async def fetched(console: Console, conversation: str) -> list[bytes]:
    """What the console passes on of the file."""
    pieces: list[bytes] = []

    def take(piece: bytes) -> bool:
        pieces.append(piece)
        return True

    is_whole = await console.fetch(conversation, Media("file_0001", PDF), take)
    assert is_whole == bool(pieces)
    return pieces


async def take_nothing(conversation: str, arrival: InboundEvent) -> bool:
    """Accepts no message."""
    return False


async def no_history(conversation: str) -> list[Message]:
    """Nothing was said."""
    return []


async def test_the_store_holds_a_file_for_its_conversation_until_it_is_forgotten(
    store: Store,
) -> None:
    """Another conversation that names it finds none; what is known of a person includes it."""
    uploads = StoredUploads(store.files)
    console = Console(take_nothing, LocalLive(), Reads(no_history), texts(), "en", uploads)
    await uploads.keep(CHAT, "file_0001", Upload(PDF, b"%PDF-1"))
    assert await fetched(console, CHAT) == [b"%PDF-1"]
    assert await fetched(console, "console:another_one") == []
    await store.files.erase("console", ["conversation"])
    assert await fetched(console, CHAT) == []
