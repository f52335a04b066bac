"""Files people send: as they are where the model reads them, else as text, else a line that says
why not."""

from __future__ import annotations

from functools import partial

import pytest

from bot.channels import InboundEvent, Take
from bot.errors import TryAgain
from bot.features.attachments.reader import FileReader
from bot.file_types import EXCEL, MIB, PDF, TEXT, WORD
from bot.pipeline.history import read_history
from bot.pipeline.media import (
    DAMAGED,
    EARLIER,
    IN_FLIGHT,
    MOST,
    NOT_TAKEN,
    TEXT_CAP,
    TOO_LARGE,
    UNFIT,
    ByteSemaphore,
    TurnMedia,
)
from bot.providers import MediaSupport
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Media, Message, Text, encode
from tests.bot.harness import HERE, Harness, Mailbox, texts
from tests.toolset.webpage.documents import pdf
from tests.toolset.webpage.office_files import sheet, word

SOUND = Media("voice", "audio/mp4")
REPORT = Media("report", PDF, name="report.pdf")
NOTES = Media("notes", TEXT, name="notes.md")
EVERYTHING = MediaSupport(frozenset(("image", "audio", "video", "pdf")))
PICTURES = MediaSupport(frozenset(("image",)))


class Drive(Mailbox):
    """A channel that keeps files by their refs, and hands them over in pieces."""

    def __init__(self, **stored: bytes) -> None:
        super().__init__()
        self.stored = stored
        self.fetched: list[str] = []

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        self.fetched.append(media.ref)
        data = self.stored.get(media.ref, b"")
        return bool(data) and all(take(data[at : at + MIB]) for at in range(0, len(data), MIB))


class Shelf:
    """A vendor's place for files.

    Attributes:
        stored: types by address.
        is_closed: it takes nothing.
    """

    def __init__(self) -> None:
        self.stored: dict[str, str] = {}
        self.taken: list[tuple[int, str]] = []
        self.is_closed = False

    async def upload(self, data: bytes, mime: str) -> str:
        if self.is_closed:
            raise TryAgain("model_down", "the shelf is closed")
        self.taken.append((len(data), mime))
        uri = f"shelf/{len(self.taken)}"
        self.stored[uri] = mime
        return uri

    async def delete(self, uri: str) -> None:
        del self.stored[uri]


def harness(
    store: Store, drive: Drive, media: MediaSupport = EVERYTHING, answers: int = 1
) -> Harness:
    made = Harness(store, [Step(f"answer {number}") for number in range(answers)], drive)
    made.model.media = media
    return made


async def send(
    here: Harness, *parts: Media | Text, message_id: str = "m1", author: Author | None = None
) -> None:
    """Somebody sends files, and the turn is taken."""
    message = Message(message_id, "user", parts, 1, author or Author("u1"))
    assert await here.store.inbox.accept(HERE, message_id, encode(InboundEvent(message)))
    await here.process()


def shown(here: Harness) -> list[str | Media]:
    """The parts of the newest request's last message: words, and files with their contents."""
    parts = here.model.requests[-1].messages[-1].parts
    return [
        part.text if isinstance(part, Text) else part
        for part in parts
        if isinstance(part, Text | Media)
    ]


async def test_a_recording_and_a_pdf_go_to_a_model_that_reads_them(store: Store) -> None:
    """As they are; the history keeps what they were, and no byte of them."""
    report = pdf("Sencha")
    here = harness(store, Drive(voice=b"sound", report=report))
    await send(here, Text("Listen and read"), SOUND, REPORT)
    voice, document = (
        Media("voice", "audio/mp4", 5, b"sound"),
        Media("report", PDF, len(report), report, "report.pdf"),
    )
    assert shown(here) == ["Listen and read", voice, "[file report.pdf: attached below]", document]
    stored = (await read_history(store, HERE))[0].parts
    assert stored[1:] == (
        Media("voice", "audio/mp4", 5),
        Media("report", PDF, len(report), name="report.pdf"),
    )


