"""What a file is: by its type where that says something, else by its name."""

from __future__ import annotations

import pytest

from bot.file_types import (
    CANVAS,
    EXCEL,
    EXTENSIONS,
    MOST_BYTES,
    PDF,
    POWERPOINT,
    READABLE,
    SAME,
    TEXT,
    WORD,
    kind_of,
    label,
    type_of,
)

UNKNOWN = "application/octet-stream"


@pytest.mark.parametrize(
    ("name", "claimed", "mime"),
    [
        ("a.pdf", "", PDF),
        ("A.PDF", UNKNOWN, PDF),
        ("a", "application/pdf", PDF),
        ("a.docx", UNKNOWN, WORD),
        ("a.xlsx", "", EXCEL),
        ("a.pptx", "", POWERPOINT),
        ("main.py", "text/x-python", TEXT),
        ("main.py", UNKNOWN, TEXT),
        ("data.csv", "text/csv; charset=utf-8", TEXT),
        ("data.json", "application/json", TEXT),
        ("notes", "text/plain", TEXT),
        ("clip.m4a", "audio/x-m4a", "audio/mp4"),
        ("film.mov", "video/quicktime", "video/mov"),
        ("film.mp4", "", "video/mp4"),
        ("canvas", CANVAS, CANVAS),
        ("photo.jpg", "image/jpg", "image/jpeg"),
        ("moving.gif", "image/gif", ""),
        ("drawing.svg", "image/svg+xml", ""),
        ("letter.doc", "application/msword", ""),
        ("all.zip", "application/zip", ""),
        ("setup.exe", UNKNOWN, ""),
        (".py", "", ""),
        ("Makefile", "", ""),
        ("", "", ""),
    ],
)
def test_the_type_of_a_file(name: str, claimed: str, mime: str) -> None:
    """Empty for what cannot be read."""
    assert type_of(name, claimed) == mime


def test_every_type_has_a_kind_and_a_limit() -> None:
    """Also those that names stand for."""
    assert {*EXTENSIONS.values(), *SAME.values()} <= READABLE
    assert all(kind_of(mime) in MOST_BYTES for mime in READABLE)
    assert kind_of("application/zip") == ""


def test_a_file_is_named_in_a_line() -> None:
    """By what it is, and by its name where it has one."""
    assert label("audio/mp4") == "audio"
    assert label("video/mp4", "a.mp4") == "video a.mp4"
    assert label(WORD, "a.docx") == "file a.docx"
    assert label("application/zip") == "file"
