"""Models by their names: each built from its settings, and an SDK loaded only where it is
chosen."""

from __future__ import annotations

import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from bot.errors import SettingsError
from bot.providers import Provider
from bot.providers.registry import (
    PROVIDERS,
    Models,
    check_models,
    model_secrets,
    open_model,
    open_models,
    open_reviewers,
)
from bot.providers.scripted import Scripted
from bot.providers.shared.entry import Options, ProviderEntry
from bot.settings import load
from bot.telemetry import Metrics
from tests.fakes.openai import KEY, openai_fake
from tests.project import environment
from toolset.tool import NoConfig

SDKS = {"anthropic", "google.genai", "openai"}
EVERY_KEY = {
    "ANTHROPIC_API_KEY": "key",
    "GEMINI_API_KEY": "key",
    "GOOGLE_CLOUD_PROJECT": "project",
    "OPENAI_API_KEY": "key",
}
OPENING = """
import asyncio, sys
from bot.errors import SettingsError
from bot.telemetry import Metrics
from bot.providers.registry import open_models
from bot.settings import load
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # as if they were not installed
async def opened():
    async with open_models(load(), Metrics()):
        print(*sys.modules)
try:
    asyncio.run(opened())
except SettingsError as error:
    print(error)
"""


def opened(folder: Path, *missing: str, **variables: str) -> str:
    """What a new process prints that opens its models: the modules it has loaded, or why it
    cannot."""
    done = subprocess.run(
        [sys.executable, "-c", OPENING, *missing],
        cwd=folder,
        env=environment(**EVERY_KEY | variables),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_provider_has_a_name_of_its_own() -> None:
    """And is what a wrong name is answered with."""
    assert [entry.name for entry in PROVIDERS] == [
        *("gemini", "vertex", "openai", "json", "anthropic", "ollama", "demo")
    ]


@pytest.mark.parametrize("asker", ["MODEL", "FALLBACK_MODELS", "REVIEWERS"])
def test_an_unknown_provider_is_refused(monkeypatch: pytest.MonkeyPatch, asker: str) -> None:
    """By the variable that names it, with the names there are."""
    monkeypatch.setenv(asker, "nobody:small")
    names = "gemini, vertex, openai, json, anthropic, ollama"
    with pytest.raises(
        SettingsError, match=rf"^{asker}: write demo or PROVIDER:MODEL, .* one of {names}$"
    ):
        check_models(load())


@pytest.mark.parametrize("asker", ["MODEL", "FALLBACK_MODELS", "REVIEWERS"])
@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("gemini:gemini-flash-latest", "GEMINI_API_KEY"),
        ("vertex:gemini-flash-latest", "GOOGLE_CLOUD_PROJECT"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("json:small", "OPENAI_API_KEY"),
        ("anthropic:claude", "ANTHROPIC_API_KEY"),
    ],
)
def test_a_model_without_its_key_is_refused(
    monkeypatch: pytest.MonkeyPatch, asker: str, model: str, variable: str
) -> None:
    """Half a setting stops start-up rather than every conversation, or the one that needs the
    fallback."""
    monkeypatch.setenv(asker, model)
    with pytest.raises(SettingsError, match=rf"^{variable}: {asker} asks for {model}; set this"):
        check_models(load())


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "demo",
        "gemini:gemini-2.5-pro",
        "vertex:gemini-2.5-pro",
        "openai:gpt-5",
        "json:a/b",
        "anthropic:claude",
        "ollama:qwen3:4b",
    ],
)
async def test_a_model_is_what_its_name_says(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Provider before the first colon, model after it, whatever stands in it."""
    for variable, value in (EVERY_KEY | {"MODEL": name}).items():
        monkeypatch.setenv(variable, value)
    async with open_model(load(), name) as provider:
        assert f"{provider.name}:{provider.model}" in (name, "demo:demo")


async def test_keys_and_addresses_come_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first model is the chosen one, and the key that it is asked with is the variable's."""
    with openai_fake() as fake:
        for variable, value in {
            "MODEL": "openai:gpt-5-mini",
            "FALLBACK_MODELS": "json:small-local-model",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{fake.base_url}/v1",
        }.items():
            monkeypatch.setenv(variable, value)
        settings = load()
        async with open_models(settings, Metrics()) as provider:
            assert (provider.model, await provider.check()) == ("gpt-5-mini", "gpt-5-mini answers")
        async with open_model(settings, settings.models[1]) as provider:
            assert await provider.check() == "small-local-model answers"


async def test_reviewers_are_opened_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the names that the operator chose; their keys are struck out of the log too."""
    for variable, value in (
        EVERY_KEY | {"MODEL": "demo", "REVIEWERS": "openai:gpt-5,ollama:a,openai:gpt-5"}
    ).items():
        monkeypatch.setenv(variable, value)
    settings = load()
    async with open_reviewers(settings, Metrics()) as reviewers:
        assert {name: (one.name, one.model) for name, one in reviewers.items()} == {
            "openai:gpt-5": ("openai", "gpt-5"),
            "ollama:a": ("ollama", "a"),
        }
    assert EVERY_KEY["OPENAI_API_KEY"] in model_secrets(settings)


async def test_reviewers_search_and_run_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they read may tell them to: the vendor's own tools are for the model that answers."""
    monkeypatch.setenv("SERVER_TOOLS", "google_search")
    monkeypatch.setenv("REVIEWERS", "spy:a")
    opened: list[Options] = []

    def spy(config: NoConfig, model: str, options: Options) -> Provider:
        opened.append(options)
        return Scripted([])

    async with open_reviewers(load(), Metrics(), (ProviderEntry("spy", NoConfig, spy),)):
        assert [(options.asker, options.server_tools) for options in opened] == [("REVIEWERS", ())]


@pytest.mark.process
@pytest.mark.parametrize(
    ("model", "fallbacks", "loaded"),
    [("demo", "ollama:qwen3,gemini:gemini-flash-latest", set()), ("json:small", "", {"openai"})],
)
def test_only_the_sdk_of_a_chosen_model_is_loaded(
    tmp_path: Path, model: str, fallbacks: str, loaded: set[str]
) -> None:
    """The others cost a second and fifty megabytes each; Gemini answers without its own."""
    printed = opened(tmp_path, MODEL=model, FALLBACK_MODELS=fallbacks)
    assert SDKS.intersection(printed.split()) == loaded


@pytest.mark.process
@pytest.mark.parametrize(
    ("sdk", "variable", "model"),
    [
        ("openai", "MODEL", "json:small"),
        ("anthropic", "FALLBACK_MODELS", "anthropic:claude"),
    ],
)
def test_a_missing_sdk_is_one_line(tmp_path: Path, sdk: str, variable: str, model: str) -> None:
    """The variable that asks for it, and what to install."""
    spoken = opened(tmp_path, sdk, **{variable: model})
    fix = f"run make models, or install {sdk} beside Kaiwa"
    assert spoken == f"{variable}: {model} needs a package that is not installed; {fix}\n"


@pytest.mark.process
def test_a_missing_module_of_our_own_is_no_missing_sdk(tmp_path: Path) -> None:
    """Something is broken then, and nothing an operator could install."""
    with pytest.raises(AssertionError, match=r"No module named|halted; None in sys\.modules"):
        opened(tmp_path, "aiohttp", MODEL="ollama:qwen3")


async def test_models_are_opened_once_under_whatever_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong name is said with the variable that has it."""
    for variable, value in EVERY_KEY.items():
        monkeypatch.setenv(variable, value)
    async with aclosing(Models(load(), Metrics())) as models:
        alone = models.find(("ollama:a",))
        assert models.find(("ollama:a",)) is alone
        assert models.find(("ollama:a", "demo")).model == "a"
        with pytest.raises(SettingsError, match=r"^PLACES: write demo or PROVIDER:MODEL"):
            models.find(("nobody:a",), "PLACES")
        chosen = models.find((load().chosen_model, "ollama:a"))
        assert models.find(("", "ollama:a", load().chosen_model)) is chosen
