"""Every event of the log has a stable key, and a row in docs/log_events.md that says what to do."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache

from bot.telemetry import LEVELS
from tests.project import ROOT, files, name_of

METHODS = {
    "debug": "debug",
    "info": "info",
    "warning": "warning",
    "error": "error",
    "exception": "error",
}
ROW = re.compile(r"^\| `([a-z_]+\.[a-z_]+)` \| ([a-z, ]+) \|([^|]*)\| [^|]+ \|$", re.MULTILINE)


def table() -> dict[str, tuple[set[str], set[str]]]:
    """Levels and fields of every event in the document."""
    rows = ROW.findall((ROOT / "docs" / "log_events.md").read_text("utf-8"))
    return {
        event: (set(level.split(", ")), set(re.findall(r"`(\w+)`", fields)))
        for event, level, fields in rows
    }


@cache
def calls() -> list[tuple[str, ast.Call, str]]:
    """Every call that writes a line, with its place and its level; a span's level hangs on its
    event."""
    found = []
    for path in files("bot/*.py", "toolset/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and (level := level_of(node)) is not None:
                found.append((f"{name_of(path)}:{node.lineno}", node, level))
    return found


def level_of(call: ast.Call) -> str | None:
    """The level of a call on ``log``, empty for ``Span.end``, None for any other call."""
    function = call.func
    if not (isinstance(function, ast.Attribute) and call.args):
        return None
    if isinstance(function.value, ast.Name) and function.value.id == "log":
        return METHODS.get(function.attr)
    return "" if function.attr == "end" and len(call.args) > 1 else None


def events_of(call: ast.Call) -> list[str]:
    """The event, written out where the line is written; none where it is anything else than
    words."""
    first = call.args[0]
    return [first.value] if isinstance(first, ast.Constant) and isinstance(first.value, str) else []


def fields_of(call: ast.Call) -> set[str]:
    """The fields that are named in the call; the standard library wants them in ``extra``."""
    extra = {
        str(key.value)
        for keyword in call.keywords
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict)
        for key in keyword.value.keys
        if isinstance(key, ast.Constant)
    }
    named = {keyword.arg for keyword in call.keywords if keyword.arg}
    counted = {"tokens"} if level_of(call) == "" else set()  # by a span: not logged
    return (named | extra) - {"extra", "exc_info"} - counted


def test_every_event_is_written_out() -> None:
    """Whoever looks for a key finds the line of code that writes it."""
    assert [place for place, call, _ in calls() if not events_of(call)] == []


def test_the_document_has_every_event_with_its_levels() -> None:
    """No more and no less, so that an alarm may go by the key."""
    levels: dict[str, set[str]] = defaultdict(set)
    for _, call, level in calls():
        for event in events_of(call):
            levels[event].add(level or LEVELS.get(event, "info"))
    assert {event: row[0] for event, row in table().items()} == levels


def test_the_document_has_every_field() -> None:
    """A field that code names stands in the row of its event; what says why is named `cause`
    everywhere."""
    rows = table()
    missing = [
        (place, event, fields_of(call) - rows[event][1])
        for place, call, _ in calls()
        for event in events_of(call)
        if not fields_of(call) <= rows[event][1]
    ]
    assert missing == []
    assert [
        event for event, (_, fields) in rows.items() if fields & {"reason", "error", "why"}
    ] == []


def test_events_have_one_line_each() -> None:
    """No event stands in the document twice. Those that need somebody stand first, the errors on
    top of them; each of these parts is in order."""
    text = (ROOT / "docs" / "log_events.md").read_text("utf-8")
    needing, others = (ROW.findall(part) for part in text.split("## What needs nothing"))
    errors = [event for event, level, _ in needing if "error" in level]
    warnings = [event for event, level, _ in needing if "error" not in level]
    quiet = [event for event, *_ in others]
    assert [event for event, *_ in needing] == [*sorted(errors), *sorted(warnings)]
    assert quiet == sorted(quiet)
    assert len({*errors, *warnings, *quiet}) == len(errors) + len(warnings) + len(quiet)
