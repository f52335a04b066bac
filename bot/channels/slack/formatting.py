"""Text from and for Slack: escapes, links and mentions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from bot.channels.replies import shortened

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
    if label and label != target and address == target:
        return f"{label} ({target})"
    return address


def escape(text: str) -> str:
    """The text escaped, so that Slack finds no links and no mentions."""
    for escaped, character in reversed(ESCAPES):
        text = text.replace(character, escaped)
    return text


def cut_fallback(text: str) -> str:
    """What notifications show instead of blocks: as much of the text as fits beside these."""
    if _bytes(text) <= FALLBACK_BYTES:
        return text
    size = 0
    for index, character in enumerate(text):
        size += _bytes(character)
        if size > FALLBACK_BYTES:
            return text[:index]
    return text


def _bytes(text: str) -> int:
    return len(escape(text).encode("utf-8", "replace"))


def without_mentions(text: str, ids: Collection[str]) -> str:
    """The text without the mentions of these users; if ``ids`` is empty, without the first
    mention."""
    if ids:
        text = USER.sub(lambda match: "" if match[1] in ids else match[0], text)
    else:
        text = USER.sub("", text, count=1)
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
    return shortened(without_broadcasts(" ".join(text.split())), limit)


def open_tag_start(markdown: str) -> int:
    """The index at which an unfinished mention of everybody begins; the text's length if none
    does."""
    match = OPEN_TAG.search(markdown)
    return match.start() if match else len(markdown)
