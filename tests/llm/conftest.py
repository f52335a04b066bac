"""A real model on this machine: as it comes, and with a chat template that knows tools."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.llm.running import WITH_TOOLS, llama


@pytest.fixture(scope="session")
def smollm() -> Iterator[str]:
    """The base URL of a server with the model as it comes: it knows no tools."""
    pytest.importorskip("xllamacpp", reason="make test-llm installs it")
    with llama() as base_url:
        yield base_url


@pytest.fixture(scope="session")
def smollm_with_tools() -> Iterator[str]:
    """The base URL of a server whose template shows the model how to call tools."""
    pytest.importorskip("xllamacpp", reason="make test-llm installs it")
    with llama(WITH_TOOLS) as base_url:
        yield base_url
