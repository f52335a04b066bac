"""The file that names the MCP servers, as other clients have it: ``{"mcpServers": {"name":
{…}}}``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from toolset.tool import ToolSetupError
from toolset.web.decoding import decode_json

MOST_SERVERS = 32
SERVER_NAME = re.compile(r"[a-zA-Z][^\x00-\x1f]{0,63}")
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FORM = 'write {"mcpServers": {"name": {"command": "…", "args": ["…"]} or {"url": "https://…"}}}'


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server: a command that is run, or an address.

    Attributes:
        is_trusted: the operator believes what its tools say of themselves.
        others: beginnings of names that belong to other servers, although this server's begin
            alike: ``gh_ent_`` is no name for the tool ``ent_…`` of a server ``gh`` where a server
            ``gh_ent`` is.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    is_trusted: bool = False
    others: tuple[str, ...] = ()

    @property
    def prefix(self) -> str:
        """The beginning of its tools' names for models."""
        return usable(f"{self.name}_")

    @property
    def secrets(self) -> list[str]:
        """Values that the log must not contain."""
        return [*self.env.values(), *self.headers.values()]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class _Process(_Entry):
    type: Literal["stdio"] = "stdio"
    command: str = Field(min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}

    @field_validator("command", "args", "env")
    @classmethod
    def _without_nul(cls, value: Any) -> Any:
        texts = value
        if isinstance(value, str):
            texts = [value]
        elif isinstance(value, dict):
            texts = [*value, *value.values()]
        if any("\0" in text for text in texts):
            raise ValueError("has a NUL character")
        return value


class _Address(_Entry):
    type: Literal["http", "streamable-http"] = "http"
    url: str
    headers: dict[str, str] = {}

    @field_validator("url")
    @classmethod
    def _http(cls, value: str) -> str:
        parts = urlsplit(value)
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or "@" in parts.netloc
            or parts.fragment
        ):
            raise ValueError("write it as https://host/path, without user, password and fragment")
        return value

    @field_validator("headers")
    @classmethod
    def _sendable(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not (HEADER_NAME.fullmatch(name) and text.isascii() and text.isprintable()):
                raise ValueError("a name or a value cannot be sent as an HTTP header")
        return value


def read_servers(path: Path, trusted: Collection[str] = ()) -> tuple[ServerConfig, ...]:
    """The servers of a file, in its order.

    Args:
        trusted: names of servers whose tools are believed to read only where they say so.

    Raises:
        ToolSetupError: the file cannot be used; the text names the place and the mend.
    """
    try:
        loaded = decode_json(path.read_bytes())
    except OSError as error:
        raise ToolSetupError(
            f"{path} cannot be read: {error.strerror or error}; name a JSON file"
        ) from error
    except ValueError as error:
        raise ToolSetupError(f"{path} is not JSON: {error}; {FORM}") from error
    servers = loaded.get("mcpServers") if isinstance(loaded, dict) else None
    if not isinstance(servers, dict):
        raise ToolSetupError(f"{path} has no object mcpServers; {FORM}")
    if unknown := sorted(loaded.keys() - {"mcpServers"}):
        raise ToolSetupError(f"{path}: the key {unknown[0]!r} is unknown; remove it")
    if len(servers) > MOST_SERVERS:
        raise ToolSetupError(f"{path} names {len(servers)} servers; {MOST_SERVERS} are possible")
    configs = []
    for name, entry in servers.items():
        configs.append(_server(f"{path}: server {name!r}", name, entry, name in trusted))
    owners: dict[str, str] = {}
    for config in configs:
        if (owner := owners.setdefault(config.prefix, config.name)) != config.name:
            raise ToolSetupError(
                f"{path}: the tools of {owner!r} and {config.name!r} get the same names; rename one"
            )
    return tuple(replace(config, others=_longer(config.prefix, owners)) for config in configs)


def usable(name: str) -> str:
    """The name with the characters that models take."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)


def _longer(prefix: str, prefixes: Collection[str]) -> tuple[str, ...]:
    return tuple(other for other in prefixes if other != prefix and other.startswith(prefix))


def _server(where: str, name: str, entry: Any, is_trusted: bool) -> ServerConfig:
    if not SERVER_NAME.fullmatch(name):
        raise ToolSetupError(f"{where}: begin its name with a letter; it has at most 64 characters")
    if not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
        raise ToolSetupError(f"{where}: give it either command or url")
    try:
        if "command" in entry:
            process = _Process.model_validate(entry)
            env = MappingProxyType(process.env)
            return ServerConfig(
                name, process.command, tuple(process.args), env, is_trusted=is_trusted
            )
        address = _Address.model_validate(entry)
        return ServerConfig(
            name, url=address.url, headers=MappingProxyType(address.headers), is_trusted=is_trusted
        )
    except ValidationError as error:
        raise ToolSetupError(f"{where}: {_complaint(error)}") from None


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return (
            f"the key {place!r} is unknown; remove it (known: command, args, env; url, headers; "
            "type)"
        )
    return f"{place}: {str(first['msg']).removeprefix('Value error, ')}"
