"""Documents of the worst kind, and ordinary ones."""

from __future__ import annotations

import zlib
from io import BytesIO

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

PARAGRAPHS = [
    (
        f"Chapter {number}: tea has been grown in Uji near Kyoto for eight hundred years, and "
        "people "
        "travel there for it."
    )
    for number in range(5)
]
ARTICLE = f"""<!doctype html><html><head><title>Tea of Uji | Example</title>
<meta property="og:title" content="Tea of Uji"><meta property="article:published_time" content="2026-03-01T09:00:00Z">
</head><body><nav><a href="/">Home</a> <a href="/about">About us</a></nav><article><h1>Tea of Uji</h1>
{"".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)}</article>
<script>alert("no")</script><footer>Imprint</footer></body></html>"""


def pdf(*pages: str, password: str = "") -> bytes:
    """A PDF with a line of text on each page."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 10 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = content
    writer.add_metadata({"/Title": "Tea in figures", "/CreationDate": "D:20260301090000Z"})
    if password:
        writer.encrypt(password)
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def pdf_bomb() -> bytes:
    """A page whose content is 420 MB after two decompressions, more than its reader may occupy, in
    less than a page's two megabytes."""
    twice = zlib.compress(zlib.compress(b"(a) Tj " * 60_000_000, 1), 9)
    content = b"<</Filter [/FlateDecode /FlateDecode] /Length %d>> stream\n%s\nendstream" % (
        len(twice),
        twice,
    )
    objects = [
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources <<>> /Contents 4 0 R>>",
        content,
    ]
    body = b"%PDF-1.4\n"
    offsets = []
    for number, item in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer <</Size 5 /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(body)
    return body + b"xref\n0 5\n0000000000 65535 f \n" + table + trailer
