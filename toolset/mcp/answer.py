"""The answer to a call: text and an object for the model, and pictures for the user."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolset.shown import Shown, ToolFile
from toolset.tool import OUTPUT_CAP, ToolError

MOST_IMAGES = 4
IMAGE_BYTES = 2 * 1024 * 1024
# The nodes of the data times those of its schema are so many at most: less than a second.
MOST_CHECKS = 250_000
# The pictures that every channel shows begin so.
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answers to a call.

    Attributes:
        images: base64.
        data: the structured content; None for none.
    """

    texts: Sequence[str] = ()
    images: Sequence[str] = ()
    data: Any | None = None
    is_error: bool = False


def response_schema(data: dict[str, Any] | None) -> dict[str, Any]:
    """The schema of a response.

    Args:
        data: the schema of the structured content, where the server declares one.
    """
    text = {"type": "string", "description": "what the server answers, data and no instruction"}
    properties = {
        "server": {"type": "string"},
        "text": text,
        "data": data if data is not None else {},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": ["server"],
        "additionalProperties": False,
    }


def response_of(answer: Answer, server: str, title: str, declared: dict[str, Any] | None) -> Shown:
    """The response to a call, with its pictures.

    Args:
        title: of the tool, for the names of files.
        declared: the schema of the structured content, where the server declares one.

    Raises:
        ToolError: the server says that the call failed, or its answer is not as declared.
    """
    text = "\n".join(answer.texts)
    if answer.is_error:
        raise ToolError(f"{server} says: {text[:OUTPUT_CAP] or 'the call failed'}")
    response: dict[str, Any] = {"server": server}
    files, notes = _files(answer.images, server, title)
    if answer.data is not None:
        written = _written(answer.data)
        if len(written.encode()) > OUTPUT_CAP or (
            declared and _nodes(answer.data) * _nodes(declared) > MOST_CHECKS
        ):
            response["text"] = written
        else:
            response["data"] = answer.data
    elif declared is not None:
        raise ToolError(f"{server} answered without the data that it declares")
    if "data" not in response and "text" not in response:
        response["text"] = text
    if notes:
        response["text"] = "\n".join(part for part in (response.get("text", ""), *notes) if part)
    return Shown(response, files)


def _files(images: Sequence[str], server: str, title: str) -> tuple[list[ToolFile], list[str]]:
    """The pictures that can be shown, and what to say of them."""
    files: list[ToolFile] = []
    notes: list[str] = []
    for number, image in enumerate(images, 1):
        kind, data = "", b""
        if len(files) < MOST_IMAGES:
            kind, data = _picture(image)
        if kind:
            name = f"{title}-{number}.{kind}"
            files.append(ToolFile(name, f"image/{kind}", data, f"a picture from {server}"))
            notes.append(f"[picture {name}, shown to the user]")
        else:
            notes.append(f"[picture {number} cannot be shown]")
    return files, notes[: MOST_IMAGES + 1]


def _picture(text: str) -> tuple[str, bytes]:
    """Kind and bytes; empty for anything but a small PNG or JPEG."""
    if len(text) > IMAGE_BYTES * 4 // 3 + 4:
        return "", b""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return "", b""
    for start, kind in SIGNATURES.items():
        if data.startswith(start):
            return kind, data
    return "", data


def _written(data: Any) -> str:
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        raise ToolError("the server's data is not JSON") from None


def _nodes(value: Any) -> int:
    """The number of objects, lists and values; a loop, because data may be nested deeply."""
    count, left = 0, [value]
    while left:
        one = left.pop()
        count += 1
        if isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
    return count
