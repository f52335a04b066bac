"""Extracts title, date and text of a document: a program that reads it from standard input and
writes JSON.

``toolset.webpage.worker`` runs it as a process of its own, since parsers of strangers' documents
may take any time and memory. It imports nothing of Kaiwa.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import unescape
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

if TYPE_CHECKING:
    from docx.blkcntnr import BlockItemContainer
    from docx.document import Document as WordDocument
    from docx.table import _Row as WordRow

TEXT_CAP = 200_000  # characters
TITLE_CAP = 300
MAX_PAGES = 500  # of a PDF
MEMORY_CAP = 320 * 1024 * 1024  # bytes of address space; large pages need less than 200 MiB
CPU_CAP_S = 10  # if nobody is there to end the process
UNPACKED_CAP = 100 * 1024 * 1024  # bytes of an office document's parts, as its directory says
MAX_PARTS = 10_000
MAX_ROWS = 100_000  # of a sheet
MAX_SPAN = 63  # columns of a Word table, as Word has them
MANY_TAGS = 20_000  # of a page, for which finding its main text would take too long
GUESSED = 500_000  # bytes of which an encoding is guessed
SPARE_S = 0.5  # of a PDF's time, for what follows its last page

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w:.-]{1,40})", re.IGNORECASE
)
META_WITHIN = 2048  # bytes
TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,300})", re.IGNORECASE)
# Names that stand for more than they say: https://encoding.spec.whatwg.org/#names-and-labels
WIDER = {
    **dict.fromkeys(("shift_jis", "shift_jis_2004", "shift_jisx0213"), "cp932"),
    **dict.fromkeys(("iso8859-1", "ascii"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
}
BLANKS = re.compile(r"[^\S\n]+")
EMPTY_LINES = re.compile(r"\n{3,}")
CELL_BREAKS = re.compile(r"\s+")
BLOCKS = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "tr", "div", "blockquote", "pre", "br")
SHAPING = (*BLOCKS, "td", "th", "script", "style")
BULLETS = {"li": "- ", "h1": "# ", "h2": "## ", "h3": "### "}
PARAGRAPHS = (
    "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}h",
    "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}p",
)

Extract = tuple[str, str, str]  # title, date, text


def main(kind: str, charset: str, seconds: str) -> None:
    """Read standard input, write the result."""
    until = time.monotonic() + float(seconds)
    limit()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries warn there
    title, date, text = extract(sys.stdin.buffer.read(), kind, charset, until)
    result = {"title": title, "date": date, "text": text}
    sys.stdout.buffer.write(json.dumps(result, ensure_ascii=False).encode())


def limit() -> None:
    """Limit this process, as far as the system can; let it be the first to end where memory runs
    out."""
    limits = {
        resource.RLIMIT_AS: MEMORY_CAP,
        resource.RLIMIT_CPU: CPU_CAP_S,
        resource.RLIMIT_FSIZE: 0,
    }
    for kind, value in {**limits, resource.RLIMIT_CORE: 0}.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def extract(body: bytes, kind: str, charset: str, until: float) -> Extract:
    """Title, date (YYYY-MM-DD) and text, empty where unknown.

    The text of a PDF or an office document may end where the time does.

    Args:
        kind: ``html``, ``pdf``, ``plain``, ``text`` (with its indentation), or a kind of office
            document: ``docx``, ``pptx``, ``sheet``, ``odf``, ``canvas``.
    """
    if kind == "text":
        return "", "", _printable(_decoded_text(body))[:TEXT_CAP]
    title, date = "", ""
    if kind == "pdf":
        title, date, text = _pdf(body, until)
    elif kind == "html":
        title, date, text = _html(_decoded(body, charset))
    elif kind in OFFICE:
        text = _joined(OFFICE[kind](body), until)
    else:
        text = _decoded(body, charset)
    return _clean(title).replace("\n", " ")[:TITLE_CAP], date, _clean(text)[:TEXT_CAP]


def _html(html: str) -> Extract:
    from trafilatura import bare_extraction, baseline, html2txt
    from trafilatura.settings import Document

    if html.count("<") > MANY_TAGS:
        title = TITLE.search(html)
        return unescape(title[1]) if title else "", "", baseline(html)[1] or html2txt(html)
    found = bare_extraction(html, with_metadata=True, include_comments=False)
    if not isinstance(found, Document):
        found = Document()
    # A page may leave these tags out.
    text = found.text or html2txt(html) or html2txt(f"<html><body>{html}</body></html>")
    return found.title or "", found.date or "", text


def _pdf(body: bytes, until: float) -> Extract:
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(body))
    texts: list[str] = []
    size = 0
    for number, page in enumerate(reader.pages):
        if number == MAX_PAGES or size > TEXT_CAP or time.monotonic() > until - SPARE_S:
            break
        texts.append(page.extract_text())
        size += len(texts[-1])
    about = reader.metadata
    date = ""
    with suppress(ValueError):
        date = f"{about.creation_date:%Y-%m-%d}" if about and about.creation_date else ""
    return str((about and about.title) or ""), date, "\n\n".join(texts)


def _joined(lines: Iterable[str], until: float) -> str:
    """The lines, as far as time and length allow."""
    found: list[str] = []
    size = 0
    for line in lines:
        found.append(line[:TEXT_CAP])
        size += len(found[-1]) + 1
        if size > TEXT_CAP or time.monotonic() > until - SPARE_S:
            break
    return "\n".join(found)


def _docx(body: bytes) -> Iterator[str]:
    from docx import Document

    _check_parts(body)
    yield from _blocks(Document(BytesIO(body)))


def _blocks(container: BlockItemContainer | WordDocument) -> Iterator[str]:
    from docx.table import Table

    for block in container.iter_inner_content():
        if not isinstance(block, Table):
            yield block.text
            continue
        for row in block.rows:
            yield _row(_cell_texts(row))


def _cell_texts(row: WordRow) -> Iterator[str]:
    """The text of each cell of a row once; places that a merged cell takes beside it are empty.

    ``row.cells`` repeats a text for each place, and looks for it row by row where cells are merged
    downwards.
    """
    from docx.table import _Cell

    for cell in row._tr.tc_lst:
        yield _Cell(cell, row.table).text
        yield from [""] * (min(cell.grid_span, MAX_SPAN) - 1)


def _pptx(body: bytes) -> Iterator[str]:
    from pptx import Presentation

    _check_parts(body)
    for number, slide in enumerate(Presentation(BytesIO(body)).slides, 1):
        yield f"\n[slide {number}]"
        yield from _shapes(slide.shapes)
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if notes is not None and notes.text.strip():
            yield f"[notes] {notes.text}"


def _shapes(shapes: Iterable[Any]) -> Iterator[str]:
    """The text of a slide's shapes; pptx has no common type for those with text, with a table and
    with shapes."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        elif shape.has_text_frame:
            yield shape.text_frame.text
        elif shape.has_table:
            for (
                row
            ) in shape.table._tbl.tr_lst:  # ``table.rows`` looks for each one from the first on
                yield _row(cell.text for cell in row.tc_lst)