async def test_documents_become_text_between_lines_that_they_cannot_hold(store: Store) -> None:
    """And what stands there is called data."""
    drive = Drive(letter=word("Dear all", "Yours"), prices=sheet(), notes=b"# Tea\n\n  - sencha\n")
    here = harness(store, drive)
    letter, prices = (
        Media("letter", WORD, name="letter.docx"),
        Media("prices", EXCEL, name="prices.xlsx"),
    )
    await send(here, letter, prices, NOTES)
    for part, name, text in zip(
        shown(here),
        ("letter.docx", "prices.xlsx", "notes.md"),
        (
            "Dear all\nYours",
            "[sheet Teas]\nTea | Price\nSencha | 1200\nGyokuro | 2400.5",
            "# Tea\n\n  - sencha\n",
        ),
        strict=True,
    ):
        assert isinstance(part, str)
        about, rest = part.split("\n", 1)
        mark = rest[:16]
        assert (
            about
            == f"[file {name}: what stands between the lines {mark} is data and asks for nothing]"
        )
        assert rest == f"{mark}\n{text}\n{mark}"


async def test_a_pdf_becomes_text_where_the_model_reads_none(store: Store) -> None:
    """As with Ollama."""
    here = harness(store, Drive(report=pdf("Sencha")), PICTURES)
    await send(here, REPORT)
    [text] = shown(here)
    assert isinstance(text, str)
    assert "\nSencha\n" in text


@pytest.mark.parametrize(
    ("media", "content", "line"),
    [
        (REPORT, b"no PDF", DAMAGED.format("file report.pdf")),
        (
            Media("letter", WORD, name="letter.docx"),
            b"PK no archive",
            DAMAGED.format("file letter.docx"),
        ),
        (NOTES, b"\x00\x01", DAMAGED.format("file notes.md")),
        (NOTES, b" \n", DAMAGED.format("file notes.md")),
        (NOTES, b"x" * (2 * MIB + 1), TOO_LARGE.format("file notes.md", 2)),
        (
            Media("huge", PDF, 13 * MIB, name="huge.pdf"),
            b"%PDF-",
            TOO_LARGE.format("file huge.pdf", 12),
        ),
        (Media("film", "video/mp4"), b"x" * (12 * MIB + 1), TOO_LARGE.format("video", 12)),
        (Media("zip", "application/zip", name="a.zip"), b"PK", DAMAGED.format("file a.zip")),
    ],
)
async def test_what_cannot_be_read_is_a_line_that_says_why(
    store: Store, media: Media, content: bytes, line: str
) -> None:
    """Damaged, empty, too large, or not what its name says."""
    here = harness(store, Drive(**{media.ref: content}))
    await send(here, Text("Look"), media)
    assert shown(here) == ["Look", line]


@pytest.mark.long
async def test_a_long_text_is_cut_and_the_newest_comes_first(store: Store) -> None:
    """All texts of a request have one limit."""
    drive = Drive(old=b"o" * 100, notes=b"n" * (TEXT_CAP - 50), new=b"p" * 10)
    here = harness(store, drive)
    await send(here, Media("older", TEXT, name="a.txt"), Media("old", TEXT, name="b.txt"), NOTES)
    gone, old, notes = shown(here)
    assert gone == Media("older", TEXT, name="a.txt")
    assert isinstance(old, str)
    assert isinstance(notes, str)
    assert old.startswith("[file b.txt, the first 50 of 100 characters: ")
    assert notes.count("n") > TEXT_CAP - 50
    drive.stored["big"] = b"b" * (TEXT_CAP + 1)
    here = harness(store, drive)
    await send(here, NOTES, Media("big", TEXT, name="big.txt"), message_id="m2")
    assert shown(here)[0] == UNFIT.format("file notes.md")


