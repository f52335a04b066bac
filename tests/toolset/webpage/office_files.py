"""Office documents as people make them, and such as nobody should open."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import docx
import pptx
import xlsxwriter
from pptx.util import Inches

ROWS = (("Tea", "Price"), ("Sencha", 1200.0), ("Gyokuro", 2400.5))
BOMB = b"<!DOCTYPE a [<!ENTITY a '%b'>%b]>" % (
    b"lol" * 100,
    b"".join(b"<!ENTITY %c '%b'>" % (98 + n, b"&%c;" % (97 + n) * 40) for n in range(8)),
)


def word(*paragraphs: str, rows: Sequence[Sequence[object]] = ()) -> bytes:
    """A docx of paragraphs, with a table below."""
    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if rows:
        table = document.add_table(len(rows), len(rows[0]))
        for line, row in zip(table.rows, rows, strict=True):
            for cell, value in zip(line.cells, row, strict=True):
                cell.text = str(value)
    return _saved(document)


def slides(*texts: str, notes: str = "", rows: Sequence[Sequence[object]] = ()) -> bytes:
    """A pptx with a slide for each text; notes, a group and a table on the last one."""
    show = pptx.Presentation()
    slide = None
    for text in texts:
        slide = show.slides.add_slide(show.slide_layouts[6])
        slide.shapes.add_textbox(0, 0, Inches(4), Inches(1)).text_frame.text = text
    if slide is not None and notes:
        slide.notes_slide.notes_text_frame.text = notes
        inner = slide.shapes.add_group_shape().shapes.add_textbox(0, 0, Inches(1), Inches(1))
        inner.text_frame.text = "in a group"
        slide.shapes.add_connector(1, 0, 0, Inches(1), Inches(1))
    if slide is not None and rows:
        table = slide.shapes.add_table(len(rows), len(rows[0]), 0, 0, Inches(4), Inches(2)).table
        for line, row in enumerate(rows):
            for column, value in enumerate(row):
                table.cell(line, column).text = str(value)
    return _saved(show)


def sheet(rows: Sequence[Sequence[object]] = ROWS, name: str = "Teas") -> bytes:
    """An xlsx with one sheet."""
    buffer = BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True})
    page = book.add_worksheet(name)
    for line, row in enumerate(rows):
        page.write_row(line, 0, row)
    book.close()
    return buffer.getvalue()


def open_document(*paragraphs: str, doctype: bytes = b"", inside: bytes = b"") -> bytes:
    """An odt of paragraphs."""
    name = b"urn:oasis:names:tc:opendocument:xmlns:"
    body = b"".join(b"<t:p>%b</t:p>" % paragraph.encode() for paragraph in paragraphs)
    content = b"<?xml version='1.0'?>%b<o:d xmlns:o='%boffice:1.0' xmlns:t='%btext:1.0'>%b%b</o:d>"
    return archive({"content.xml": content % (doctype, name, name, body, inside)})


def merged_table(rows: int, span: int = 1, *, downwards: bool = False) -> bytes:
    """A docx with a table of one column, or of many that are merged in each row, or with all of its
    rows merged."""
    properties = f'<w:tcPr><w:gridSpan w:val="{span}"/>{"<w:vMerge/>" * downwards}</w:tcPr>'
    row = f"<w:tr><w:tc>{properties}<w:p><w:r><w:t>tea</w:t></w:r></w:p></w:tc></w:tr>"
    return _with_xml(word(rows=["x"]), "word/document.xml", r"<w:tr>.*</w:tr>", row * rows)


def long_table(rows: int) -> bytes:
    """A pptx with a table of so many rows, all alike."""
    row = (
        "<a:tr "
        'h="1"><a:tc><a:txBody><a:bodyPr/><a:p><a:r><a:t>tea</a:t></a:r></a:p></a:txBody></a:tc></a:tr>'
    )
    return _with_xml(
        slides("x", rows=["x"]), "ppt/slides/slide1.xml", r"<a:tr .*</a:tr>", row * rows
    )


def _with_xml(document: bytes, name: str, pattern: str, new: str) -> bytes:
    with ZipFile(BytesIO(document)) as file:
        xml = file.read(name).decode()
    return with_part(document, name, re.sub(pattern, new, xml, flags=re.DOTALL).encode())


def archive(parts: Mapping[str, bytes]) -> bytes:
    """A zip."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=1) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return buffer.getvalue()


def with_part(document: bytes, name: str, content: bytes) -> bytes:
    """The document with another content of one part."""
    with ZipFile(BytesIO(document)) as file:
        parts = {one: file.read(one) for one in file.namelist()}
    return archive(parts | {name: content})


def _saved(document: docx.document.Document | pptx.presentation.Presentation) -> bytes:
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()
