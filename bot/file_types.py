"""What kinds of files can be read, by type and by name, and how large they may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Kind = Literal["image", "audio", "video", "pdf", "document", "text", ""]

MIB = 1024 * 1024
# A document becomes text before a model reads it, and so does a text in any encoding.
CANVAS = "application/vnd.slack-docs"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
POWERPOINT = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
DOCUMENTS = {
    WORD: "docx",
    POWERPOINT: "pptx",
    EXCEL: "sheet",
    "application/vnd.ms-excel.sheet.macroenabled.12": "sheet",
    "application/vnd.ms-excel": "sheet",
    "application/vnd.oasis.opendocument.spreadsheet": "sheet",
    "application/vnd.oasis.opendocument.text": "odf",
    "application/vnd.oasis.opendocument.presentation": "odf",
    CANVAS: "canvas",
}
PDF = "application/pdf"
TEXT = "text/plain"
# https://ai.google.dev/gemini-api/docs/image-understanding, …/audio and …/video-understanding: the
# types Gemini reads
IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
AUDIO = (
    "audio/mp4",
    "audio/mpeg",
    "audio/aac",
    "audio/wav",
    "audio/ogg",
    "audio/flac",
    "audio/aiff",
    "audio/webm",
)
VIDEO = (
    "video/mp4",
    "video/mov",
    "video/webm",
    "video/mpeg",
    "video/avi",
    "video/wmv",
    "video/3gpp",
)
READABLE = frozenset((*IMAGES, *AUDIO, *VIDEO, *DOCUMENTS, PDF, TEXT))


def _by_name(table: str) -> dict[str, str]:
    """MIME types by the names that stand behind each in its line."""
    types: dict[str, str] = {}
    for mime, *names in map(str.split, table.strip().splitlines()):
        types |= dict.fromkeys(names, mime)
    return types


# Other names of types.
SAME = _by_name("""
audio/mp4 audio/m4a audio/x-m4a
audio/mpeg audio/mp3
audio/wav audio/x-wav audio/wave
audio/aiff audio/x-aiff
audio/flac audio/x-flac
audio/ogg application/ogg
video/mov video/quicktime
video/avi video/x-msvideo
video/wmv video/x-ms-wmv
video/mp4 video/x-m4v
image/jpeg image/jpg
application/pdf application/x-pdf
text/plain application/json application/xml application/javascript application/x-yaml
text/plain application/toml application/x-sh application/sql
""")
EXTENSIONS = _by_name("""
image/jpeg jpg jpeg
image/png png
image/webp webp
image/heic heic
image/heif heif
application/pdf pdf
audio/mp4 m4a
audio/mpeg mp3
audio/aac aac
audio/wav wav
audio/ogg ogg oga opus
audio/flac flac
audio/aiff aiff aif
video/mp4 mp4 m4v
video/mov mov
video/webm webm
video/mpeg mpg mpeg
video/avi avi
video/wmv wmv
video/3gpp 3gp
application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
application/vnd.ms-excel.sheet.macroenabled.12 xlsm
application/vnd.ms-excel xls
application/vnd.oasis.opendocument.spreadsheet ods
application/vnd.oasis.opendocument.text odt
application/vnd.oasis.opendocument.presentation odp
text/plain txt text md markdown rst log csv tsv json jsonl ndjson yaml yml toml ini cfg conf env
text/plain xml html htm css scss py pyi js mjs jsx ts tsx java kt kts swift c h cc cpp hpp cs go
text/plain rs rb php pl lua r scala dart sh bash zsh ps1 bat sql graphql proto tf vue svelte ex
text/plain exs erl hs clj gradle diff patch tex srt vtt ics
""")
FAMILIES: Mapping[str, Kind] = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "text": "text",
}
MOST_BYTES: Mapping[Kind, int] = {
    "image": 10 * MIB,  # LINE takes no larger one
    "audio": 32 * MIB,
    "video": 32 * MIB,
    "pdf": 12 * MIB,
    "document": 10 * MIB,
    "text": 2 * MIB,
}
PDF_START, PDF_WITHIN = b"%PDF-", 1024  # readers take what stands before
BEGINNINGS = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
}


def type_of(name: str, claimed: str = "") -> str:
    """The MIME type of a file that can be read: by its name's extension, else as the platform says;
    empty for others.

    A platform names most source code, and any file it does not know, ``application/octet-stream``.
    """
    claimed = claimed.partition(";")[0].strip().lower()
    claimed = SAME.get(claimed, claimed)
    if claimed in READABLE:
        return claimed
    stem, dot, extension = name.rpartition(".")
    if by_name := EXTENSIONS.get(extension.lower()) if dot and stem else None:
        return by_name
    return TEXT if claimed.startswith("text/") else ""


def kind_of(mime: str) -> Kind:
    """The kind of a MIME type; empty for one that is never read."""
    if mime == PDF:
        return "pdf"
    if mime in DOCUMENTS:
        return "document"
    return FAMILIES.get(mime.partition("/")[0], "")


def mime_of(data: bytes) -> str:
    """The MIME type of an image by its first bytes; empty for types that models do not read."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in (b"heic", b"heix", b"mif1"):
        return "image/heic"
    return next((mime for start, mime in BEGINNINGS.items() if data.startswith(start)), "")


def checked_type(mime: str, data: bytes) -> str:
    """The MIME type of a file, of a picture by its first bytes; empty if it is not of its kind, or
    empty."""
    kind = kind_of(mime)
    if kind == "image":
        return mime_of(data)
    is_damaged = not data or (kind == "pdf" and PDF_START not in data[:PDF_WITHIN])
    return "" if is_damaged else mime


def label(mime: str, name: str = "") -> str:
    """What a file is, in a line that stands for it: ``image``, ``audio``, ``file report.pdf``."""
    kind = kind_of(mime)
    word = kind if kind in ("image", "audio", "video") else "file"
    return f"{word} {name}" if name else word
