"""Markdown in pieces of a message's size: code that is cut is closed, and opened again."""

from __future__ import annotations

from bot.channels.markdown import Fence, fences
from bot.channels.splitting import piece_end
from bot.channels.utf16 import fits, head, units


def split_markdown(markdown: str, limit: int) -> list[str]:
    """The text in pieces of at most ``limit`` UTF-16 code units; at least one.

    Code that fits in a piece goes whole into one. Longer code is closed, and opened again.
    """
    pieces: list[str] = []
    rest = markdown.replace("\r\n", "\n")
    while not fits(rest, limit):
        piece, rest = _first(rest, limit)
        pieces.append(piece)
    shown = [piece.strip("\n") for piece in (*pieces, rest) if piece.strip()]
    return shown or [markdown]


def _first(text: str, limit: int) -> tuple[str, str]:
    """The first piece of Markdown, and the rest."""
    most = len(head(text, limit))
    found = list(fences(text[: 2 * limit]))
    code = next((fence for fence in found if fence.end > most), None)
    if code is None or code.start >= most or _is_too_wide(code, limit):
        end = piece_end(text, most, [fence[:2] for fence in found if fence.end <= most])
        return text[:end], text[end:]
    if code.start > 0:
        return text[: code.start], text[code.start :]
    body = len(code.opening) + 1
    room = len(head(text, limit - len(code.closing) - 1))
    end = text.rfind("\n", body, room) + 1 or room
    lines = text[body:end].rstrip("\n")
    piece = f"{code.opening}\n{lines}\n{code.closing}" if lines else ""
    if not text[end : code.end].strip(f"{code.closing[0]} \t\n"):
        return piece, text[code.end :]
    return piece, f"{code.opening}\n{text[end:]}"


def _is_too_wide(code: Fence, limit: int) -> bool:
    """Whether the marks around code would leave too little room for it."""
    return units(code.opening) + len(code.closing) + 2 > limit // 2
