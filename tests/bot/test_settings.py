"""Settings: read from environment and .env, checked, and never shown where they are secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from bot.channels.registry import check_channels
from bot.errors import SettingsError
from bot.ops.startup import start_report
from bot.providers import ollama, openai
from bot.providers.registry import check_models
from bot.settings import Settings, config_beside, load, tool_config


class DiceConfig(BaseModel):
    """A tool's own variables."""

    dice_most: int = Field(20, ge=1)


def set_all(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    """Set variables of the environment."""
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)


def load_all() -> Settings:
    """The settings, with those of channels and providers, as every start reads them."""
    settings = load()
    check_models(settings)
    check_channels(settings)
    return settings


def test_nothing_set_is_the_demo_on_this_machine() -> None:
    """The defaults are safe: demo model, bundled store, loopback."""
    settings = load()
    assert (settings.chosen_model, settings.host, settings.port) == ("demo", "127.0.0.1", 8000)
    assert (settings.store_url, settings.language, settings.timezone) == ("", "en", "UTC")


def test_a_key_turns_gemini_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable is enough; MODEL may still choose otherwise."""
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    assert load().chosen_model == "gemini:gemini-flash-latest"
    monkeypatch.setenv("MODEL", "gemini:gemini-2.5-pro")
    assert load().chosen_model == "gemini:gemini-2.5-pro"
    monkeypatch.setenv("MODEL", "demo")
    assert load().chosen_model == "demo"


@pytest.mark.parametrize(
    ("value", "tools"),
    [
        ("", ("auto",)),
        ("auto", ("auto",)),
        ("off", ()),
        ("url_context, google_search,url_context", ("url_context", "google_search")),
    ],
)
def test_the_vendors_own_tools_are_named_or_chosen(
    monkeypatch: pytest.MonkeyPatch, value: str, tools: tuple[str, ...]
) -> None:
    """Each once, in the order they are named in."""
    monkeypatch.setenv("SERVER_TOOLS", value)
    assert load().server_tools == tools


def test_the_env_file_is_read_and_the_environment_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`.env` in the working folder counts; an empty line in it changes nothing."""
    (tmp_path / ".env").write_text("BOT_NAME=Hana\nPORT=\nTIMEZONE=Asia/Tokyo\n")
    monkeypatch.setenv("TIMEZONE", "Europe/Berlin")
    settings = load()
    assert (settings.bot_name, settings.port, settings.timezone) == ("Hana", 8000, "Europe/Berlin")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORT", "eighty"),
        ("MODEL", "gpt-5"),
        ("MODEL", "gemini:"),
        ("REDIS_URL", "localhost:6379"),
        ("TIMEZONE", "Tokyo"),
        ("TIMEZONE", "../etc/passwd"),
        ("LOG_LEVEL", "LOUD"),
        ("MAX_TOOL_TURNS", "0"),
        ("SERVER_TOOLS", "auto,google_search"),
        ("SERVER_TOOLS", "bing"),
        ("GOOGLE_GEMINI_BASE_URL", "https://host/v1beta"),
        ("GOOGLE_GEMINI_BASE_URL", "host"),
        ("GOOGLE_GEMINI_BASE_URL", "http://host:99999"),
        ("GOOGLE_GEMINI_BASE_URL", "http://:80"),
        ("GOOGLE_GEMINI_BASE_URL", "https://host#x"),
        ("GOOGLE_GEMINI_BASE_URL", "https://user@host"),
        ("GEMINI_API_KEY", "ключ"),
        ("MODEL", "anthropic:"),
        ("FALLBACK_MODELS", "demo,gpt-5"),
        ("REVIEWERS", "gpt-5"),
        ("OPENAI_BASE_URL", "localhost:8080/v1"),
        ("OPENAI_BASE_URL", "https://user@host/v1"),
        ("OPENAI_BASE_URL", "https://host/v1?x=1"),
        ("ANTHROPIC_BASE_URL", "ftp://host"),
        ("OLLAMA_HOST", "host:port"),
        ("OLLAMA_CONTEXT_LENGTH", "-1"),
        ("PERSONA_FILE", "/usr/bin/env"),
        ("PERSONA_FILE", "nowhere.md"),
        ("READ_ONLY", "perhaps"),
        ("LINE_SENDER_NAME", "x" * 21),
        ("LINE_SENDER_NAME", "My Line bot"),
        ("LINE_SENDER_ICON_URL", "http://host/icon.png"),
        ("LINE_SENDER_ICON_URL", "https://host/" + "x" * 2_000),
        ("LANGUAGE", "jp"),
        ("LANGUAGE", "日本語"),
        ("GEMINI_API_KEY", "first half second half"),
        ("LINE_CHANNEL_SECRET", "first half"),
        ("PUBLIC_URL", "http://bot.example.com"),
        ("PUBLIC_URL", "http:"),
        ("PUBLIC_URL", "https://"),
        ("CONSOLE_TOKEN", "x" * 15),
        ("SECRET_KEY", "x" * 15),
        ("SLACK_BOT_TOKEN", "xapp-1-A0-1-0a1b"),
        ("SLACK_BOT_TOKEN", "xoxp-1-2-3"),
        ("SLACK_BOT_TOKEN", "0123456789abcdef" * 2),
        ("SLACK_APP_TOKEN", "xoxb-1-2-3"),
        ("SLACK_APP_TOKEN", "0123456789abcdef" * 2),
        ("SLACK_SIGNING_SECRET", "xapp-1-A0-1-0a1b"),
    ],
)
def test_a_wrong_value_is_refused_by_name_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """One line: the variable and the fix, without the value, which may be a secret in the wrong
    place."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as refused:
        load_all()
    assert refused.value.variable == variable
    assert "\n" not in str(refused.value)
    assert len(refused.value.fix) > 10
    assert f" {value} " not in f" {refused.value} "


@pytest.mark.parametrize(
    ("variable", "value", "fix"),
    [
        ("READ_ONLY", "maybe", "write 1 for yes or 0 for no"),
        ("PORT", "http", "write a whole number"),
        ("PORT", "70000", "write a number of at most 65535"),
        ("HISTORY_DAYS", "0", "write a number of at least 1"),
        ("LINE_PUSH", "sometimes", "write 'auto', 'always' or 'never'"),
        (
            "TOOLS_DIR",
            "nowhere",
            "there is no such folder; write the path of one, or leave it empty",
        ),
        (
            "MCP_SERVERS",
            "nowhere",
            "there is no such file; write the path of one, or leave it empty",
        ),
        ("BOT_NAME", "x" * 65, "write at most 64 characters"),
        ("REVIEWERS", ",".join(["gemini:x"] * 6), "name at most 5"),
        (
            "PUBLIC_URL",
            "https://bot.example.com/path",
            "write it as https://host, or leave it empty; LINE loads no picture from another "
            "address",
        ),
        (
            "SLACK_BOT_TOKEN",
            "xapp-1-A0",
            "holds what belongs into SLACK_APP_TOKEN; the bot token begins with xoxb- "
            "(OAuth & Permissions)",
        ),
        (
            "SLACK_SIGNING_SECRET",
            "xoxb-1-2",
            "holds what belongs into SLACK_BOT_TOKEN; the signing secret is in Basic Information, "
            "App Credentials",
        ),
    ],
)
def test_the_fix_is_in_kaiwas_own_words(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, fix: str
) -> None:
    """Not in those of the library that checks; it says where the right value is found."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as refused:
        load_all()
    assert (refused.value.variable, refused.value.fix) == (variable, fix)


