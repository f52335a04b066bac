"""Slack's text made plain: escapes, links, mentions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

MARKUP = re.compile(r"<([^<>\s][^<>]*)>")
USER = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
BROADCAST = re.compile(r"<!((?:channel|here|everyone)\b|subteam\^\w+)(?:\|[^<>]*)?>")
OPEN_TAG = re.compile(r"<(?:!(?:\w[^<>\n]{0,100})?)?$")
FALLBACK_CAP = 3_000  # of the text that stands for blocks in notifications
ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def mentioned(text: str) -> set[str]:
    """The ids of the users a text mentions."""
    return set(USER.findall(text))


def plain(text: str) -> str:
    """What a person reads, mentions of users left as they are: their names are looked up later."""
    text = MARKUP.sub(_plain_markup, text)
    for escaped, character in ESCAPES:
        text = text.replace(escaped, character)
    return text.encode("utf-8", "replace").decode().strip()


def _plain_markup(match: re.Match[str]) -> str:
    target, _, label = match[1].partition("|")
    if target.startswith("@"):
        return match[0]
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    address = target.removeprefix("mailto:").removeprefix("tel:")
    return f"{label} ({target})" if label and label not in (address, target) and address == target else address


def escaped(text: str) -> str:
    """Words for where Slack looks for links and mentions, and shall find none."""
    for escape, character in reversed(ESCAPES):
        text = text.replace(character, escape)
    return text


def without_mentions(text: str, ids: Collection[str]) -> str:
    """The words without the mentions of these users; where ``ids`` is empty, without the first mention."""
    text = USER.sub(lambda match: "" if match[1] in ids else match[0], text) if ids else USER.sub("", text, count=1)
    return re.sub(r"[ \t]{2,}", " ", text).strip()


def named(text: str, names: Mapping[str, str]) -> str:
    """The text with mentions as names, where they are known."""
    return USER.sub(lambda match: f"@{names[match[1]]}" if names.get(match[1]) else match[0], text)


def harmless(markdown: str) -> str:
    """What a model wrote, unable to call a whole channel together."""
    return BROADCAST.sub(lambda match: f"@{match[1].partition('^')[0]}", markdown)


def open_tag(markdown: str) -> int:
    """Where an unfinished text begins what may become a call to everybody; its length where it does not."""
    match = OPEN_TAG.search(markdown)
    return match.start() if match else len(markdown)


def markdown_block(markdown: str) -> dict[str, object]:
    """A block that shows Markdown."""
    return {"type": "markdown", "text": markdown}
