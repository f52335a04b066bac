"""A stand-in for Ollama on loopback: refuses what the real one refuses, and answers as it was told.

with ollama_fake() as fake:
    fake.calls(("get_weather", {"location": "Tokyo"}))
    fake.say("It is sunny", " in Tokyo.")
    Ollama("qwen3", fake.base_url)
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from tests.fakes.streams import Arrived, End, ModelFake, Outgoing, json_of

JSON = dict[str, Any]
NDJSON = "application/x-ndjson"
KEY = "test-key"

# Models and what they are able to.
MODELS = {
    "llama3.2": ("completion", "tools"),
    "qwen3": ("completion", "tools", "thinking", "vision"),
    "gpt-oss:20b": ("completion", "tools", "thinking", "levels"),
    "gemma:2b": ("completion",),
}
ROLES = ("system", "user", "assistant", "tool")
COUNTS: JSON = {"total_duration": 9, "load_duration": 1, "prompt_eval_count": 100, "eval_count": 15}


class Refused(Exception):
    """A 400 with this text."""


class OllamaFake(ModelFake):
    """The server.

    Attributes:
        wants_key: as a server on the internet does.
        loads: the answer to a request without messages, which loads the model.
    """

    def __init__(self) -> None:
        super().__init__()
        self.wants_key = False
        self.loads = json_of({"done": True, "done_reason": "load"})

    @property
    def chats(self) -> list[JSON]:
        """The bodies of all requests for an answer."""
        return [request.body for request in self.requests if request.path == "/api/chat"]

    def say(self, *pieces: str, done_reason: str = "stop", end: End = "whole") -> None:
        """Text, each piece in a line of its own."""
        self.messages(*({"content": piece} for piece in pieces), done_reason=done_reason, end=end)

    def calls(self, *calls: tuple[str, JSON], text: str = "", thinking: str = "") -> None:
        """Parallel calls, each in a line of its own and without an id."""
        spoken = [{"content": "", "thinking": thinking}] if thinking else []
        spoken += [{"content": text}] if text else []
        self.messages(
            *spoken,
            *({"content": "", "tool_calls": [call(name, arguments)]} for name, arguments in calls),
        )

    def messages(self, *messages: JSON, done_reason: str = "stop", end: End = "whole") -> None:
        """Messages exactly as given, one line for each."""
        lines = [line(message) for message in messages]
        if end == "whole":
            lines.append(line({"content": ""}, done=True, done_reason=done_reason, **COUNTS))
        self.lines(*lines, end=end)

    def lines(self, *lines: JSON, end: End = "whole") -> None:
        """Lines exactly as given."""
        self.answer(
            Outgoing(
                tuple(msgspec.json.encode(one) + b"\n" for one in lines), end, content_type=NDJSON
            )
        )

    def failure(
        self, status: int, message: str, *, headers: Mapping[str, str] | None = None
    ) -> Outgoing:
        return json_of({"error": message}, status, headers)

    def reply(self, request: Arrived) -> Outgoing | None:
        return self._refusal(request) or self._card(request) or self._load(request)

    def _refusal(self, request: Arrived) -> Outgoing | None:
        if self.wants_key and request.headers.get("Authorization") != f"Bearer {KEY}":
            return self.failure(401, "unauthorized")
        if request.path not in ("/api/chat", "/api/show"):
            return Outgoing((b"404 page not found",), status=404, content_type="text/plain")
        try:
            model = request.body["model"]
            if model not in MODELS:
                return self.failure(404, f"model '{model}' not found")
            if request.path == "/api/chat":
                check(request.body, MODELS[model])
        except (msgspec.DecodeError, KeyError):
            return self.failure(400, "model is required")
        except Refused as refused:
            return self.failure(400, str(refused))
        return None

    def _load(self, request: Arrived) -> Outgoing | None:
        return None if request.body["messages"] else self.loads

    def _card(self, request: Arrived) -> Outgoing | None:
        if request.path != "/api/show":
            return None
        card = {"details": {}, "model_info": {}, "capabilities": MODELS[request.body["model"]]}
        return json_of(card)


def check(body: JSON, abilities: tuple[str, ...]) -> None:
    """Refuse what the server refuses: Go's types, and what the model is not able to. Unknown fields
    are ignored.

    Raises:
        Refused: with the server's text.
    """
    think = body.get("think")
    if think and "thinking" not in abilities:
        raise Refused(f'"{body["model"]}" does not support thinking')
    if isinstance(think, str) and "levels" not in abilities:
        raise Refused(f'think value "{think}" is not supported for this model')
    if body.get("tools") and "tools" not in abilities:
        raise Refused(f"registry.ollama.ai/library/{body['model']} does not support tools")
    for tool in body.get("tools", ()):
        _want(
            tool["function"]["parameters"],
            dict,
            "tools.function.parameters",
            "api.ToolFunctionParameters",
        )
    for name, value in body.get("options", {}).items():
        _want(value, int, f"options.{name}", "int")
    for message in body["messages"]:
        _check_message(message)


def _check_message(message: JSON) -> None:
    if message["role"] not in ROLES:
        raise Refused(f"invalid role: {message['role']}, must be one of {list(ROLES)}")
    _want(message.get("content", ""), str, "messages.content", "string")
    for one in message.get("tool_calls", ()):
        _want(one["function"]["name"], str, "messages.tool_calls.function.name", "string")
        where = "messages.tool_calls.function.arguments"
        _want(one["function"]["arguments"], dict, where, "api.ToolCallFunctionArguments")
    for image in message.get("images", ()):
        try:
            base64.b64decode(image, validate=True)
        except binascii.Error:
            raise Refused("illegal base64 data at input byte 0") from None


def _want(value: Any, kind: type, where: str, go_type: str) -> None:
    if not isinstance(value, kind):
        found = (
            "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
        )
        raise Refused(
            f"json: cannot unmarshal {found} into Go struct field ChatRequest.{where} of type "
            f"{go_type}"
        )


def call(name: str, arguments: JSON) -> JSON:
    """A call: its arguments are an object, and it has no id."""
    return {"function": {"name": name, "arguments": arguments}}


def line(message: JSON, **fields: Any) -> JSON:
    """One line of a stream."""
    named = {
        "model": "qwen3",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", **message},
    }
    return {**named, "done": False, **fields}


def ollama_fake() -> AbstractContextManager[OllamaFake]:
    """The server on a free port, in a thread of its own."""
    return OllamaFake().served()
