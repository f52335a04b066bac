"""Patterns that a model writes: regular expressions and globs, matched by RE2, whose time grows
with the text alone."""

from __future__ import annotations

import re
from collections.abc import Callable

from toolset.tool import ToolError

MEMORY_CAP = 256 * 1024  # bytes of a compiled pattern: time grows with its size too
NO_PATTERN = "not a regular expression of RE2, which has neither look-around nor backreferences"
GLOB_PART = re.compile(r"\*\*/|\*+|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)

Matcher = Callable[[str], bool]


def compile_regex(pattern: str, *, ignore_case: bool = False) -> Matcher:
    """A function that says whether the expression occurs in a text.

    Raises:
        ToolError: it is no expression of RE2, or too large.
    """
    import re2

    options = re2.Options()
    options.max_mem = MEMORY_CAP
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        found = re2.compile(pattern, options).search
    except UnicodeEncodeError as error:
        raise ToolError(
            "invalid parameters: text: it has characters that are no Unicode text"
        ) from error
    except re2.error as error:
        (reason,) = error.args
        raise ToolError(
            f"invalid parameters: text: {NO_PATTERN}: {reason.decode(errors='replace')}"
        ) from error
    return lambda text: found(text) is not None


def compile_glob(glob: str) -> Matcher:
    """A function that says whether a glob fits a path; without a slash it is compared with the last
    name alone.

    ``*`` and ``?`` stay within a name, ``**/`` stands for any folders, ``[ab]`` for one of its
    characters and ``[!ab]`` for another.

    Raises:
        ToolError: a class of characters is wrong.
    """
    parts = "".join(_translate(part) for part in GLOB_PART.findall(glob.removeprefix("./")))
    try:
        return compile_regex(f"(?s)^{'' if '/' in glob else '(?:.*/)?'}{parts}$")
    except ToolError as error:
        raise ToolError(
            "invalid parameters: glob: write it like *.txt, notes/*.md or **/2026-1[12]-*.csv"
        ) from error


def _translate(part: str) -> str:
    """One part of a glob as a regular expression."""
    if part == "**/":
        return "(?:.*/)?"
    if part.startswith("*"):
        return "[^/]*" if part == "*" else ".*"
    if part == "?":
        return "[^/]"
    if len(part) > 1:
        negated = part[1] == "!"
        chosen = re.sub(r"[\\\[\]^]", r"\\\g<0>", part[2 if negated else 1 : -1])
        return f"[{'^/' if negated else ''}{chosen}]"
    return re.escape(part)
