"""What the value of a variable must look like; what is wrong is said as a mend."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, SecretStr
from pydantic_settings import NoDecode

from bot.texts import LANGUAGES


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
    if not value.startswith(("redis://", "rediss://", "unix://", "redis+cluster://", "rediss+cluster://")):
        raise ValueError(
            "write it as redis://…, rediss://…, unix://… or for a cluster redis+cluster://… or rediss+cluster://…, "
            "or leave it empty for the bundled Valkey"
        )
    return value


def _slack_url(value: str) -> str:
    if not value.startswith(("http://", "https://")) or not value.endswith("/api/"):
        raise ValueError("write it as https://host/api/")
    return value


def _time_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("write an IANA name such as Asia/Tokyo or UTC") from error
    return value


def _api_url(value: str) -> str:
    """With the path that the vendor's SDK wants, such as ``/v1``."""
    try:
        parts = urlsplit(value)
        _base_url(f"{parts.scheme}://{parts.netloc}")
    except ValueError:
        parts = None
    if parts is None or parts.query or parts.fragment:
        raise ValueError("write it as https://host or http://host:port, with its path where it has one")
    return value.rstrip("/")


def _ollama_host(value: str) -> str:
    """As Ollama itself reads it: scheme, host and port may each be left out."""
    _api_url(value if "://" in value else f"http://localhost{value}" if value.startswith(":") else f"http://{value}")
    return value


def _model(value: str) -> str:
    """Which providers there are is the registry's to say."""
    provider, _, model = value.partition(":")
    if (provider not in ("", "demo") and model) or value == "demo":
        return value
    raise ValueError("write demo or PROVIDER:MODEL, as in gemini:gemini-flash-latest")


def _recipient(value: str) -> str:
    if value and not RECIPIENT.fullmatch(value):
        raise ValueError("write slack:C… (a channel's or person's id) or line:U… (a person's, group's or room's)")
    return value


def _names(value: Any) -> Any:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _language(value: str) -> str:
    """Desktops set LANGUAGE too, as in ``en_US:en`` or ``de:ja``: the first one we speak counts."""
    spoken = (tag[:2].lower() for tag in value.split(":"))
    return next((tag for tag in spoken if tag in LANGUAGES), LANGUAGES[0])


RECIPIENT = re.compile(r"slack:[CDGUW][A-Z0-9]{2,}|line:[UCR][0-9a-f]{32}")
Secret = Annotated[SecretStr, AfterValidator(_secret)]
BaseURL = Annotated[str, AfterValidator(_base_url)]
ApiURL = Annotated[str, AfterValidator(_api_url)]
ModelName = Annotated[str, AfterValidator(_model)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_names)]
ModelNames = Annotated[tuple[ModelName, ...], NoDecode, BeforeValidator(_names)]
RedisURL = Annotated[SecretStr, AfterValidator(lambda url: _redis_url(url.get_secret_value()) and url)]
SlackURL = Annotated[str, AfterValidator(_slack_url)]
OllamaHost = Annotated[str, AfterValidator(_ollama_host)]
TimeZone = Annotated[str, AfterValidator(_time_zone)]
Recipient = Annotated[str, AfterValidator(_recipient)]
Language = Annotated[str, AfterValidator(_language)]
