"""Recorded Gemini traffic as a test needs it: what was asked, what was answered, and what that
answer says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.transcript import Usage
from tests.fakes.gemini_answers import SSE, Answer
from tests.shared_data import recorded
from toolset.tool import ToolDefinition

JSON = dict[str, Any]

COUNTS = {
    "input": "promptTokenCount",
    "cached": "cachedContentTokenCount",
    "output": "candidatesTokenCount",
    "thinking": "thoughtsTokenCount",
}


@dataclass(frozen=True)
class Exchange:
    """One request and its answer."""

    model: str
    request: JSON
    status: int
    content_type: str
    events: tuple[JSON, ...]

    @property
    def answer(self) -> Answer:
        """The answer as a stream: every event as it was, whatever form it was recorded in."""
        if self.status != 200:
            return Answer(
                body=json.dumps(self.events[0]).encode(),
                status=self.status,
                content_type=self.content_type,
            )
        return Answer(
            body=b"".join(
                b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in self.events
            )
        )

    @property
    def parts(self) -> list[JSON]:
        """All parts of the answer."""
        candidates = [
            candidate for event in self.events for candidate in event.get("candidates", ())
        ]
        return [
            part
            for candidate in candidates
            for part in candidate.get("content", {}).get("parts", ())
        ]

    @property
    def text(self) -> str:
        """The words of the answer, without thoughts."""
        return "".join(part.get("text", "") for part in self.parts if not part.get("thought"))

    @property
    def calls(self) -> list[tuple[str, JSON]]:
        """Name and arguments of each call."""
        called = [part["functionCall"] for part in self.parts if "functionCall" in part]
        return [(call["name"], call.get("args", {})) for call in called]

    @property
    def usage(self) -> Usage:
        """The tokens the last event counts."""
        counts = self.events[-1].get("usageMetadata", {})
        return Usage(**{ours: counts.get(theirs, 0) for ours, theirs in COUNTS.items()})

    @property
    def system(self) -> str:
        """The system instruction, empty where there was none."""
        return "".join(
            part["text"] for part in self.request.get("systemInstruction", {}).get("parts", ())
        )

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that were declared."""
        declared = [
            tool for one in self.request.get("tools", ()) for tool in one["functionDeclarations"]
        ]
        return tuple(
            ToolDefinition(
                tool["name"],
                tool["description"] or "",
                tool.get("parameters_json_schema") or {},
                {},
            )
            for tool in declared
        )


def exchanges(name: str) -> list[Exchange]:
    """The recorded exchanges of a file, in order."""
    return [
        _exchange(one)
        for one in json.loads(recorded("gemini", name).read_text("utf-8"))["interactions"]
    ]


def reported(case: str) -> Answer:
    """An answer rebuilt from an issue report."""
    cases = json.loads(recorded("gemini", "reported_shapes.json").read_text("utf-8"))["cases"]
    found = next(one for one in cases if one["name"] == case)
    body = json.dumps(found["body"]).encode()
    if found["status"] == 200:
        return Answer(body=b"data: " + body + b"\n\n")
    return Answer(body=body, status=found["status"], content_type="application/json")


def reported_cases() -> list[str]:
    """The names of all rebuilt answers."""
    cases = json.loads(recorded("gemini", "reported_shapes.json").read_text("utf-8"))["cases"]
    return [one["name"] for one in cases]


def sdk_mock(name: str) -> Answer:
    """An answer from the SDK's own mock files: a stream as it is, one object as one event."""
    body = recorded("gemini", "sdk_mock_responses", name).read_bytes()
    return Answer(
        body=body
        if body.startswith(b"data:")
        else b"data: " + b"".join(body.splitlines()) + b"\n\n"
    )


def recorded_files() -> list[str]:
    """Every recorded file there is."""
    root = recorded("gemini")
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def plain(contents: Sequence[JSON]) -> list[JSON]:
    """What a content says, without what the recording clients changed on the way.

    They wrote snake case, made ids up, used the other base64 alphabet, left thoughts out, joined
    the pieces of a text.
    """
    return [
        {"role": content["role"], "parts": list(_plain_parts(content["parts"]))}
        for content in contents
    ]


def _plain_parts(parts: Sequence[JSON]) -> Iterator[JSON]:
    words: list[str] = []
    for part in parts:
        made = {
            re.sub(r"_([a-z])", lambda letter: letter[1].upper(), key): value
            for key, value in part.items()
        }
        if made.get("thought"):
            continue
        if made.keys() == {"text"}:
            words.append(made["text"])
            continue
        if words:
            yield {"text": "".join(words)}
            words = []
        if "thoughtSignature" in made:
            made["thoughtSignature"] = made["thoughtSignature"].replace("-", "+").replace("_", "/")
        if "functionCall" in made:
            made["functionCall"] = {
                key: value for key, value in made["functionCall"].items() if key != "id"
            }
        yield made
    if "".join(words):
        yield {"text": "".join(words)}


def _exchange(one: JSON) -> Exchange:
    response = one["response"]
    model = re.search(r"models/([^:]+):", one["request"]["url"])
    assert model is not None
    content_type = response["headers"].get("content-type", SSE).partition(";")[0]
    return Exchange(
        model[1], one["request"]["body"], response["status"], content_type, tuple(_events(response))
    )


def _events(response: JSON) -> list[JSON]:
    if response["format"] == "json":
        return [response["body"]]
    if response["format"] == "json-array-stream":
        events: list[JSON] = json.loads(response["body_text"])
        return events
    lines = response["body_text"].splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line]
