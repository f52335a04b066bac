"""Addresses in text: where they stand, and when two of them are the same.

Found are addresses with a scheme, and names of hosts without one, as channels make links of both.
An e-mail address is none. All work is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from bot.safe_text.endings import ENDINGS, OF_FILES
from bot.safe_text.glyphs import revealed

# What no text has without having an address. Looking for it costs next to nothing.
SIGNS = (".", ":", "//")
HARD = "、。，．！？…「」『』（）【】・"  # ends an address in Japanese text
AFTER = ".,;:!?*_~'\"`)}"  # behind an address this is the sentence's, not the address's
MOST_AFTER = 4  # characters of it
# Behind the first letter outside of ASCII so many belong to an address: Japanese may go on right
# behind it, with the next address.
_REST = rf"[!#-;=?-Z\\^-{{}}~]*+[^\s<>\"|\[\]{HARD}]{{0,200}}+"
# Marks that a channel removes may stand within the name of a host.
_LABEL = r"[A-Za-z0-9_*`\\~-]++"
_MORE = rf"(?::[0-9]{{1,5}}(?![0-9]))?(?:[/?#\\]{_REST})?"
TOKEN = re.compile(
    r"(?P<mail>(?<![A-Za-z0-9_.%+-])[A-Za-z0-9_.%+-]++@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++(?![*`\\~_.]*+[/?#:@]?[A-Za-z0-9]))"
    rf"|(?P<url>(?:(?<![A-Za-z])[A-Za-z][A-Za-z0-9+.-]{{0,30}}:[/\\]{{2}}|(?<![A-Za-z])https?:[/\\]*+(?=[\w\[]))"
    rf"(?:\[[0-9A-Fa-f:.]{{2,45}}\])?{_REST})"
    # A host with a name that is not ASCII, from the dot before its ending on: where the name
    # begins, Japanese does not show.
    r"|(?P<foreign>(?<=[^\W\x00-\x7f])\.[A-Za-z]{2,24}+(?![A-Za-z0-9_.-])(?::[0-9]{1,5}(?![0-9]))?"
    rf"(?:[/?#\\]{_REST})?)"
    # A path belongs to a name only if its ending may be one of a host's: what is behind 1.2 is
    # looked at by itself, in one pass.
    rf"|(?P<bare>(?<![A-Za-z0-9_*`\\~-])(?:(?:[0-9]{{1,3}}\.){{3}}[0-9]{{1,3}}(?![A-Za-z0-9_*`\\~.-]){_MORE}"
    rf"|{_LABEL}(?:\.{_LABEL})++(?:(?<=[A-Za-z*`\\~_-][A-Za-z*`\\~_-]){_MORE})?))",
    re.IGNORECASE,
)
SCHEMED = re.compile(r"(?:[a-z][a-z0-9+.-]{0,30}:)?[/\\]{2}(?=[^\s/\\])|https?:", re.IGNORECASE)
# What stands around an address, where a server is not strict.
AROUND = " \t\r\n\v\f\u00a0\u3000\u200b\u2060\ufeff<>()[]{}\"'`"
NAMED = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*+:[/\\]++|https?:)?[^/?#]++", re.IGNORECASE)
LONGEST_NAME = 63  # letters before a host's ending that are compared
LONGEST_HOST = 253
HOST = re.compile(r"(?P<host>[^/?#:\\]++)(?P<more>.*)", re.DOTALL)
ASCII = re.compile(r"[!-~]*+")
WEB = re.compile(r"https?://", re.IGNORECASE)
PORT = re.compile(r":(?:80|443)?\Z")


def key_of(address: str) -> str:
    """The same text for addresses that lead to the same place.

    Equal are letters of scheme and host in both cases, ``http`` and ``https``, a host in its two
    forms, a port that is the usual one or left out, and letters outside of ASCII with their bytes.
    All else is compared as it is written: a server could read a choice between two writings.
    """
    rest = WEB.sub("", address.strip(), count=1)
    name, *more = re.split(r"(?=[/?#])", rest, maxsplit=1)
    user, at, host = name.rpartition("@")
    path = "".join(more)
    if not path.startswith("/"):
        path = f"/{path}"
    return quote(
        f"{user}{at}{PORT.sub('', _host(host))}{path}", safe="".join(map(chr, range(33, 127)))
    )


def place_of(key: str) -> str:
    """The key without its fragment, which no server gets."""
    return key.partition("#")[0]


def may_be_opened(argument: str) -> bool:
    """Whether a server may read a whole argument as an address.

    What begins with a scheme is one, whatever comes behind it: many a server encodes a space.
    """
    text = revealed(argument).strip(AROUND)
    return SCHEMED.match(text) is not None or is_address(text)


def is_address(text: str) -> bool:
    """Whether a whole text is an address."""
    match = TOKEN.fullmatch(text.strip())
    return match is not None and is_link(match)


def is_link(token: re.Match[str]) -> bool:
    """Whether a channel may make a link of what ``TOKEN`` has found."""
    if token.lastgroup == "mail":
        return False
    if token.lastgroup == "url":
        return True
    if token.lastgroup == "foreign":
        has_path = any(sign in token[0] for sign in "/?#\\:")
        return has_path or ("." in name_before(token) and token[0][1:].lower() in ENDINGS)
    if token[0][name_end(token) - token.start() :].lstrip(AFTER):
        return True
    # A backslash is a mark that goes, or begins a path.
    bare = token["bare"]
    return any(map(_is_host, dict.fromkeys((bare, bare.replace("\\", ""), *bare.split("\\")))))


def name_before(token: re.Match[str]) -> str:
    """What may belong to the host's name before a ``foreign`` token; empty for all others."""
    if token.lastgroup != "foreign":
        return ""
    text, start = token.string, token.start()
    least = max(0, start - LONGEST_NAME)
    while start > least and (text[start - 1].isalnum() or text[start - 1] in "._-"):
        start -= 1
    return text[start : token.start()]


