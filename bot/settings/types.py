"""What settings and the ``Config`` of a part are made of: types that check a variable's value."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, SecretStr
from pydantic_settings import NoDecode

from bot.texts import LANGUAGES

REDIS_CONNECTIONS = 18  # of all processes that share a port: small Redis plans allow 20
SERVER_TOOLS = {"google_search", "url_context", "code_execution", "web_search"}
CONNECTIONS, FEWEST_CONNECTIONS = 6, 3  # of one process
SHORTEST_SECRET = 16  # characters of a secret that the operator makes up


def _base_url(value: str) -> str:
    parts = urlsplit(value)
    bare = f"{parts.scheme}://{parts.netloc}" == value.rstrip("/") and "@" not in value
    # parts.port raises ValueError for a bad port.
    if not (
        bare
        and parts.scheme in ("http", "https")
        and parts.hostname
        and (parts.port is None or parts.port)
    ):
        raise ValueError("write it as https://host or http://host:port, without a path")
    return value.rstrip("/")


def _stripped(value: SecretStr) -> str:
    """Without the blanks around a pasted secret; what no HTTP header can hold is an error."""
    stripped = value.get_secret_value().strip()
    if not (stripped.isascii() and stripped.isprintable()):
        raise ValueError("has a character that cannot be part of it; copy it again")
    return stripped


def _secret(value: SecretStr) -> SecretStr:
    """A secret that somebody else has made, which never has a blank inside."""
    secret = _stripped(value)
    if " " in secret:
        raise ValueError("has a blank inside; copy it again")
    return SecretStr(secret)


def _own_secret(value: SecretStr) -> SecretStr:
    """A secret that the operator has made up, perhaps of words; others could guess a short one."""
    secret = _stripped(value)
    if 0 < len(secret) < SHORTEST_SECRET:
        raise ValueError(
            f"has fewer than {SHORTEST_SECRET} characters; choose a long one: openssl rand -hex 32"
        )
    return SecretStr(secret)


def check_public_url(value: str) -> str:
    """An address from which people's phones load pictures; LINE takes no others.

    Raises:
        ValueError: with the fix.
    """
    wrong = ValueError(
        "write it as https://host, or leave it empty; LINE loads no picture from another address"
    )
    if not value.startswith("https://"):
        raise wrong
    try:
        return _base_url(value)
    except ValueError:
        raise wrong from None


def _redis_url(value: SecretStr) -> SecretStr:
    schemes = ("redis://", "rediss://", "unix://", "redis+cluster://", "rediss+cluster://")
    if not value.get_secret_value().startswith(schemes):
        raise ValueError(
            "write it as redis://…, rediss://…, unix://… or for a cluster redis+cluster://… or "
            "rediss+cluster://…, "
            "or leave it empty for the bundled Valkey"
        )
    return value


def _time_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("write an IANA name such as Asia/Tokyo or UTC") from error
    return value


def check_api_url(value: str) -> str:
    """An address without a slash at its end; it may have a path, such as ``/v1``.

    Raises:
        ValueError: with the fix.
    """
    try:
        parts = urlsplit(value)
        _base_url(f"{parts.scheme}://{parts.netloc}")
    except ValueError:
        parts = None
    if parts is None or parts.query or parts.fragment:
        raise ValueError(
            "write it as https://host or http://host:port, with its path where it has one"
        )
    return value.rstrip("/")


def _model(value: str) -> str:
    """Checks the form only; the providers' registry knows the names."""
    provider, _, model = value.partition(":")
    if (provider not in ("", "demo") and model) or value == "demo":
        return value
    raise ValueError("write demo or PROVIDER:MODEL, as in gemini:gemini-flash-latest")


def names_of(value: Any) -> Any:
    """Names that are separated by commas."""
    return (
        tuple(part.strip() for part in value.split(",") if part.strip())
        if isinstance(value, str)
        else value
    )


def _server_tools(value: tuple[str, ...]) -> tuple[str, ...]:
    """``off`` is no tool; ``auto`` stands alone too."""
    if value in (("auto",), ("off",)):
        return value if value == ("auto",) else ()
    if not set(value) <= SERVER_TOOLS:
        raise ValueError(
            f"write auto, off, or some of {', '.join(sorted(SERVER_TOOLS))}, comma-separated"
        )
    return tuple(dict.fromkeys(value))


def _language(value: str) -> str:
    """The first language that the catalogue has: desktops set LANGUAGE too, as in ``en_US:en`` or
    ``de:ja``.

    A desktop's other language is not an error, but ``jp``, which is none, and words such as
    ``日本語`` are.
    """
    tags = [tag[:2].lower() for tag in value.split(":")]
    if "jp" in tags or not value.isascii():
        raise ValueError(f"write {' or '.join(LANGUAGES)}; Japanese is ja")
    return next((tag for tag in tags if tag in LANGUAGES), LANGUAGES[0])


def _processes(value: int) -> int:
    most = REDIS_CONNECTIONS // FEWEST_CONNECTIONS
    if not 1 <= value <= most:
        raise ValueError(
            f"write 1 to {most}; for more processes, start kaiwa run again on another port or "
            "machine"
        )
    return value


Secret = Annotated[SecretStr, AfterValidator(_secret)]
OwnSecret = Annotated[SecretStr, AfterValidator(_own_secret)]
BaseURL = Annotated[str, AfterValidator(_base_url)]
PublicURL = Annotated[str, AfterValidator(check_public_url)]
ApiURL = Annotated[str, AfterValidator(check_api_url)]
ModelName = Annotated[str, AfterValidator(_model)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(names_of)]
ServerTools = Annotated[Names, AfterValidator(_server_tools)]
ModelNames = Annotated[tuple[ModelName, ...], NoDecode, BeforeValidator(names_of)]
RedisURL = Annotated[SecretStr, AfterValidator(_redis_url)]
TimeZone = Annotated[str, AfterValidator(_time_zone)]
Processes = Annotated[int, AfterValidator(_processes)]
Language = Annotated[str, AfterValidator(_language)]