def _sheets(body: bytes) -> Iterator[str]:
    from python_calamine import CalamineWorkbook

    if body.startswith(b"PK"):  # the older format is no archive
        _check_parts(body)
    book = CalamineWorkbook.from_filelike(BytesIO(body))
    for name in book.sheet_names:
        yield f"\n[sheet {CELL_BREAKS.sub(' ', name)}]"
        for row in islice(book.get_sheet_by_name(name).iter_rows(), MAX_ROWS):
            yield _row(_cell(value) for value in row).rstrip(" |")


def _odf(body: bytes) -> Iterator[str]:
    from lxml import etree

    _check_parts(body)
    with ZipFile(BytesIO(body)) as archive:
        content = archive.read("content.xml")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    # Paragraphs may stand in paragraphs, as those of footnotes do: each text is taken once, by the
    # outermost.
    paragraphs = etree.iterwalk(
        etree.fromstring(content, parser), events=("start",), tag=PARAGRAPHS
    )
    for _, paragraph in paragraphs:
        yield "".join(str(text) for text in paragraph.itertext())
        paragraphs.skip_subtree()


def _canvas(body: bytes) -> Iterator[str]:
    """A canvas of Slack's, which is a page without anything beside its text."""
    from lxml.html import HtmlElement, fromstring

    page: HtmlElement = fromstring(f"<div>{_decoded(body, 'utf-8')}</div>")
    for element in page.iter(*SHAPING):
        if element.tag in ("script", "style"):
            element.text = None
        elif element.tag in BLOCKS:
            element.tail = f"\n{element.tail or ''}"
            element.text = f"{BULLETS.get(element.tag, '')}{element.text or ''}"
        else:
            element.tail = f" | {element.tail or ''}"
    yield from page.text_content().splitlines()


OFFICE = {"canvas": _canvas, "docx": _docx, "pptx": _pptx, "sheet": _sheets, "odf": _odf}


def _check_parts(body: bytes) -> None:
    """Refuse an archive that says that it unpacks to too much; what it does not say, the memory
    limit refuses.

    Raises:
        ValueError: the archive is too large.
        BadZipFile: it is no archive.
    """
    with ZipFile(BytesIO(body)) as archive:
        parts = archive.infolist()
        if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > UNPACKED_CAP:
            raise ValueError("the document is too large")


def _row(cells: Iterable[str]) -> str:
    return " | ".join(CELL_BREAKS.sub(" ", cell).strip() for cell in cells)


def _cell(value: object) -> str:
    """A cell as people write it: whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _decoded_text(body: bytes) -> str:
    """The text of a file that its name calls a text.

    Raises:
        ValueError: it is none.
    """
    if b"\0" in body and not body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("no text")
    return _decoded(body, "")


def _printable(text: str) -> str:
    """The text with its lines and indentation, without other invisible characters."""
    lines = text[: 2 * TEXT_CAP].replace("\r\n", "\n").replace("\r", "\n")
    return "".join(
        character for character in lines if character in "\n\t" or character.isprintable()
    )


def _decoded(body: bytes, charset: str) -> str:
    """The text: by its byte order mark, the server's word, its own word, or what fits."""
    mark = next((name for mark, name in BYTE_ORDER_MARKS.items() if body.startswith(mark)), "")
    meta = META_CHARSET.search(body[:META_WITHIN])
    names = [mark, charset, "utf-8"]
    if meta:
        names.insert(2, meta[1].decode("ascii", "replace"))
    for name in names:
        errors = "strict" if name == "utf-8" else "replace"
        # A name may be unknown, of no encoding of texts, or wrong.
        with suppress(LookupError, ValueError):
            known = codecs.lookup(name).name
            return body.decode(WIDER.get(known, known), errors)
    from charset_normalizer import from_bytes

    guess = from_bytes(body[:GUESSED]).best()
    known = codecs.lookup(guess.encoding if guess else "utf-8").name
    return body.decode(WIDER.get(known, known), "replace")


def _clean(text: str) -> str:
    """The text without invisible characters and without more than one blank or empty line in a
    row."""
    letters: list[str] = []
    for letter in text[: 2 * TEXT_CAP]:
        if letter == "\n" or letter.isprintable():
            letters.append(letter)
        elif letter.isspace():
            letters.append(" ")
    lines = map(str.strip, BLANKS.sub(" ", "".join(letters)).split("\n"))
    return EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