@pytest.mark.parametrize("written", ["fr", "klingon", "C"])
def test_the_env_file_names_a_language_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    """It is Kaiwa's own, no desktop's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(f"LANGUAGE={written}\n", "utf-8")
    with pytest.raises(SettingsError, match=r"^LANGUAGE: write en or ja$"):
        load()
    (tmp_path / ".env").write_text("LANGUAGE=ja\n", "utf-8")
    assert load().language == "ja"


def test_a_key_pasted_with_its_line_end_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spaces around a secret are no part of it."""
    monkeypatch.setenv("GEMINI_API_KEY", " key\n")
    assert load().gemini_api_key.get_secret_value() == "key"


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address is enough."""
    monkeypatch.setenv("MODEL", "openai:small")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8080/v1/")
    assert config_beside(openai.Config, load()).openai_base_url == "http://localhost:8080/v1"
    monkeypatch.setenv("MODEL", "ollama:qwen3:4b")
    assert load().chosen_model == "ollama:qwen3:4b"


def test_fallbacks_follow_the_model_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order they are written in."""
    monkeypatch.setenv("MODEL", "ollama:a")
    monkeypatch.setenv("FALLBACK_MODELS", "ollama:b, demo,ollama:a,,ollama:b")
    settings = load()
    assert settings.models == ("ollama:a", "ollama:b", "demo")
    assert [settings.asker(name) for name in settings.models] == [
        "MODEL",
        "FALLBACK_MODELS",
        "FALLBACK_MODELS",
    ]


