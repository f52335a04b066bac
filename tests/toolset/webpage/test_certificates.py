"""Over https the certificate is that of the name that was asked for, though the connection goes to
an address."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.certificates import write_certificate
from tests.fakes.pages import PUBLIC, HostileSite, hostile_site
from toolset.tool import ToolError
from toolset.webpage.fetch import PageFetcher

SITE = "page.example"
UNREACHABLE = "the website cannot be reached, or has no valid certificate"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for the site's name that signs itself, with its key."""
    return write_certificate(tmp_path / "site.pem", SITE)


@pytest.fixture
def asked_for() -> list[str]:
    """The names that clients ask for as TLS begins."""
    return []


@pytest.fixture
async def site(certificate: Path, asked_for: list[str]) -> AsyncIterator[HostileSite]:
    """It serves the same at two names, with a certificate for one."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)

    def note(
        connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, context: ssl.SSLContext
    ) -> None:
        asked_for.append(name or "")

    tls.sni_callback = note
    async with hostile_site(tls) as site:
        for host in (SITE, "other.example", PUBLIC):
            site.page(host, "/", b"<p>hello", "text/html")
        site.redirect(SITE, "/elsewhere", "https://other.example/")
        yield site


@pytest.fixture
def fetcher(site: HostileSite, certificate: Path) -> PageFetcher:
    """It trusts the site's certificate."""
    return PageFetcher(
        site.resolve, site.network, lambda: ssl.create_default_context(cafile=str(certificate))
    )


async def test_the_name_is_asked_for_and_checked(
    site: HostileSite, fetcher: PageFetcher, asked_for: list[str]
) -> None:
    """At the address that was checked."""
    assert (await fetcher.fetch(f"https://{SITE}/")).body == b"<p>hello"
    assert (await fetcher.fetch(f"https://{SITE}/")).url == f"https://{SITE}/"
    assert asked_for == [SITE, SITE]
    assert site.connections == [(PUBLIC, 443)] * 2
    assert {request.host for request in site.requests} == {SITE}


@pytest.mark.parametrize(
    "url", ["https://other.example/", f"https://{PUBLIC}/", f"https://{SITE}/elsewhere"]
)
async def test_a_certificate_of_another_name_is_refused(
    site: HostileSite, fetcher: PageFetcher, url: str
) -> None:
    """Also after a redirect, and for a bare address."""
    with pytest.raises(ToolError, match=f"^{UNREACHABLE}$"):
        await fetcher.fetch(url)
    assert {request.host for request in site.requests} <= {SITE}


async def test_a_certificate_that_nobody_signed_is_refused(site: HostileSite) -> None:
    """By default only known authorities are trusted."""
    with pytest.raises(ToolError, match=f"^{UNREACHABLE}$"):
        await PageFetcher(site.resolve, site.network).fetch(f"https://{SITE}/")
    assert site.requests == []
