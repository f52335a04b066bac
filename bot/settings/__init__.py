"""The settings of all of Kaiwa with their defaults and checks, and the only reader of the
environment and ``.env``. What a channel, a provider, a feature or a tool reads alone stands in its
``Config``.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    DirectoryPath,
    Field,
    FilePath,
    SecretStr,
    ValidationError,
)
from pydantic_settings import BaseSettings, DotEnvSettingsSource, SettingsConfigDict

from bot.checks import CheckResult, Examined
from bot.errors import SettingsError
from bot.settings.types import (
    CONNECTIONS,
    REDIS_CONNECTIONS,
    Language,
    ModelName,
    ModelNames,
    Names,
    OwnSecret,
    Processes,
    PublicURL,
    RedisURL,
    Secret,
    ServerTools,
    TimeZone,
)
from bot.texts import LANGUAGES

ConfigT = TypeVar("ConfigT", bound=BaseModel)

ENV_FILE = Path(".env")
SOURCES = SettingsConfigDict(
    env_file=ENV_FILE, env_ignore_empty=True, extra="ignore", hide_input_in_errors=True
)
NO_SECRET = SecretStr("")
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})
# What to do about a value of the wrong form, by pydantic's name of the error.
FIXES = {
    "bool_parsing": "write 1 for yes or 0 for no",
    "int_parsing": "write a whole number",
    "float_parsing": "write a number",
    "greater_than_equal": "write a number of at least {ge}",
    "greater_than": "write a number greater than {gt}",
    "less_than_equal": "write a number of at most {le}",
    "literal_error": "write {expected}",
    "path_not_directory": "there is no such folder; write the path of one, or leave it empty",
    "path_not_file": "there is no such file; write the path of one, or leave it empty",
    "string_too_short": "write at least {min_length} characters",
    "string_too_long": "write at most {max_length} characters",
    "too_long": "name at most {max_length}",
}


class Settings(BaseSettings):
    """All settings; field names are the variables in lower case."""

    model_config = SOURCES

    model: ModelName | Literal[""] = ""
    fallback_models: ModelNames = ()
    max_output_tokens: int = Field(2048, ge=64, le=65_536)
    thinking_level: Literal["minimal", "low", "medium", "high"] = "low"
    server_tools: ServerTools = ("auto",)
    max_tool_turns: int = Field(10, ge=1, le=50)
    read_only: bool = False
    reviewers: ModelNames = Field((), max_length=5)
    tools_dir: DirectoryPath | None = None
    tools_allow: FilePath | None = None
    places: Path | None = None
    hooks: Names = ()
    mcp_servers: FilePath | None = None
    mcp_trust: Names = ()

    # Whether these are set decides what is on; what else a model or a channel reads stands in its
    # own Config.
    gemini_api_key: Secret = NO_SECRET
    line_channel_secret: Secret = NO_SECRET
    slack_bot_token: Secret = NO_SECRET
    slack_signing_secret: Secret = NO_SECRET

    redis_url: RedisURL | None = None
    kaiwa_data_dir: Path = Path(".kaiwa")
    history_days: int = Field(30, ge=1, le=3650)
    history_tokens: int = Field(16_000, ge=1_000)

    alert_to: str = ""

    kaiwa_processes: Processes = 1
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65_535)
    console_token: OwnSecret = NO_SECRET
    secret_key: OwnSecret = NO_SECRET
    public_url: PublicURL | Literal[""] = ""

    bot_name: str = Field("Kaiwa", min_length=1, max_length=64)
    persona_file: Path | None = None
    language: Language = "en"
    timezone: TimeZone = "UTC"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    dyno: str = ""

    @property
    def chosen_model(self) -> str:
        """``provider:model``: MODEL, else Gemini if its key is set, else the demo."""
        if self.model:
            return self.model
        return "gemini:gemini-flash-latest" if self.gemini_api_key.get_secret_value() else "demo"

    @property
    def models(self) -> tuple[str, ...]:
        """The chosen model, then its fallbacks, each ``provider:model`` once."""
        return tuple(dict.fromkeys((self.chosen_model, *self.fallback_models)))

    @property
    def all_models(self) -> tuple[str, ...]:
        """The models and the reviewers, each once."""
        return tuple(dict.fromkeys((*self.models, *self.reviewers)))

    def asker(self, name: str) -> str:
        """The variable that names a model."""
        if name == self.chosen_model:
            return "MODEL"
        if name in self.fallback_models:
            return "FALLBACK_MODELS"
        return "REVIEWERS" if name in self.reviewers else "IMAGE_MODEL"

    @property
    def line_on(self) -> bool:
        """Whether LINE's secrets are set."""
        return bool(self.line_channel_secret.get_secret_value())

    @property
    def slack_on(self) -> bool:
        """Whether Slack's bot token is set; it also needs a signing secret (HTTP) or an app token
        (Socket Mode)."""
        return bool(self.slack_bot_token.get_secret_value())

    @property
    def webhooks_on(self) -> bool:
        """Whether LINE or Slack send webhooks: a proxy makes every visitor look local then."""
        by_http = self.slack_on and bool(self.slack_signing_secret.get_secret_value())
        return self.line_on or by_http or self.has_accounts

    @property
    def has_accounts(self) -> bool:
        """Whether PLACES has accounts of LINE or Slack, as one that cannot be read may."""
        if (path := self.places) is None:
            return False
        try:
            return not path.is_file() or "account" in tomllib.loads(path.read_text("utf-8-sig"))
        except (OSError, ValueError, RecursionError):
            return True

    @property
    def addresses_of_others(self) -> list[str]:
        """What lets other machines reach Kaiwa beside its channels, as people read it."""
        found = {
            f"HOST={self.host}": self.host not in ("127.0.0.1", "::1", "localhost"),
            "the dyno's address": bool(self.dyno),
        }
        return [name for name, is_open in found.items() if is_open]

    @property
    def makes_console_token(self) -> bool:
        """Whether to generate a token for the page; not on Heroku, where the disk is deleted
        daily."""
        return self.webhooks_on and not self.dyno and not self.console_token.get_secret_value()

    @property
    def console_token_path(self) -> Path:
        """The file of a generated token."""
        return self.kaiwa_data_dir / "console_token"

    @property
    def store_url(self) -> str:
        """REDIS_URL; empty for the bundled Valkey. Heroku's Redis has a self-signed certificate."""
        url = self.redis_url.get_secret_value() if self.redis_url else ""
        if self.dyno and url.startswith("rediss://") and "ssl_cert_reqs" not in url:
            return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=none"
        return url

    @property
    def store_connections(self) -> int:
        """Connections to Redis of each process: together never more than ``REDIS_CONNECTIONS``."""
        return min(CONNECTIONS, REDIS_CONNECTIONS // self.kaiwa_processes)

    @property
    def secrets(self) -> list[str]:
        """The values that the log must not contain."""
        return secrets_in(self)


class FeatureConfig(BaseModel):
    """The variables of a feature, in lower case, and what is said about their values."""

    def check(self, settings: Settings, ways_in: Sequence[str]) -> None:
        """Refuse values that do not go with the settings.

        Args:
            ways_in: how others can reach Kaiwa, as people read it.

        Raises:
            SettingsError: names the variable and the fix.
        """

    def describe(self, settings: Settings) -> list[CheckResult]:
        """The feature's lines of the start report."""
        return []

    @property
    def has_checks(self) -> bool:
        """Whether ``examine`` has anything to do."""
        return False

    async def examine(self, settings: Settings, examined: Examined) -> list[CheckResult]:
        """The feature's lines of ``kaiwa doctor`` that the start report has not."""
        return []


def secrets_in(config: BaseModel) -> list[str]:
    """The values that the log must not contain."""
    values = list(dict(config).values())
    values += [one for value in values if isinstance(value, dict) for one in value.values()]
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


def load(processes: int | None = None, known: Mapping[str, Any] = NO_FIELDS) -> Settings:
    """Read and check all settings.

    Args:
        processes: in place of KAIWA_PROCESSES.
        known: values of fields that are not read.

    Raises:
        SettingsError: names the first wrong variable and the fix.
    """
    counted = {} if processes is None else {"kaiwa_processes": processes}
    settings: Settings = _checked(Settings, {**known, **counted})
    _refuse_useless(settings)
    if settings.persona_file is not None:
        try:
            settings.persona_file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            fix = "cannot be read as text; leave it empty for the persona that comes with Kaiwa"
            raise SettingsError("PERSONA_FILE", fix) from error
    return settings


def _refuse_useless(settings: Settings) -> None:
    """Refuse what only a desktop may set in ``.env``, a language that Kaiwa does not have; and a
    store that loses the conversations of people who write from outside."""
    written = DotEnvSettingsSource(Settings).env_vars.get("language") or ""
    is_known = not written or written[:2].lower() in LANGUAGES
    is_forgetful = settings.dyno and settings.redis_url is None
    refusals = (
        (not is_known, "LANGUAGE", f"write {' or '.join(LANGUAGES)}"),
        (
            is_forgetful and (settings.line_on or settings.slack_on or settings.has_accounts),
            "REDIS_URL",
            "this platform forgets its disk daily; add a Redis (heroku-redis)",
        ),
    )
    for is_refused, variable, fix in refusals:
        if is_refused:
            raise SettingsError(variable, fix)


def env_file_is_open() -> bool:
    """Whether other users of this machine may read ``.env`` and its secrets."""
    try:
        return bool(ENV_FILE.stat().st_mode & 0o077)
    except OSError:
        return False


def environment_value(name: str) -> str:
    """What the environment sets a variable to; it wins over ``.env``."""
    return os.environ.get(name, "").strip()


def env_file_values() -> dict[str, str]:
    """What ``.env`` sets, by the names in capital letters."""
    return {
        name.upper(): value
        for name, value in DotEnvSettingsSource(Settings).env_vars.items()
        if value
    }


def tool_config(config: type[ConfigT], known: Mapping[str, Any] = NO_FIELDS) -> ConfigT:
    """Fill the ``Config`` of a tool from the environment and ``.env``.

    Args:
        known: values of fields that are not read there.

    Raises:
        SettingsError: names the wrong variable.
    """
    filled: Any = _checked(_reader_of(config), known)
    return config.model_validate(filled.model_dump())


def config_beside(config: type[ConfigT], settings: Settings) -> ConfigT:
    """Fill the ``Config`` of a channel, a provider or a feature: shared fields from the settings,
    the others from the environment and ``.env``.

    Raises:
        SettingsError: names the wrong variable.
    """
    shared = config.model_fields.keys() & type(settings).model_fields.keys()
    return tool_config(config, {name: getattr(settings, name) for name in shared})


@cache  # making one takes 2 ms
def _reader_of(config: type[BaseModel]) -> type[Any]:
    members = {"model_config": SOURCES, "__module__": __name__}
    return type(config.__name__, (config, BaseSettings), members)


def _checked(reader: type[Any], known: Mapping[str, Any] = NO_FIELDS) -> Any:
    try:
        return reader(**known)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        variable = str(first["loc"][0]).upper() if first["loc"] else "settings"
        raise SettingsError(variable, fix_of(first)) from None


def fix_of(error: Mapping[str, Any]) -> str:
    """What to do about a value, by one of pydantic's errors; it never holds the value."""
    fix = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] in FIXES:
        fix = FIXES[str(error["type"])].format_map(error.get("ctx", {}))
    return fix
