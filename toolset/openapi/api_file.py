"""The file of an API in TOOLS_DIR: its server, and the operations that were chosen of it, with all
they need."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct, field

from toolset.tool import ToolSetupError
from toolset.web.decoding import decode_json

# The files are in this folder of TOOLS_DIR.
FOLDER = "openapi"
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# Such a part of a path leads elsewhere.
DOTS = re.compile(r"(^|[/\\])\.{1,2}([/\\]|$)")
PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
# Headers of the connection, and those that decide who asks whom.
OWN_HEADERS = re.compile(
    r"(?i)host|cookie|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|via|forwarded"
    r"|proxy-.*|x-forwarded-.*|x-real-ip|x-http-method.*|accept.*|authorization"
)

Place = Literal["path", "query", "header", "body"]
Form = Literal["comma", "repeated", "space", "pipe", "deep", "json"]


class Parameter(Struct, frozen=True, forbid_unknown_fields=True):
    """Where an argument of the model goes.

    Attributes:
        argument: the model's name for it.
        name: the API's name for it.
        form: how a list or an object is written.
    """

    argument: str
    name: str
    place: Place = field(name="in")
    form: Form = "comma"


class Operation(Struct, frozen=True, forbid_unknown_fields=True):
    """One operation, as a tool.

    Attributes:
        path: with ``{name}`` for each parameter in it.
        credentials: names of those that it sends, all of them.
        content_type: of the body.
    """

    tool: str
    operation: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    description: str
    arguments: dict[str, Any]
    parameters: list[Parameter]
    credentials: list[str]
    content_type: str = "application/json"


class Credential(Struct, frozen=True, forbid_unknown_fields=True):
    """A secret that is read from the environment.

    Attributes:
        variables: one, or user name and password.
        name: of the header or the query's parameter.
    """

    kind: Literal["header", "query", "bearer", "basic"]
    variables: list[str]
    name: str = ""


class ApiFile(Struct, frozen=True, forbid_unknown_fields=True):
    """An API.

    Attributes:
        server: the address that every path is appended to.
    """

    name: str
    server: str
    credentials: dict[str, Credential]
    operations: list[Operation]

    @property
    def variables(self) -> list[str]:
        """All that are read from the environment."""
        return [
            variable
            for credential in self.credentials.values()
            for variable in credential.variables
        ]


def checked_server(address: str) -> str:
    """The address without a slash at its end.

    Raises:
        ValueError: it is no address of a server.
    """
    parts = urlsplit(address)
    is_plain = not (
        parts.query
        or parts.fragment
        or "@" in parts.netloc
        or re.search(r"[\s\\{}]|/\.{1,2}(/|$)", address)
    )
    # parts.port raises ValueError for a bad port.
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.port == 0
        or not is_plain
    ):
        raise ValueError(
            "write the server as https://host or http://host:port, with its path where it has one"
        )
    return address.rstrip("/")


def has_parameters(path: str, names: Set[str]) -> bool:
    """Whether a path can be asked for, and holds exactly these parameters."""
    is_plain = not (re.search(r"[?#\s]", path) or DOTS.search(path))
    return is_plain and set(PLACEHOLDER.findall(path)) == names


def may_be_header(name: str) -> bool:
    """Whether an argument may be a header of this name."""
    return bool(HEADER.fullmatch(name)) and not OWN_HEADERS.fullmatch(name)


def read_api_files(folder: Path | None) -> list[tuple[Path, ApiFile]]:
    """The APIs in an operator's folder, in the order of their names.

    Raises:
        ToolSetupError: a file is not what ``kaiwa tools add openapi`` has written.
    """
    files = sorted((folder / FOLDER).glob("*.json")) if folder else []
    return [(path, _read(path)) for path in files]


def _read(path: Path) -> ApiFile:
    try:
        api = decode_json(path.read_bytes(), ApiFile)
        checked_server(api.server)
        for operation in api.operations:
            _check(operation, api)
    except (OSError, ValueError) as error:
        raise ToolSetupError(f"{path} cannot be used: {error}") from error
    return api


def _check(operation: Operation, api: ApiFile) -> None:
    """Raises ValueError: the parts of an operation do not belong together."""
    in_path = {parameter.name for parameter in operation.parameters if parameter.place == "path"}
    if not (operation.path.startswith("/") and has_parameters(operation.path, in_path)):
        raise ValueError(
            f"{operation.tool}: the path must begin with / and contain exactly its parameters"
        )
    if missing := [name for name in operation.credentials if name not in api.credentials]:
        raise ValueError(f"{operation.tool}: there is no credential {missing[0]}")
    for parameter in operation.parameters:
        if parameter.place == "header" and not may_be_header(parameter.name):
            raise ValueError(f"{operation.tool}: the header {parameter.name} cannot be an argument")
