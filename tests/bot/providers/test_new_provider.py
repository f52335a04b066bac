"""A new provider is an entry in the registry: its variables, its secret, its retries and the agent
come with it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import pytest
from pydantic import BaseModel, SecretStr

from bot.agent.loop import Agent
from bot.agent.turn import Turn, TurnContext
from bot.errors import SettingsError
from bot.providers import (
    MediaSupport,
    ModelResponse,
    Provider,
    Request,
    StopReason,
    StreamEvent,
    replay,
)
from bot.providers.registry import PROVIDERS, check_models, model_secrets, open_model, open_models
from bot.providers.shared.entry import Options, ProviderEntry
from bot.settings import load
from bot.settings.types import Secret
from bot.telemetry import Metrics
from bot.transcript import Text, ToolCall
from tests.bot.pipeline.tool_rounds import Diary
from tests.bot.providers.asking import model, user
from tests.fakes.tools import Echo, tool_map


class ParrotConfig(BaseModel):
    """What a parrot wants: variables that no settings know of."""

    parrot_api_key: Secret = SecretStr("")
    parrot_greeting: str = "Hello"


class Parrot:
    """Calls the echo once, then says what came back."""

    name = "parrot"
    window = 0
    searches = False
    media = MediaSupport()

    def __init__(self, config: ParrotConfig, model: str, options: Options) -> None:
        self.model = model
        self._config = config
        self._options = options

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """One call, or one sentence."""
        newest = request.messages[-1]
        results = newest.results
        spoken = Text(f"{self._config.parrot_greeting}, {results[0].response}") if results else None
        message = model(spoken or ToolCall("c1", "echo", {"city": newest.text}))
        reason: StopReason = "end_turn" if spoken else "tool_use"
        for event in replay(ModelResponse(message, reason, model=self.model)):
            yield event

    async def check(self) -> str:
        """What the doctor is told."""
        return f"{self.model} sits on its perch for {self._options.asker}"

    async def aclose(self) -> None:
        """Nothing to give back."""


def open_parrot(config: ParrotConfig, model: str, options: Options) -> Provider:
    """As a provider's folder has it."""
    return Parrot(config, model, options)


REGISTRY = (
    *PROVIDERS,
    ProviderEntry("parrot", ParrotConfig, open_parrot, needs=("PARROT_API_KEY",)),
)


async def test_the_agent_talks_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through retries and a tool, with a variable of its own; nothing but the registry was told."""
    for variable, value in {
        "MODEL": "parrot:grey",
        "PARROT_API_KEY": "seed",
        "PARROT_GREETING": "Ahoy",
    }.items():
        monkeypatch.setenv(variable, value)
    diary = Diary({})
    place = TurnContext("console:test", "", "en", "UTC", diary)
    turn = Turn("turn_1", place, [], [user("Kyoto")], diary, time.monotonic() + 30)
    async with open_models(load(), Metrics(), REGISTRY) as provider:
        await Agent(provider, tool_map(Echo()), "SYSTEM", Metrics()).run(turn)
    assert turn.answer is not None
    assert turn.answer.text.startswith("Ahoy, {")
    assert "Kyoto" in turn.answer.text


async def test_the_doctor_asks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a fallback too, under the variable that names it."""
    monkeypatch.setenv("FALLBACK_MODELS", "parrot:grey")
    monkeypatch.setenv("PARROT_API_KEY", "seed")
    async with open_model(load(), "parrot:grey", REGISTRY) as provider:
        assert await provider.check() == "grey sits on its perch for FALLBACK_MODELS"


def test_it_is_refused_without_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is named, and the log is told what to strike out once it is set."""
    monkeypatch.setenv("MODEL", "parrot:grey")
    with pytest.raises(
        SettingsError,
        match=r"^PARROT_API_KEY: MODEL asks for parrot:grey; set this, or name another",
    ):
        check_models(load(), REGISTRY)
    monkeypatch.setenv("PARROT_API_KEY", "seed")
    check_models(load(), REGISTRY)
    assert "seed" in model_secrets(load(), REGISTRY)
