"""The history as the page shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from bot.channels import MOST_FILES, Button, Files, say_buttons
from bot.file_types import label
from bot.live_events import ShownFile
from bot.transcript import FileRef, Media, Message, ToolResult, cards_of, choices_of
from toolset.shown import Card

PICTURES = ("image/png", "image/jpeg", "image/webp")  # that every browser shows


class Call(Struct):
    """A tool call as the page shows it; ``response`` is null while there is none, ``title`` empty
    without one."""

    id: str
    name: str
    arguments: dict[str, Any]
    response: dict[str, Any] | None = None
    is_error: bool = False
    is_rejected: bool = False
    title: str = ""


class Entry(Struct, omit_defaults=True):
    """A message of the user, of the model or, not shown, of what came at its time: its calls
    with results, what is below it."""

    id: str
    role: str
    at: int
    text: str
    calls: list[Call]
    files: list[ShownFile]
    cards: tuple[Card, ...] = ()
    buttons: tuple[Button, ...] = ()


async def shown_files(files: Iterable[FileRef], source: Files) -> tuple[ShownFile, ...]:
    """The files as page and terminal show them."""
    shown: list[ShownFile] = []
    for file in files:
        path, url = await source.path(file), await source.url(file)
        shown.append(ShownFile(path, file.name, file.text, url))
    return tuple(shown)


def sent_files(conversation: str, message: Message) -> list[ShownFile]:
    """The files of a user's message."""
    shown: list[ShownFile] = []
    for part in message.parts:
        if isinstance(part, Media):
            words = part.name or label(part.mime)
            shown.append(ShownFile(picture_path(conversation, part), part.name, words))
    return shown


async def entries_of(
    conversation: str, messages: Iterable[Message], source: Files, title: Callable[[str], str]
) -> list[Entry]:
    """The entries.

    Args:
        title: of a tool, by its name.

    Raises:
        StoreUnavailable: the addresses of files cannot be made.
    """
    entries: list[Entry] = []
    calls: dict[str, Call] = {}
    files: list[ShownFile] = []
    results: list[ToolResult] = []
    for message in messages:
        results += message.results
        for result in message.results:
            files += await shown_files(result.files, source)
            if call := calls.get(result.call_id):
                call.response, call.is_error = result.response, result.is_error
                call.is_rejected = result.is_rejected
        if message.role != "tool":
            made: list[Call] = []
            for asked in message.calls:
                made.append(Call(asked.id, asked.name, asked.arguments, title=title(asked.name)))
                calls[asked.id] = made[-1]
            role = "scheduled" if message.is_scheduled else message.role
            text = f"{message.text}\n\n{message.footer}" if message.footer else message.text
            shown = files[-MOST_FILES:] if message.is_answer else sent_files(conversation, message)
            entry = Entry(message.id, role, message.at, text, calls=made, files=shown)
            if message.is_answer:
                entry.cards, entry.buttons = cards_of(results), say_buttons(choices_of(results))
            entries.append(entry)
            if message.role == "user" or message.is_answer:
                files, results = [], []
    return entries


def picture_path(conversation: str, media: Media) -> str:
    """Where the page finds a picture of its user's; empty for another file."""
    is_picture = media.mime in PICTURES
    return f"/console/{conversation.partition(':')[2]}/files/{media.ref}" if is_picture else ""
