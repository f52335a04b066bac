"""A Redis behind TLS whose certificate nobody known has signed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from bot.errors import StoreUnavailable
from bot.store import open_store
from bot.store.clients import TRUST_IT
from tests.certificates import write_certificate


class TlsServer(NamedTuple):
    """Its address without a scheme, and its certificate."""

    address: str
    certificate: Path


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes, to its end."""
    while piece := await reader.read(65_536):
        writer.write(piece)
        await writer.drain()
    writer.close()


@pytest.fixture
async def tls_server(valkey_url: str, tmp_path: Path) -> AsyncIterator[TlsServer]:
    """TLS in front of the bundled Valkey."""
    certificate = write_certificate(tmp_path / "redis.pem", "localhost")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_unix_connection(
            valkey_url.removeprefix("unix://")
        )
        await asyncio.gather(
            copy(reader, inner_writer), copy(inner_reader, writer), return_exceptions=True
        )

    async with await asyncio.start_server(serve, "localhost", 0, ssl=context) as server:
        yield TlsServer(f"localhost:{server.sockets[0].getsockname()[1]}", certificate)


@pytest.mark.parametrize("scheme", ["rediss", "rediss+cluster"])
async def test_a_certificate_that_cannot_be_checked_is_named(
    tls_server: TlsServer, scheme: str
) -> None:
    """With the two ways out, and not as a Redis that does not run."""
    async with open_store(f"{scheme}://{tls_server.address}", history_days=30) as store:
        with pytest.raises(StoreUnavailable) as away:
            await store.ping()
    assert str(away.value) == "its certificate is not accepted: self-signed certificate"
    assert away.value.fix == TRUST_IT


@pytest.mark.parametrize("option", ["ssl_ca_certs={certificate}", "ssl_cert_reqs=none"])
async def test_both_ways_out_are_ways(tls_server: TlsServer, option: str) -> None:
    """As they are printed."""
    url = f"rediss://{tls_server.address}?{option.format(certificate=tls_server.certificate)}"
    async with open_store(url, history_days=30) as store:
        await store.ping()
    assert option.partition("=")[0] in TRUST_IT


async def test_a_server_that_is_away_is_another_matter() -> None:
    """Then the address may be wrong."""
    async with open_store("rediss://localhost:1", history_days=30) as store:
        with pytest.raises(StoreUnavailable) as away:
            await store.ping()
    assert away.value.fix == "check REDIS_URL, and that Redis runs"
