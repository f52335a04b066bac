"""Office documents and texts become text, in a process that hostile ones end with."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.growth import assert_grows
from tests.toolset.webpage.office_files import (
    BOMB,
    ROWS,
    archive,
    long_table,
    merged_table,
    open_document,
    sheet,
    slides,
    with_part,
    word,
)
from toolset.tool import ToolError
from toolset.webpage.extract import MAX_PARTS, UNPACKED_CAP, extract
from toolset.webpage.worker import UNREADABLE, read_file

TABLE = "Tea | Price\nSencha | 1200\nGyokuro | 2400.5"
SPACES = b" " * (UNPACKED_CAP + 1)


def text_of(kind: str, body: bytes, seconds: float = 20) -> str:
    return extract(body, kind, "", time.monotonic() + seconds)[2]


def test_a_word_document_is_read_in_its_order() -> None:
    """Paragraphs, and tables row by row."""
    rows = [[str(value).removesuffix(".0") for value in row] for row in ROWS]
    assert (
        text_of("docx", word("お茶の値段", "As of today:", rows=rows))
        == f"お茶の値段\nAs of today:\n{TABLE}"
    )


def test_a_presentation_is_read_slide_by_slide() -> None:
    """With its groups, tables and notes."""
    found = text_of("pptx", slides("First", "Second", notes="Say hello", rows=[("a", "b")]))
    assert found == "[slide 1]\nFirst\n\n[slide 2]\nSecond\nin a group\na | b\n[notes] Say hello"


def test_a_workbook_is_read_row_by_row() -> None:
    """Whole numbers as they are written."""
    assert text_of("sheet", sheet()) == f"[sheet Teas]\n{TABLE}"


def test_an_open_document_is_read() -> None:
    """Its paragraphs."""
    assert (
        text_of("odf", open_document("One", "<t:span>Two</t:span> and more")) == "One\nTwo and more"
    )


def test_a_paragraph_within_a_paragraph_is_read_once() -> None:
    """A footnote's is; each level of deep ones would repeat all that is below it."""
    assert (
        text_of("odf", open_document("One<t:note><t:p>(Two)</t:p></t:note>", "Three"))
        == "One(Two)\nThree"
    )


def test_the_text_of_a_merged_cell_is_read_once() -> None:
    """Three columns in one, as often as there are rows; a document may claim a billion of them."""
    assert text_of("docx", merged_table(2, 3)) == "tea | |\ntea | |"
    assert text_of("docx", merged_table(1, 1_000_000_000)) == f"tea{' |' * 62}"


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("docx", lambda size: merged_table(size // 50)),
        ("docx", lambda size: merged_table(size // 50, downwards=True)),
        ("pptx", lambda size: long_table(size // 12)),
    ],
    ids=["docx", "docx merged downwards", "pptx"],
)
def test_a_document_is_read_in_linear_time(kind: str, shape: Callable[[int], bytes]) -> None:
    """Else a few kilobytes would occupy its reader until the time is over."""
    assert_grows(lambda body: text_of(kind, body, 600), {kind: shape})


def test_a_canvas_is_read_whole() -> None:
    """Headings, lists and tables; scripts are no text."""
    page = """<h1>Plan</h1><p>Ein <b>großer</b> Plan</p><ul><li>one</li><li>two</li></ul><script>x()</script>
<table><tr><td>a</td><td>b</td></tr></table>"""
    assert text_of("canvas", page.encode()) == "# Plan\nEin großer Plan\n- one\n- two\n\na | b |"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"def f():\r\n\treturn  1\r\n", "def f():\n\treturn  1\n"),
        ("名前,値段\n煎茶,1200\n".encode("cp932"), "名前,値段\n煎茶,1200\n"),
        ("名前".encode("utf-16"), "名前"),
        (b'{"a": 1}\x1b[2J', '{"a": 1}[2J'),
        (b"", ""),
    ],
)
def test_a_text_keeps_its_lines_and_indentation(body: bytes, text: str) -> None:
    """In the encoding it was written in, without invisible characters."""
    assert text_of("text", body) == text


async def test_a_document_is_read_in_another_process() -> None:
    """Which has its libraries, and ends with it."""
    for kind, body in (
        ("docx", word("tea")),
        ("pptx", slides("tea")),
        ("odf", open_document("tea")),
    ):
        assert (await read_file(kind, body, 20)).endswith("tea")


def test_a_text_ends_where_the_time_or_the_length_does() -> None:
    """What there is until then is kept."""
    assert text_of("docx", word(*["tea"] * 30), 0.0) == "tea"
    long = word(*["x" * 150_000] * 3)
    assert text_of("docx", long) == f"{'x' * 150_000}\n{'x' * 49_999}"


def test_what_is_too_much_or_no_text_is_refused() -> None:
    """Before it is read."""
    too_many = archive({str(part): b"" for part in range(MAX_PARTS + 1)})
    for kind, body in (("odf", too_many), ("text", b"a\0b")):
        with pytest.raises(ValueError, match=r"too large|no text"):
            text_of(kind, body)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text", lambda: b"\x7fELF\x00\x01"),
        ("docx", lambda: b"no archive"),
        ("docx", lambda: archive({"a": b""})),
        ("docx", lambda: with_part(word("x"), "word/media/image1.png", SPACES)),
        ("pptx", lambda: with_part(slides("x"), "ppt/media/image1.png", SPACES)),
        ("sheet", lambda: with_part(sheet(), "xl/sharedStrings.xml", SPACES)),
        ("sheet", lambda: b"\xd0\xcf\x11\xe0 an old workbook, damaged"),
        ("odf", lambda: archive({"content.xml": SPACES})),
        ("odf", lambda: archive({f"{number}": b"" for number in range(10_001)})),
        (
            "odf",
            lambda: open_document(
                doctype=BOMB.replace(b"DOCTYPE a", b"DOCTYPE o:d"), inside=b"<t:p>&h;</t:p>"
            ),
        ),
    ],
    ids=[
        "program",
        "none",
        "empty",
        "docx bomb",
        "pptx bomb",
        "xlsx bomb",
        "xls",
        "odt bomb",
        "parts",
        "entities",
    ],
)
async def test_what_is_damaged_or_hostile_is_an_error(kind: str, body: Callable[[], bytes]) -> None:
    """Archives that unpack to too much, entities that multiply, and what is something else."""
    with pytest.raises(ToolError, match=f"^{UNREADABLE}$"):
        await read_file(kind, body(), 20)


def test_entities_are_not_replaced() -> None:
    """Neither by files of this machine nor by text."""
    doctype = b"<!DOCTYPE o:d [<!ENTITY e SYSTEM 'file:///etc/passwd'><!ENTITY f 'found'>]>"
    found = text_of("odf", open_document("before", doctype=doctype, inside=b"<t:p>&e;&f;</t:p>"))
    assert "root" not in found
    assert found.startswith("before")


async def test_a_sheet_that_claims_a_million_columns_is_read_or_refused() -> None:
    """A cell at the end of the sheet must not take the memory of all before it."""
    cells = (
        b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c '
        b'r="XFD1048576"><v>2</v></c></row>'
    )
    page = (
        b"<worksheet "
        b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%b</sheetData></worksheet>'
    )
    with pytest.raises(ToolError, match=UNREADABLE):
        await read_file("sheet", with_part(sheet(), "xl/worksheets/sheet1.xml", page % cells), 20)
