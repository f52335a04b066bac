"""The files of facts, written anew from the recordings: ``python -m tests.facts.write``, where they
are there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.facts.read import FOLDER, paths
from tests.facts.scrub import Scrubber
from tests.shared_data import RECORDED

JSON = dict[str, Any]
MODELS = ("anthropic", "gemini", "ollama", "openai", "openai_compatible")
SLACKS_METHODS = RECORDED.parent / "specs" / "slack" / "slack_web_openapi_v2.subset.json"


def made(name: str) -> JSON:
    """What a file of facts must hold."""
    if name in MODELS:
        facts = {
            path.stem: list(_answers(path)) for path in sorted((RECORDED / name).glob("*.json"))
        }
        return facts | {
            path.name: [_mock(path)]
            for path in sorted((RECORDED / name).glob("sdk_mock_responses/*"))
        }
    return OTHERS[name]()


def line_bodies() -> JSON:
    """Every webhook of LINE's, by name."""
    folder = RECORDED / "line"
    constructed = _read(folder / "constructed_from_schema.json")["bodies"]
    return _scrubbed({"sdk": _read(folder / "line-bot-sdk-python_v3_webhook.json"), **constructed})


def slack_bodies() -> JSON:
    """Every webhook of Slack's, by file and name."""
    files = dict(_read(RECORDED / "slack" / "bolt_python_payloads.json")["payloads"])
    files |= {
        path.stem: _read(path) for path in sorted((RECORDED / "slack" / "replay").glob("*.json"))
    }
    found = {
        f"{file}:{name}": body for file, bodies in files.items() for name, body in bodies.items()
    }
    left_out = (":_source", "ModalContext")
    return _scrubbed(
        {
            name: body
            for name, body in found.items()
            if isinstance(body, dict) and not name.endswith(left_out)
        }
    )


def line_errors() -> JSON:
    """How LINE refuses a request, by number."""
    errors = _read(RECORDED / "line" / "error_bodies.json")["errors"]
    return {
        f"{number} {error['status']}": _refusal(error) for number, error in enumerate(errors, 1)
    }


def slack_errors() -> JSON:
    """How Slack's methods refuse a request, by what has happened."""
    responses = _read(RECORDED / "slack" / "webapi_responses.json")["responses"]
    return {
        response["case"]: _refusal(response)
        for response in responses
        if not response.get("body", {}).get("ok")
    }


def slack_methods() -> JSON:
    """What Slack's description says of its methods: their arguments, and what every answer
    holds."""
    facts = {}
    for path, operations in _read(SLACKS_METHODS)["paths"].items():
        [operation] = operations.values()
        arguments = sorted(parameter["name"] for parameter in operation["parameters"])
        answer = sorted(operation["responses"]["200"]["schema"]["required"])
        facts[path.removeprefix("/")] = {"arguments": arguments, "answer": answer}
    return facts


OTHERS = {
    "line": line_bodies,
    "line_errors": line_errors,
    "slack": slack_bodies,
    "slack_errors": slack_errors,
    "slack_methods": slack_methods,
}
FILES = (*MODELS, *OTHERS)


def written(facts: JSON) -> str:
    """Facts as text: every case in lines of its own, so that a change shows where it is."""
    cases = []
    for name, fact in facts.items():
        lines = [
            json.dumps(one, ensure_ascii=False)
            for one in (fact if isinstance(fact, list) else [fact])
        ]
        body = "[\n    " + ",\n    ".join(lines) + "\n  ]" if isinstance(fact, list) else lines[0]
        cases.append(f"  {json.dumps(name)}: {body}")
    return "{\n" + ",\n".join(cases) + "\n}\n"


def _scrubbed(bodies: JSON) -> JSON:
    return {case: Scrubber().value(body) for case, body in bodies.items()}


def _refusal(response: JSON) -> JSON:
    headers = sorted(name.lower() for name in response.get("headers", ()))
    return {
        "status": response["status"],
        "headers": headers,
        "fields": sorted(paths(response.get("body", {})) - {""}),
    }


def _answers(path: Path) -> Iterator[JSON]:
    recorded = _read(path)
    for case in recorded.get("cases", ()):
        yield _fact(case["status"], "json", (), [case["body"]])
    if "examples" in recorded:
        yield from (_fact(200, "json", (), [example]) for example in recorded["examples"])
    for interaction in recorded.get("interactions", ()):
        response = interaction["response"]
        headers = sorted(name.lower() for name in response["headers"])
        yield _fact(response["status"], response["format"], headers, _events(response))


def _mock(path: Path) -> JSON:
    """An answer from the SDK's own mock files."""
    text = path.read_text("utf-8")
    form = "sse" if text.startswith("data:") else "json"
    response = (
        {"format": form, "body_text": text}
        if form == "sse"
        else {"format": form, "body": json.loads(text)}
    )
    return _fact(200, form, (), _events(response))


def _events(response: JSON) -> list[Any]:
    if response["format"] == "json":
        return [response["body"]]
    if response["format"] == "json-array-stream":
        events: list[Any] = json.loads(response["body_text"])
        return events
    lines = response["body_text"].splitlines()
    if response["format"] == "sse":
        lines = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    return [json.loads(line) if line.startswith("{") else line for line in lines if line]


def _fact(status: int, form: str, headers: Any, events: list[Any]) -> JSON:
    scrubber = Scrubber(most=3)
    runs: list[list[Any]] = []
    for event in events:
        scrubbed = event if event == "[DONE]" else scrubber.value(event)
        if runs and runs[-1][1] == scrubbed:
            runs[-1][0] += 1
        else:
            runs.append([1, scrubbed])
    return {"status": status, "form": form, "headers": list(headers), "events": runs}


def _read(path: Path) -> JSON:
    read: JSON = json.loads(path.read_text("utf-8"))
    return read


if __name__ == "__main__":
    for file in FILES:
        (FOLDER / f"{file}.json").write_text(written(made(file)), "utf-8")
