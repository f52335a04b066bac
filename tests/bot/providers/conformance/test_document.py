"""``docs/providers.md`` is true: its examples are settings that work, and its causes are what the
log says."""

from __future__ import annotations

import re

import pytest

from bot.ops.variable_names import own_variables
from bot.providers.registry import open_model
from bot.settings import load
from tests.project import ROOT

DOCUMENT = (ROOT / "docs" / "providers.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```\n(MODEL=.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
async def test_an_example_names_models_that_can_be_opened(
    example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is missing, and no variable is misspelt."""
    given = dict(line.split("=", 1) for line in example.splitlines())
    for name, value in given.items():
        monkeypatch.setenv(name, value.replace("…", "test-key"))
    settings = load()
    assert set(given) <= own_variables()
    for name in settings.models:
        async with open_model(settings, name) as model:
            assert f"{model.name}:{model.model}" == name


def test_every_provider_has_an_example() -> None:
    """And the servers people ask about have one as well."""
    assert {re.match(r"MODEL=(\w+):", example)[1] for example in EXAMPLES} == {  # type: ignore[index]
        *("anthropic", "gemini", "json", "ollama", "openai", "vertex")
    }
    for server in ("vLLM", "llama.cpp", "LM Studio", "Groq", "OpenRouter"):
        assert f"### {server}\n\n```\nMODEL=openai:" in DOCUMENT
