"""The facts about what vendors send: shapes as recorded, every value invented."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JSON = dict[str, Any]
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Answer:
    """One answer of a model's server.

    Attributes:
        form: json, sse or ndjson.
        events: of a stream, or the one body; ``[DONE]`` is a string among them.
        means: stop reason, text, calls and tokens; or class, apology and wait of the error.
    """

    status: int
    form: str
    events: list[Any]
    means: list[Any]

    @property
    def body(self) -> bytes:
        """The answer as it is sent."""
        texts = [one if isinstance(one, str) else json.dumps(one) for one in self.events]
        if self.form == "sse":
            return "".join(f"data: {text}\n\n" for text in texts).encode()
        return "\n".join(texts).encode()


def facts(name: str) -> Any:
    """The content of a file of facts."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def answers(vendor: str) -> dict[str, list[Answer]]:
    """What a vendor answered, by the name of the recording."""
    found: dict[str, list[Answer]] = {}
    for name, given in facts(vendor).items():
        found[name] = [Answer(**one) for one in given]
    return found


def paths(value: Any, before: str = "") -> set[str]:
    """The fields of a value, with dots."""
    found = {before} if before else set()
    if isinstance(value, list):
        found = set()
        for inner in value:
            found |= paths(inner, before)
    elif isinstance(value, dict):
        for name, inner in value.items():
            found |= paths(inner, f"{before}.{name}".lstrip("."))
    return found
