"""Text from and for Slack: escapes, links and mentions, and long answers split to a message's
size."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from bot.channels.utf16 import fits, head, units

MARKUP = re.compile(r"<([^<>\s][^<>]*)>")
USER = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
GROUP = re.compile(r"<!subteam\^(S[A-Z0-9]+)>")
BROADCAST = re.compile(r"<!((?:channel|here|everyone)\b|subteam\^\w+)(?:\|[^<>]*)?>")
OPEN_TAG = re.compile(
    r"<(?:!(?:\w*|subteam\^\w*|(?:channel|here|everyone|subteam\^\w+)\|[^<>]*))?\Z"
)
# with escapes, of the text beside blocks; Slack refuses more than 4,000 in a changed message
FALLBACK_BYTES = 3_900
ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
LIMIT = 12_000  # of markdown_text
FENCE = re.compile(r" {0,3}+(`{3,}+|~{3,}+)([^\n`]*+)$")
EMPTY = re.compile(r"[ \t]*\n")
BREAKS = (re.compile(r"\n"), re.compile(r"(?<=[.!?])\s|(?<=[。！？])"), re.compile(r"\s"))


def mentioned_users(text: str) -> set[str]:
    """The ids of the users a text mentions."""
    return set(USER.findall(text))


def mentioned_groups(text: str) -> set[str]:
    """The ids of the user groups a text mentions without a label."""
    return set(GROUP.findall(text))


def plain_text(text: str) -> str:
    """The text without markup and escapes. Mentions of users and groups stay: their names are
    looked up later."""
    text = MARKUP.sub(_plain_markup, text)
    for escaped, character in ESCAPES:
        text = text.replace(escaped, character)
    return text.encode("utf-8", "replace").decode().strip()


def _plain_markup(match: re.Match[str]) -> str:
    target, _, label = match[1].partition("|")
    if target.startswith("@") or GROUP.fullmatch(match[0]):
        return match[0]
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    address = target.removeprefix("mailto:").removeprefix("tel:")
    return (
        f"{label} ({target})"
        if label and label not in (address, target) and address == target
        else address
    )


def escape(text: str) -> str:
    """The text escaped, so that Slack finds no links and no mentions."""
    for escaped, character in reversed(ESCAPES):
        text = text.replace(character, escaped)
    return text


def cut_fallback(text: str) -> str:
    """What notifications show instead of blocks: as much of the text as fits beside these."""
    size = 0
    for index, character in enumerate(text if _bytes(text) > FALLBACK_BYTES else ""):
        size += _bytes(character)
        if size > FALLBACK_BYTES:
            return text[:index]
    return text


def _bytes(text: str) -> int:
    return len(escape(text).encode("utf-8", "replace"))


def without_mentions(text: str, ids: Collection[str]) -> str:
    """The text without the mentions of these users; if ``ids`` is empty, without the first
    mention."""
    text = (
        USER.sub(lambda match: "" if match[1] in ids else match[0], text)
        if ids
        else USER.sub("", text, count=1)
    )
    return re.sub(r"[ \t]{2,}", " ", text).strip()


def with_names(text: str, names: Mapping[str, str]) -> str:
    """The text with mentions as names, if known; of an unknown user group nothing but that it is
    one.

    Args:
        names: of users and groups, by id.
    """
    text = USER.sub(lambda match: f"@{names[match[1]]}" if names.get(match[1]) else match[0], text)
    return GROUP.sub(lambda match: f"@{names.get(match[1], 'subteam')}", text)


def without_broadcasts(markdown: str) -> str:
    """The text with mentions of everybody (@channel, @here) made harmless."""
    return BROADCAST.sub(lambda match: f"@{match[1].partition('^')[0]}", markdown)


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most ``limit`` UTF-16 code units, with mentions of everybody made
    harmless."""
    line = without_broadcasts(" ".join(text.split()))
    return line if fits(line, limit) else f"{head(line, limit - 1)}…"


def open_tag_start(markdown: str) -> int:
    """The index at which an unfinished mention of everybody begins; the text's length if none
    does."""
    match = OPEN_TAG.search(markdown)
    return match.start() if match else len(markdown)


def split(text: str, limit: int = LIMIT) -> list[str]:
    """The text in pieces of at most ``limit`` UTF-16 code units; at least one piece."""
    pieces = [piece.strip("\n") for piece in _packed(_fitting_blocks(text, limit), limit)]
    return [piece for piece in pieces if piece.strip()] or [text]


def _packed(blocks: Iterable[str], capacity: int) -> Iterator[str]:
    """Blocks joined as long as they fit."""
    packed: list[str] = []
    size = 0
    for block in blocks:
        if packed and size + units(block.rstrip("\n")) > capacity:
            yield "".join(packed)
            packed, size = [], 0
        packed.append(block)
        size += units(block)
    yield "".join(packed)


def _fitting_blocks(text: str, limit: int) -> Iterator[str]:
    """Paragraphs and code blocks, cut if too long."""
    for block in _blocks(text):
        if fits(block.strip("\n"), limit):
            yield block
        elif opening := FENCE.match(block.lstrip("\n").partition("\n")[0]):
            yield from _cut_code(block.lstrip("\n"), opening, limit)
        else:
            yield from _cut_prose(block, limit)


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs with the empty lines after them, and whole code blocks; together they are the
    text."""
    block: list[str] = []
    closing = ""
    for line in text.splitlines(keepends=True):
        fence = FENCE.match(line.rstrip("\r\n"))
        if closing:
            block.append(line)
            if fence and fence[1].startswith(closing) and not fence[2].strip():
                yield "".join(block)
                block, closing = [], ""
            continue
        is_over = (
            len(block) > 1
            and block[-2].endswith("\n")
            and EMPTY.fullmatch(block[-1])
            and line.strip()
        )
        if block and (fence or is_over):
            yield "".join(block)
            block = []
        block.append(line)
        closing = fence[1] if fence else ""
    if block:
        yield "".join(block)


def _cut_prose(block: str, limit: int) -> Iterator[str]:
    """Cut after a line, a sentence or a word; else anywhere."""
    while not fits(block, limit):
        first = head(block, limit)
        found = (_last_break(pattern, first) for pattern in BREAKS)
        end = next((index for index in found if index > len(first) // 2), len(first))
        yield block[:end]
        block = block[end:]
    yield block


def _cut_code(block: str, opening: re.Match[str], limit: int) -> Iterator[str]:
    """The block as several code blocks, each opened and closed like the long one."""
    first, closing = opening[0], opening[1]
    capacity = limit - units(first) - units(closing) - 2
    if capacity < limit // 2:
        yield from _cut_prose(block, limit)
        return
    lines = block.splitlines(keepends=True)[1:]
    last = FENCE.match(lines[-1].rstrip("\r\n")) if lines else None
    if last and last[1].startswith(closing):
        lines.pop()
    for body in _packed((piece for line in lines for piece in _cut_line(line, capacity)), capacity):
        yield _fenced(first, body, closing)


def _fenced(first: str, body: str, closing: str) -> str:
    lines = body.rstrip("\n")
    return f"{first}\n{lines}\n{closing}\n" if lines else ""


def _cut_line(line: str, limit: int) -> Iterator[str]:
    while not fits(line, limit):
        first = head(line, limit)
        yield first
        line = line[len(first) :]
    yield line


def _last_break(pattern: re.Pattern[str], text: str) -> int:
    return max((match.end() for match in pattern.finditer(text)), default=0)
