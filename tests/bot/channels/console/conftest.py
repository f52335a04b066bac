"""The page's site, without a model, and a visitor."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.fakes.site import Site


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site().open() as site:
        yield site


@pytest.fixture
async def client(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=site.url) as client:
        yield client
