"""The only reader of the environment (and of ``.env``): every variable with its default and its check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.errors import SettingsError
from bot.texts import LANGUAGES

ConfigT = TypeVar("ConfigT", bound=BaseModel)

SOURCES = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore", hide_input_in_errors=True)


def _base_url(value: str) -> str:
    parts = urlsplit(value)
    bare = f"{parts.scheme}://{parts.netloc}" == value.rstrip("/") and "@" not in value
    # Asking for the port checks it.
    if not (bare and parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port)):
        raise ValueError("write it as https://host or http://host:port, without a path")
    return value.rstrip("/")


def _secret(value: SecretStr) -> SecretStr:
    """Keys are pasted with line ends and spaces; a letter that no header can carry is a mistake."""
    stripped = value.get_secret_value().strip()
    if not (stripped.isascii() and stripped.isprintable()):
        raise ValueError("has a character that cannot be part of it; copy it again")
    return SecretStr(stripped)


def _redis_url(value: str) -> str:
    if not value.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("write it as redis://…, rediss://… or unix://…, or leave it empty for the bundled Valkey")
    return value


def _time_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("write an IANA name such as Asia/Tokyo or UTC") from error
    return value


def _model(value: str) -> str:
    provider, _, model = value.partition(":")
    if (provider == "gemini" and model) or value == "demo":
        return value
    raise ValueError("write gemini:MODEL (for example gemini:gemini-flash-latest) or demo")


def _language(value: str) -> str:
    """Desktops set LANGUAGE too, as in ``en_US:en`` or ``de:ja``: the first one we speak counts."""
    spoken = (tag[:2].lower() for tag in value.split(":"))
    return next((tag for tag in spoken if tag in LANGUAGES), LANGUAGES[0])


Secret = Annotated[SecretStr, AfterValidator(_secret)]
BaseURL = Annotated[str, AfterValidator(_base_url)]
NO_SECRET = SecretStr("")


class Settings(BaseSettings):
    """Everything an operator can set; field names are the variables in lower case."""

    model_config = SOURCES

    model: Annotated[str, AfterValidator(_model)] | Literal[""] = ""
    max_output_tokens: int = Field(2048, ge=64, le=65_536)
    thinking_level: Literal["minimal", "low", "medium", "high"] = "low"
    max_tool_turns: int = Field(10, ge=1, le=50)
    read_only: bool = False

    gemini_api_key: Secret = NO_SECRET
    google_gemini_base_url: BaseURL | Literal[""] = ""

    redis_url: Annotated[SecretStr, AfterValidator(lambda url: _redis_url(url.get_secret_value()) and url)] | None = (
        None
    )
    kaiwa_data_dir: Path = Path(".kaiwa")
    history_days: int = Field(30, ge=1, le=3650)

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65_535)
    console_token: Secret = NO_SECRET
    secret_key: Secret = NO_SECRET

    bot_name: str = Field("Kaiwa", min_length=1, max_length=64)
    persona_file: Path | None = None
    language: Annotated[str, AfterValidator(_language)] = "en"
    timezone: Annotated[str, AfterValidator(_time_zone)] = "UTC"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    dyno: str = ""

    @property
    def chosen_model(self) -> str:
        """``provider:model``: MODEL, else Gemini where its key is set, else the demo."""
        if self.model:
            return self.model
        return "gemini:gemini-flash-latest" if self.gemini_api_key.get_secret_value() else "demo"

    @property
    def store_url(self) -> str:
        """REDIS_URL, empty for the bundled Valkey; Heroku's Redis shows a certificate that it has signed itself."""
        url = self.redis_url.get_secret_value() if self.redis_url else ""
        if self.dyno and url.startswith("rediss://") and "ssl_cert_reqs" not in url:
            return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=none"
        return url

    @property
    def secrets(self) -> list[str]:
        """Every value that nobody may see, for the log to strike out."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


def load() -> Settings:
    """Read and check all settings.

    Raises:
        SettingsError: naming the first variable that is wrong, and the mend.
    """
    settings: Settings = _checked(Settings)
    if settings.chosen_model.startswith("gemini:") and not settings.gemini_api_key.get_secret_value():
        raise SettingsError("GEMINI_API_KEY", "MODEL asks for Gemini; set the key, or MODEL=demo")
    if settings.persona_file is not None:
        try:
            settings.persona_file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            mend = "cannot be read as text; leave it empty for the persona that comes with Kaiwa"
            raise SettingsError("PERSONA_FILE", mend) from error
    return settings


def tool_config(config: type[ConfigT]) -> ConfigT:
    """Fill a tool's own ``Config`` from the same sources.

    Raises:
        SettingsError: naming the variable that is wrong.
    """
    reader = type(config.__name__, (config, BaseSettings), {"model_config": SOURCES, "__module__": __name__})
    filled: Any = _checked(reader)
    return config.model_validate(filled.model_dump())


def _checked(reader: type[Any]) -> Any:
    try:
        return reader()
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        variable = str(first["loc"][0]).upper() if first["loc"] else "settings"
        raise SettingsError(variable, str(first["msg"]).removeprefix("Value error, ")) from None
