"""The answer to a call is data: bounded, marked with its server, with pictures as files."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.fakes.mcp_server import PNG
from toolset.mcp.answer import IMAGE_BYTES, Answer, response_of, response_schema
from toolset.schema import Schema
from toolset.tool import ToolError

PICTURE = base64.b64encode(PNG).decode()
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0picture").decode()
WEBP = base64.b64encode(b"RIFF\0\0\0\0WEBPVP8 ").decode()
TOTAL = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}


def response(answer: Answer, declared: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the model gets, which must be as declared."""
    response = response_of(answer, "s", "s_t", declared).response
    assert Schema(response_schema(declared)).complaint(response) == ""
    return response


def test_texts_are_one_text() -> None:
    """In their order; an empty answer is one, too."""
    assert response(Answer(["one", "two"])) == {"server": "s", "text": "one\ntwo"}
    assert response(Answer()) == {"server": "s", "text": ""}


def test_data_replaces_text() -> None:
    """Which repeats it; what was declared is checked."""
    assert response(Answer(["3"], data={"total": 3}), TOTAL) == {
        "server": "s",
        "data": {"total": 3},
    }
    assert response(Answer(["3"], data=[3])) == {"server": "s", "data": [3]}
    assert Schema(response_schema(TOTAL)).complaint({"server": "s", "data": {"total": "3"}}) != ""


def test_data_that_is_missing_or_none_is_an_error() -> None:
    """A server that declares data must send it."""
    with pytest.raises(ToolError, match="s answered without the data that it declares"):
        response(Answer(["3"]), TOTAL)
    with pytest.raises(ToolError, match="not JSON"):
        response(Answer(data=float("nan")))


def test_data_that_takes_long_to_check_becomes_text() -> None:
    """And is cut like any text."""
    wide = {"type": "array", "items": {"anyOf": [{"const": number} for number in range(300)]}}
    assert set(response(Answer(data=[-1] * 10_000), wide)) == {"server", "text"}
    assert set(response(Answer(data="x" * 70_000))) == {"server", "text"}


def test_a_failure_is_an_error_with_the_servers_words() -> None:
    """Or with none."""
    with pytest.raises(ToolError, match="s says: no such file"):
        response(Answer(["no such file"], is_error=True))
    with pytest.raises(ToolError, match="s says: the call failed"):
        response(Answer(is_error=True))


def test_pictures_are_files() -> None:
    """Of the kind that their bytes show; the model reads their names."""
    answer = response_of(Answer(["here"], [PICTURE, JPEG]), "s", "s_t", None)
    assert [(file.name, file.mime, file.text) for file in answer.files] == [
        ("s_t-1.png", "image/png", "a picture from s"),
        ("s_t-2.jpeg", "image/jpeg", "a picture from s"),
    ]
    assert answer.files[0].data == PNG
    shown = "here\n[picture s_t-1.png, shown to the user]\n[picture s_t-2.jpeg, shown to the user]"
    assert answer.response == {"server": "s", "text": shown}


@pytest.mark.parametrize(
    "image", ["no base64!", WEBP, base64.b64encode(b"<svg/>").decode(), "A" * (IMAGE_BYTES * 2)]
)
def test_what_is_no_small_picture_is_not_shown(image: str) -> None:
    """The model is told so; no channel shows WebP."""
    answer = response_of(Answer(images=[image], data=1), "s", "s_t", None)
    assert (answer.files, answer.response["text"]) == ([], "[picture 1 cannot be shown]")


def test_there_are_few_pictures() -> None:
    """However many a server sends."""
    answer = response_of(Answer(images=[PICTURE] * 1_000), "s", "s_t", None)
    assert (len(answer.files), answer.response["text"].count("\n")) == (4, 4)
