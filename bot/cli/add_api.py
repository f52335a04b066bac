"""``kaiwa tools add openapi``: writes operations of an OpenAPI document into TOOLS_DIR, as one
file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import msgspec

import toolset
from bot.errors import BadInput
from bot.ops.variable_names import own_variables
from toolset.openapi.api_file import FOLDER, NAME, ApiFile
from toolset.openapi.document import Document
from toolset.openapi.schemas import BadDocument
from toolset.web.decoding import decode_json
from toolset.web.json_values import as_object
from toolset.web.text import one_line

DOCUMENT_CAP = 16 * 1024 * 1024  # bytes
DOWNLOAD_S = 30.0
NO_JSON = (
    "is not JSON. YAML is not read: convert it first, for example with yq -o=json openapi.yaml > "
    "openapi.json, "
    "or ask the server for its openapi.json"
)


def write_api(
    source: str, ids: Sequence[str], *, name: str, server: str, folder: Path
) -> tuple[Path, ApiFile]:
    """Write the chosen operations of a document.

    Args:
        source: a file or an address; the operator's, so any host will do.
        ids: of operations; without any, the error lists them.
        name: by default made of the document's title.

    Raises:
        BadInput: the document cannot be used, an operation is not there, or the file cannot be
            written.
    """
    root = _read(source)
    chosen = name or _name_of(root)
    if not NAME.fullmatch(chosen):
        raise BadInput("--name: write small letters, digits and _, at most 32, such as petstore")
    try:
        document = Document(root, chosen)
        if not ids:
            raise BadInput(f"--only: name at least one operation. There are:\n{_listed(document)}")
        api = document.choose(ids, server, source if _is_address(source) else "")
    except BadDocument as error:
        raise BadInput(f"{source}: {error}") from error
    if taken := set(api.variables) & _variables_of_kaiwa():
        raise BadInput(
            f"--name: choose another; {min(taken)} is a setting of Kaiwa itself, and not for "
            f"{api.server}"
        )
    path = folder / FOLDER / f"{chosen}.json"
    if path.exists():
        raise BadInput(f"{path} is there already; choose another --name, or move it away")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(api), indent=2) + b"\n")
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written to ({error.strerror})") from error
    return path, api


def steps_for_api(path: Path, api: ApiFile, tools_dir: Path | None) -> str:
    """What was written, which variables it needs, and the next command."""
    tools = []
    for one in api.operations:
        risk = "low" if one.method == "GET" else "high"
        tools.append(f"  {one.tool}  {one.method} {one_line(one.path)}  {risk}\n")
    variables = [
        f"\nSet {variable} in the environment or in .env; it is sent to {api.server} and written "
        "nowhere."
        for variable in api.variables
    ]
    folder = path.parents[1]
    setting = f"TOOLS_DIR={shlex.quote(str(folder))} "
    if tools_dir is not None and folder.resolve() == tools_dir.resolve():
        setting = ""
    return (
        f"{path}\n{''.join(tools)}\nThey call {api.server}.{''.join(variables)}\n"
        f"Then see them: {setting}kaiwa tools"
    )


def _variables_of_kaiwa() -> set[str]:
    """Those whose values must not go to an API, whatever a document calls itself."""
    fields = chain.from_iterable(tool.Config.model_fields for tool in toolset.find())
    return own_variables() | {field.upper() for field in fields}


def _read(source: str) -> Any:
    body = _download(source) if _is_address(source) else _from_file(Path(source))
    try:
        return decode_json(body)
    except ValueError as error:
        raise BadInput(f"{source} {NO_JSON}") from error


def _from_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            body = file.read(DOCUMENT_CAP + 1)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    _check_size(body, str(path))
    return body


def _download(url: str) -> bytes:
    body = bytearray()
    try:
        with httpx.stream("GET", url, timeout=DOWNLOAD_S, follow_redirects=True) as response:
            if response.status_code != httpx.codes.OK:
                raise BadInput(f"{url}: cannot be read (status {response.status_code})")
            for chunk in response.iter_bytes():
                body += chunk
                _check_size(body, url)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise BadInput(f"{url}: cannot be read ({type(error).__name__})") from error
    return bytes(body)


def _check_size(body: bytes | bytearray, source: str) -> None:
    if len(body) > DOCUMENT_CAP:
        raise BadInput(f"{source}: is larger than {DOCUMENT_CAP // 1024 // 1024} MiB")


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _name_of(root: Any) -> str:
    """A name made of the title; empty if that leaves nothing."""
    title = as_object(as_object(root).get("info")).get("title")
    if not isinstance(title, str):
        return ""
    words = re.sub(r"[^a-z0-9]+", "_", title[:200].lower())
    return words.lstrip("_0123456789")[:32].rstrip("_")


def _listed(document: Document) -> str:
    def lines() -> Iterator[str]:
        for operation_id, (path, method, _, _) in document.operations.items():
            yield f"  {operation_id}  ({method.upper()} {one_line(path[:200])})"

    return "\n".join(lines())