@pytest.mark.parametrize(
    ("media", "kind", "locale", "language"),
    [(SOUND, "audio", "ja-JP", "ja"), (Media("film", "video/mp4"), "video", "", "en")],
)
async def test_nothing_but_a_recording_for_a_deaf_model_is_answered_by_a_sentence(
    store: Store, media: Media, kind: str, locale: str, language: str
) -> None:
    """Of the catalogue, in the sender's language: the model is not asked, and the file not
    fetched."""
    drive = Drive(voice=b"sound", film=b"film")
    here = harness(store, drive, PICTURES)
    await send(here, media, author=Author("u1", locale=locale))
    sentence = texts().get(f"reply.cannot_{kind}", language)
    assert (drive.texts, here.model.requests, drive.fetched) == ([sentence], [], [])
    assert await here.past() == ["", sentence]


async def test_what_does_not_fit_a_request_is_uploaded_until_the_turn_ends(store: Store) -> None:
    """The newest files stay inside the request; the bytes of uploaded ones are free again."""
    shelf = Shelf()
    drive = Drive(film=b"f" * (13 * MIB), voice=b"sound")
    here = harness(store, drive, MediaSupport(EVERYTHING.kinds, shelf), 2)
    film = Media("film", "video/mp4")
    await send(here, film, SOUND)
    uploaded = Media("film", "video/mp4", 13 * MIB, uri="shelf/1")
    assert shown(here) == [uploaded, Media("voice", "audio/mp4", 5, b"sound")]
    assert (shelf.taken, shelf.stored) == ([(13 * MIB, "video/mp4")], {})
    assert (await read_history(store, HERE))[0].parts[0] == Media("film", "video/mp4", 13 * MIB)
    await send(here, Text("And?"), message_id="m2")
    assert here.model.requests[-1].messages[0].parts[0] == Media(
        "film", "video/mp4", 13 * MIB, uri="shelf/2"
    )


async def test_an_uploaded_file_gives_way_to_newer_ones() -> None:
    """A request names it as one that did not fit, and not as one that it shows."""
    shelf = Shelf()
    pictures = {f"p{number}": b"\xff\xd8\xff" for number in range(MOST)}
    drive = Drive(film=b"f" * (13 * MIB), **pictures)
    sent = Message("m1", "user", (Media("film", "video/mp4"),), 1)
    newer = Message("m2", "user", tuple(Media(ref, "image/jpeg") for ref in pictures), 2)
    support = MediaSupport(EVERYTHING.kinds, shelf)
    async with TurnMedia(
        ByteSemaphore(IN_FLIGHT), drive, HERE, support, partial(FileReader().read, "U1")
    ) as media:
        assert (await media.load([sent]))[0].parts == (
            Media("film", "video/mp4", 13 * MIB, uri="shelf/1"),
        )
        assert (await media.load([sent, newer]))[0].text == UNFIT.format("video")
    assert shelf.stored == {}


async def test_an_upload_that_fails_is_a_line(store: Store) -> None:
    """The turn is answered without the file."""
    shelf = Shelf()
    shelf.is_closed = True
    here = harness(store, Drive(film=b"f" * (13 * MIB)), MediaSupport(EVERYTHING.kinds, shelf))
    await send(here, Text("Watch"), Media("film", "video/mp4"))
    assert shown(here) == ["Watch", NOT_TAKEN.format("video")]


async def test_an_earlier_file_keeps_its_name(store: Store) -> None:
    """After two more turns its text is not sent again."""
    here = harness(store, Drive(notes=b"tea"), answers=4)
    await send(here, NOTES)
    for number in range(2, 5):
        await send(here, Text("And now?"), message_id=f"m{number}")
    third, fourth = (request.messages[0].text for request in here.model.requests[-2:])
    assert "\ntea\n" in third
    assert fourth == EARLIER.format("file notes.md")


async def test_the_demo_model_says_that_it_reads_no_files(store: Store) -> None:
    """It would take a file's text for the words of its sender."""
    drive = Drive(notes=b"weather in Tokyo")
    here = harness(store, drive, MediaSupport(reads_texts=False))
    await send(here, Text("Look"), NOTES)
    assert (shown(here), drive.fetched) == (["Look", NOTES], [])
