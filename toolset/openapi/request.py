"""Arguments of a model as an HTTP request: no value reaches another path, parameter or header than
its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from toolset.openapi.api_file import DOTS, PLACEHOLDER, Operation, Parameter
from toolset.tool import ToolError

SEPARATORS = {"comma": ",", "space": " ", "pipe": "|"}


@dataclass(slots=True)
class RequestParts:
    """Path, query, headers and body of a request; everything in ``target`` is quoted."""

    path: str = ""
    query: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None

    @property
    def target(self) -> str:
        if not self.query:
            return self.path
        return f"{self.path}?{'&'.join(self.query)}"

    def add_query(self, name: str, value: str) -> None:
        self.query.append(f"{quoted(name)}={quoted(value)}")


def request_parts(operation: Operation, arguments: Mapping[str, Any]) -> RequestParts:
    """What is sent for these arguments, which fit the operation's schema.

    Raises:
        ToolError: a value cannot be part of a path or a header.
    """
    parts = RequestParts()
    in_path: dict[str, str] = {}
    for parameter in operation.parameters:
        if parameter.argument not in arguments:
            continue
        value = arguments[parameter.argument]
        if parameter.place == "path":
            in_path[parameter.name] = _path_value(parameter, value)
        elif parameter.place == "query":
            _add_to_query(parts, parameter, value)
        elif parameter.place == "header":
            parts.headers[parameter.name] = _header_value(parameter, value)
        else:
            parts.content = json.dumps(value, ensure_ascii=True, allow_nan=False).encode()
            parts.headers["Content-Type"] = operation.content_type
    parts.path = PLACEHOLDER.sub(lambda match: in_path[match[1]], operation.path)
    return parts


def quoted(text: str) -> str:
    """The text for one place in a path or a query."""
    return quote(text, safe="", errors="replace")


def _path_value(parameter: Parameter, value: Any) -> str:
    texts = list(map(_text, value)) if isinstance(value, list) else [_text(value)]
    whole = ",".join(texts)
    if not whole or DOTS.search(whole):
        raise ToolError(f"invalid parameters: {parameter.argument}: cannot be part of a path")
    return ",".join(map(quoted, texts))


def _add_to_query(parts: RequestParts, parameter: Parameter, value: Any) -> None:
    if parameter.form == "json":
        parts.add_query(parameter.name, _json(value))
    elif isinstance(value, list) and parameter.form in SEPARATORS:
        parts.add_query(parameter.name, SEPARATORS[parameter.form].join(map(_text, value)))
    elif isinstance(value, list):
        for one in value:
            parts.add_query(parameter.name, _text(one))
    elif isinstance(value, dict) and parameter.form == "deep":
        for name, one in value.items():
            parts.add_query(f"{parameter.name}[{name}]", _text(one))
    else:
        parts.add_query(parameter.name, _text(value))


def _header_value(parameter: Parameter, value: Any) -> str:
    if parameter.form == "json":
        whole = _json(value)
    elif isinstance(value, list):
        whole = ",".join(map(_text, value))
    else:
        whole = _text(value)
    if not (whole.isascii() and whole.isprintable()):
        raise ToolError(
            f"invalid parameters: {parameter.argument}: only plain ASCII text can be part of a "
            "header"
        )
    return whole.strip()


def _text(value: Any) -> str:
    """A value outside JSON; lists and objects inside others stay JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
