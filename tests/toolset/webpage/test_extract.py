"""What is read of a document, in this process; ``test_worker.py`` runs the same in one of its
own."""

from __future__ import annotations

import time

import pytest

from tests.toolset.webpage.documents import ARTICLE, PARAGRAPHS, pdf
from toolset.webpage.extract import TEXT_CAP, TITLE_CAP, extract

JAPANESE = "京都の宇治では、八百年前からお茶が作られています。①～㈱"


def read(body: bytes, kind: str, charset: str = "", seconds: float = 5) -> tuple[str, str, str]:
    """Title, date and text."""
    return extract(body, kind, charset, time.monotonic() + seconds)


def test_the_main_text_of_a_page() -> None:
    """With its title and date; without menus, scripts and the rest."""
    assert read(ARTICLE.encode(), "html") == (
        "Tea of Uji",
        "2026-03-01",
        "\n".join(["Tea of Uji", *PARAGRAPHS]),
    )


def test_a_page_without_an_article_gives_all_its_words() -> None:
    """Better too much than nothing."""
    assert read(b"<p>Closed today", "html")[2] == "Closed today"
    assert read(b"", "html") == ("", "", "")


def test_a_page_of_very_many_tags_is_read_by_simpler_rules() -> None:
    """With more than its main text and without its date, but within the time."""
    rows = "<p>Sencha, the tea of every day, one of very many rows that are here</p>" * 12_000
    title, date, text = read(ARTICLE.replace("<footer>", f"{rows}<footer>").encode(), "html")
    assert (title, date) == ("Tea of Uji | Example", "")
    assert all(paragraph in text for paragraph in PARAGRAPHS)
    assert read(rows.encode(), "html")[0] == ""


def test_a_pdf() -> None:
    """Page by page."""
    assert read(pdf("Sencha", "Matcha"), "pdf") == (
        "Tea in figures",
        "2026-03-01",
        "Sencha\n\nMatcha",
    )


def test_a_pdf_is_read_as_far_as_the_time_goes() -> None:
    """Something is better than nothing."""
    assert read(pdf("Sencha"), "pdf", seconds=0)[2] == ""


def test_a_pdf_without_a_title_or_date() -> None:
    """Both may be absent or nonsense."""
    plain = (
        pdf("Sencha").replace(b"/Title", b"/Other").replace(b"20260301090000Z", b"yesterday-at-09")
    )
    assert read(plain, "pdf") == ("", "", "Sencha")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp932", "euc_jp"])
def test_the_encoding_is_that_of_the_text(encoding: str) -> None:
    """By its mark, by the server's word, or by a guess."""
    text = JAPANESE if encoding != "euc_jp" else JAPANESE[:-3]
    assert (
        read((text * 20).encode(encoding), "plain", "" if encoding.startswith("utf") else encoding)[
            2
        ]
        == text * 20
    )
    assert read((text * 20).encode(encoding), "plain")[2] == text * 20


@pytest.mark.parametrize("charset", ["Shift_JIS", "x-unknown", "zlib", "", "../../x"])
def test_a_page_says_its_encoding_itself(charset: str) -> None:
    """If the server does not, or in a name that does not exist; Windows' characters are in the old
    names."""
    page = (
        '<html><head><meta http-equiv="x" content="text/html; '
        f'charset=Shift_JIS"></head><p>{JAPANESE}'
    )
    assert JAPANESE in read(page.encode("cp932"), "html", charset)[2]


def test_what_fits_no_encoding_is_still_text() -> None:
    """With marks where characters are lost."""
    assert read(b"a\xff\xfe\xfd\x00b", "plain", "utf-8")[2].startswith("a")
    assert read(bytes(range(256)) * 9, "plain")


def test_no_invisible_characters_are_kept() -> None:
    """A person who looks at the page would not see them either."""
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore")
    text = f"a\u200bb\u202e{tags}\x00\x1b[31m\ud800c\u3000 \td\r\n \n\n\ne"
    assert read(text.encode("utf-8", "surrogatepass"), "plain", "utf-8")[2].startswith("ab[31m")
    assert read("a\u3000 \td\r\n \n\n\ne\u00ad".encode(), "plain")[2] == "a d\n\ne"


def test_title_and_text_are_bounded() -> None:
    """Whatever a page holds."""
    page = f"<html><head><title>{'t ' * 1000}</title></head><body><p>{'words ' * 60_000}</p></body></html>"
    title, _, text = read(page.encode(), "html")
    assert (len(title), len(text)) == (TITLE_CAP, TEXT_CAP)
