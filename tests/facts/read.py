"""The facts about what vendors send, and the bytes made of them: shapes as recorded, every value
invented."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.facts.scrub import ARGUMENTS, PIECE, PIECES

JSON = dict[str, Any]
FOLDER = Path(__file__).parent
WRITTEN = json.dumps(ARGUMENTS)


@dataclass(frozen=True)
class Answer:
    """One answer of a model's server.

    Attributes:
        form: json, sse, ndjson or json-array-stream.
        events: of a stream, or the one body; ``[DONE]`` is a string among them.
    """

    status: int
    form: str
    headers: tuple[str, ...]
    events: tuple[Any, ...]

    def sse(self, *, named: bool = False) -> bytes:
        """The answer as a stream, whatever form it was recorded in; Anthropic's events are
        named."""
        return b"".join(
            (f"event: {event['type']}\n" if named else "").encode()
            + b"data: "
            + (event if isinstance(event, str) else json.dumps(event)).encode()
            + b"\n\n"
            for event in self.events
        )

    @property
    def bodies(self) -> list[JSON]:
        """The events but for the mark at the end."""
        return [event for event in self.events if not isinstance(event, str)]


def facts(name: str) -> Any:
    """The content of a file of facts."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def answers(vendor: str) -> dict[str, list[Answer]]:
    """What a vendor answered, by the name of the recording."""
    return {name: [_answer(one) for one in given] for name, given in facts(vendor).items()}


def paths(value: Any, before: str = "") -> set[str]:
    """The fields of a value, with dots."""
    if isinstance(value, list):
        return {path for inner in value for path in paths(inner, before)}
    if not isinstance(value, dict):
        return {before}
    found = {
        path
        for name, inner in value.items()
        for path in paths(inner, f"{before}.{name}".lstrip("."))
    }
    return found | ({before} if before else set())


def _answer(given: JSON) -> Answer:
    events = [event for times, event in given["events"] for _ in range(times)]
    counts: dict[int, int] = {}
    for event in events:
        for place in _places(event):
            counts[place] = counts.get(place, 0) + 1
    written = {place: _pieces(count) for place, count in counts.items()}
    filled = tuple(_filled(event, written) for event in events)
    return Answer(given["status"], given["form"], tuple(given["headers"]), filled)


def _pieces(count: int) -> list[str]:
    """Arguments in so many pieces, the last one first."""
    text = json.dumps({"city": "Kyoto" + "o" * count}) if count > 1 else WRITTEN
    return [*([text[i] for i in range(count - 1)]), text[count - 1 :]][::-1]


def _places(value: Any, index: int = 0) -> list[int]:
    """The index of the call that each piece belongs to."""
    if isinstance(value, list):
        return [place for inner in value for place in _places(inner, index)]
    if not isinstance(value, dict):
        return []
    index = value.get("index", index)
    here = [index for name, inner in value.items() if name in PIECES and inner == PIECE]
    return here + [place for inner in value.values() for place in _places(inner, index)]


def _filled(value: Any, written: dict[int, list[str]], index: int = 0) -> Any:
    """The same with real pieces of JSON."""
    if isinstance(value, list):
        return [_filled(inner, written, index) for inner in value]
    if not isinstance(value, dict):
        return value
    index = value.get("index", index)
    return {
        name: written[index].pop()
        if name in PIECES and inner == PIECE
        else _filled(inner, written, index)
        for name, inner in value.items()
    }
