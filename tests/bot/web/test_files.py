"""``/files/…``: whoever has a signed name gets the file, with harmless headers; nobody gets
anything else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr
from redis.asyncio import Redis
from starlette.applications import Starlette

from bot.store import FileOwner, Store, open_store
from bot.transcript import FileRef
from bot.web.files import SignedFiles

PNG = b"\x89PNG\r\n\x1a\nrest"
ID = "0123456789abcdef" * 2
FILE = FileRef(ID, "weather.png", "image/png", "20 °C", len(PNG))
OWNER = FileOwner("line:b:user:U1", "U1")
NO_SECRET = SecretStr("")
PUBLIC = "https://kaiwa.example"


@pytest.fixture
async def signed(store: Store) -> SignedFiles:
    """The files of a store with one in it; SECRET_KEY is empty."""
    await store.files.keep(ID, OWNER, "image/png", PNG)
    return SignedFiles(store.files, NO_SECRET, PUBLIC)


@pytest.fixture
async def client(signed: SignedFiles) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who has no token."""
    transport = httpx.ASGITransport(Starlette(routes=[signed.route()]))
    async with httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test") as client:
        yield client


async def test_a_signed_name_gets_the_file(signed: SignedFiles, client: httpx.AsyncClient) -> None:
    """To be kept by the browser until the file's day is over, and run by none."""
    response = await client.get(await signed.path(FILE))
    assert (response.status_code, response.content) == (200, PNG)
    headers = response.headers
    assert headers["content-type"] == "image/png"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["cache-control"] in (
        "private, max-age=86400, immutable",
        "private, max-age=86399, immutable",
    )
    assert (await client.post(await signed.path(FILE))).status_code == 405


async def test_other_names_get_nothing(
    signed: SignedFiles, client: httpx.AsyncClient, store: Store
) -> None:
    """No listing, no forged name, none with another ending, and no file of a type that browsers
    might run."""
    path = await signed.path(FILE)
    await store.files.keep("f" * 32, OWNER, "text/html", b"<script>")
    html = (
        await signed.path(FileRef("f" * 32, "x.png", "image/png", "")),
        "/files/",
        f"/files/{ID}.png",
    )
    flipped = path.replace(path[-5], "0" if path[-5] != "0" else "1")
    for forged in (
        *html,
        flipped,
        path.replace(".png", ".svg"),
        path.upper(),
        f"{path}/",
        f"/files/{ID * 2}.png",
    ):
        response = await client.get(forged)
        assert (response.status_code, "script" in response.text) in ((404, False), (307, False)), (
            forged
        )


async def test_a_file_that_is_gone_is_not_found(
    signed: SignedFiles, client: httpx.AsyncClient, store: Store
) -> None:
    """And must not be asked for from a cache."""
    path = await signed.path(FILE)
    await store.files.erase("line", {"U1"})
    response = await client.get(path)
    assert (response.status_code, response.headers["cache-control"]) == (404, "no-store")
    assert await signed.read(FILE) is None


async def test_processes_agree_on_names(signed: SignedFiles, store: Store) -> None:
    """By SECRET_KEY, or by the key in the store; a different secret makes different names."""
    other = SignedFiles(store.files, NO_SECRET, "")
    assert await other.path(FILE) == await signed.path(FILE)
    secrets = [SignedFiles(store.files, SecretStr(secret), "") for secret in ("one", "one", "two")]
    names = [await files.path(FILE) for files in secrets]
    assert names[0] == names[1] != names[2]
    assert await signed.path(FILE) not in names


async def test_addresses_for_everybody(signed: SignedFiles, store: Store) -> None:
    """With PUBLIC_URL only, and of stored files only."""
    assert await signed.url(FILE) == f"{PUBLIC}{await signed.path(FILE)}"
    assert await SignedFiles(store.files, NO_SECRET, "").url(FILE) == ""
    lost = FileRef("", "weather.png", "image/png", "20 °C")
    assert (await signed.path(lost), await signed.url(lost), await signed.read(lost)) == (
        "",
        "",
        None,
    )
    assert await signed.read(FILE) == PNG


async def test_without_the_store_names_wait(redis: Redis) -> None:
    """A forged name asks the store for nothing once the key is known."""
    async with open_store("redis://127.0.0.1:1", history_days=30) as away:
        signed = SignedFiles(away.files, SecretStr("s"), "")
        transport = httpx.ASGITransport(Starlette(routes=[signed.route()]))
        async with httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test") as client:
            assert (await client.get(await signed.path(FILE))).status_code == 503
            assert (await client.get(f"/files/{ID * 2}.png")).status_code == 404