def name_end(token: re.Match[str]) -> int:
    """The end of a token's name of a host: behind one that is no link may stand one."""
    if token.lastgroup == "mail":
        return token.end()
    parts = NAMED.match(token[0])
    return token.start() + (parts.end() if parts else len(token[0]))


def _is_host(bare: str) -> bool:
    """Whether a channel may make a link of a name without a scheme."""
    parts = HOST.match(bare)
    host = re.sub(r"[*`~]", "", parts["host"]) if parts else ""
    *labels, ending = host.rstrip("_-").lower().split(".")
    has_path = bool(parts and parts["more"].lstrip(AFTER + "\\"))
    if ending.startswith("xn--") or host.lower().startswith("www."):
        return True
    if ending.isdecimal():
        return len(labels) == 3 and all(
            label.isdecimal() and len(label) <= 3 for label in (*labels, ending)
        )
    if has_path:
        return ending.isalpha() and len(ending) > 1
    return ending in ENDINGS and not (ending in OF_FILES and len(labels) == 1)


def forms_of(token: str) -> Iterator[str]:
    """How much of a found address may be meant, the longest first: Japanese needs no space behind
    it."""
    pressed = ASCII.match(token)
    for form in (token, pressed[0] if pressed else ""):
        yield form
        yield trimmed(form)


def trimmed(address: str) -> str:
    """The address without what stands behind it, or around it."""
    start = len(address) - len(address.lstrip("*_~`"))
    end, least = len(address), max(len(address) - MOST_AFTER, start)
    while end > least and address[end - 1] in AFTER:
        if address[end - 1] == ")" and address.count("(", 0, end) >= address.count(")", 0, end):
            break
        end -= 1
    return address[start:end]


def keys_in(text: str) -> Iterator[str]:
    """The keys of all addresses that stand in a text, each with and without its fragment."""
    text = revealed(text)
    if not any(sign in text for sign in SIGNS):
        return
    at = 0
    while (token := TOKEN.search(text, at)) is not None:
        if not is_link(token):
            at = name_end(token)
            continue
        at, name = token.end(), name_before(token)
        for form in dict.fromkeys(forms_of(token[0])):
            key = key_of(name + form)
            yield key
            yield place_of(key)


def strings_in(value: Any) -> Iterator[str]:
    """All texts in a value of JSON, the names of fields left out."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one


def unlinked(text: str) -> str:
    """The text with its addresses written so that no channel makes links of them, nor of those
    inside of them: ``https[:]//a[.]example/x``."""
    broken: list[str] = []
    at = 0
    while any(sign in text for sign in SIGNS) and (token := TOKEN.search(text, at)) is not None:
        broken.append(text[at : token.start()])
        at = name_end(token)
        name = text[token.start() : at]
        broken.append(name.replace(".", "[.]").replace(":", "[:]") if is_link(token) else name)
    return "".join((*broken, text[at:]))


def _host(host: str) -> str:
    """The host in lower case, in ASCII if it can be."""
    try:
        is_name = not host.isascii() and len(host) <= LONGEST_HOST
        return host.encode("idna").decode().lower() if is_name else host.lower()
    except UnicodeError:
        return host.lower()