@pytest.mark.parametrize(
    "host", ["0.0.0.0:1", ":56789", "host:1", "http://host", "https://host:1/path", "[::1]:1"]
)
def test_an_ollama_host_is_taken_as_ollama_takes_it(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """The variable is often set already, for the server or for other clients."""
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert config_beside(ollama.Config, load()).ollama_host == host


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither repr nor str of the settings hold a key; the log knows what to strike out."""
    for variable, value in {
        "GEMINI_API_KEY": "hush-key",
        "CONSOLE_TOKEN": "hush-token-of-the-page",
        "SECRET_KEY": "hush-secret-of-signatures",
        "REDIS_URL": "redis://:hush-password@localhost/0",
    }.items():
        monkeypatch.setenv(variable, value)
    settings = load()
    assert "hush" not in f"{settings!r} {settings}"
    assert {"hush-key", "hush-token-of-the-page", "hush-secret-of-signatures"} < set(
        settings.secrets
    )


@pytest.mark.parametrize(
    ("processes", "connections"), [(1, 6), (2, 6), (3, 6), (4, 4), (5, 3), (6, 3)]
)
def test_processes_divide_the_connections(
    monkeypatch: pytest.MonkeyPatch, processes: int, connections: int
) -> None:
    """Together never more than 18 to Redis; the start report says what each has, unless there is
    one process."""
    monkeypatch.setenv("KAIWA_PROCESSES", "1")
    monkeypatch.setenv("WEB_CONCURRENCY", "4")
    settings = load(processes)
    assert settings.store_connections == connections
    assert processes * connections <= 18
    reported = [part.detail for part in start_report(settings) if part.name == "processes"]
    assert (
        reported
        == [f"{processes} share the port, each with {connections} connections to the store"][
            : processes - 1
        ]
    )


@pytest.mark.parametrize("processes", ["0", "7", "-1"])
def test_too_many_processes_are_refused(monkeypatch: pytest.MonkeyPatch, processes: str) -> None:
    """With what to do instead."""
    monkeypatch.setenv("KAIWA_PROCESSES", processes)
    with pytest.raises(
        SettingsError,
        match="KAIWA_PROCESSES: write 1 to 6; for more processes, start kaiwa run again",
    ):
        load()


@pytest.mark.parametrize(
    ("value", "language"),
    [
        ("ja", "ja"),
        ("en_US:en", "en"),
        ("de:ja", "ja"),
        ("ja_JP.UTF-8", "ja"),
        ("fr", "en"),
        ("de_DE:fr", "en"),
        ("de_DE:ja", "ja"),
    ],
)
def test_a_desktops_language_is_understood(
    monkeypatch: pytest.MonkeyPatch, value: str, language: str
) -> None:
    """LANGUAGE is also the desktop's variable: it must not stop a newcomer's first start."""
    monkeypatch.setenv("LANGUAGE", value)
    assert load().language == language


@pytest.mark.parametrize(
    ("url", "used"),
    [
        ("rediss://:p@h:1", "rediss://:p@h:1?ssl_cert_reqs=none"),
        ("rediss://:p@h:1?db=2", "rediss://:p@h:1?db=2&ssl_cert_reqs=none"),
        ("rediss://:p@h:1?ssl_cert_reqs=required", "rediss://:p@h:1?ssl_cert_reqs=required"),
        ("redis://h:1", "redis://h:1"),
    ],
)
def test_herokus_own_certificate_is_taken(
    monkeypatch: pytest.MonkeyPatch, url: str, used: str
) -> None:
    """On Heroku only, and only where the URL does not say otherwise."""
    monkeypatch.setenv("REDIS_URL", url)
    assert load().store_url == url
    monkeypatch.setenv("DYNO", "web.1")
    assert load().store_url == used


def test_a_tools_config_comes_from_the_same_sources(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A tool names its variables in lower case; a wrong one is refused by its name."""
    assert tool_config(DiceConfig) == DiceConfig(dice_most=20)
    (tmp_path / ".env").write_text("DICE_MOST=3\n")
    assert tool_config(DiceConfig) == DiceConfig(dice_most=3)
    monkeypatch.setenv("DICE_MOST", "none")
    with pytest.raises(SettingsError, match=r"^DICE_MOST: "):
        tool_config(DiceConfig)


LINE = {"LINE_CHANNEL_SECRET": "x", "LINE_CHANNEL_ACCESS_TOKEN": "x"}
SLACK = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "x"}
SOCKET_MODE = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
BOTH = SOCKET_MODE | SLACK


@pytest.mark.parametrize(
    ("variables", "is_on", "makes"),
    [
        ({}, False, False),
        (LINE, True, True),
        (SLACK, True, True),
        (BOTH, True, True),
        (SOCKET_MODE, False, False),
        (LINE | {"CONSOLE_TOKEN": "chosen by somebody"}, True, False),
        (LINE | {"DYNO": "web.1", "REDIS_URL": "redis://h:1"}, True, False),
    ],
)
def test_a_token_is_made_where_webhooks_come_in(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], is_on: bool, makes: bool
) -> None:
    """Socket Mode alone opens no door; a chosen token stands, and a dyno could keep none."""
    set_all(monkeypatch, variables)
    settings = load()
    assert (settings.webhooks_on, settings.makes_console_token) == (is_on, makes)
