"""Ollama loads a model with the first request for it, which may take longer than anybody waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.errors import TryAgain
from bot.providers.ollama.client import Ollama
from bot.providers.shared.entry import Options
from tests.bot.providers.asking import ask, user
from tests.fakes.ollama import OllamaFake, ollama_fake
from tests.fakes.streams import Outgoing
from tests.waiting import until

MODEL = "qwen3"


@pytest.fixture
def fake() -> Iterator[OllamaFake]:
    """The server."""
    with ollama_fake() as fake:
        yield fake


async def test_a_model_that_takes_long_to_load_is_there_for_the_next_message(
    fake: OllamaFake,
) -> None:
    """Ollama stops loading for a request that is given up, so that it is asked for the model
    alone."""
    fake.stall()
    provider = Ollama(MODEL, fake.base_url, Options(request_timeout_s=0.05), context_tokens=9)
    with pytest.raises(TryAgain) as raised:
        await ask(provider, [user("?")])
    await until(lambda: len(fake.chats) == 2)
    await provider.aclose()
    assert "the next message finds it loaded" in raised.value.cause
    assert fake.chats[1] == {
        "model": MODEL,
        "messages": [],
        "options": {"num_predict": 2048, "num_ctx": 9},
    }


async def test_a_model_is_loaded_once_at_a_time(fake: OllamaFake) -> None:
    """However many give up waiting; what is still under way at the end is left."""
    fake.loads = Outgoing(end="stalled")
    provider = Ollama(MODEL, fake.base_url, Options(request_timeout_s=0.05))
    for _ in range(2):
        fake.stall()
        with pytest.raises(TryAgain):
            await ask(provider, [user("?")])
        await until(lambda: [] in [body["messages"] for body in fake.chats])
    await provider.aclose()
    await until(lambda: fake.streaming == 0)
    assert [body["messages"] for body in fake.chats].count([]) == 1
