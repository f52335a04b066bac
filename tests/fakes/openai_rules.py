"""What the chat completions API refuses in a request, in OpenAI's own words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.fakes.names import NAMES

JSON = dict[str, Any]

KNOWN = NAMES["openai"]
CALL_FIELDS = {"id", "type", "function"}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ID_CAP = 40
REASONS = re.compile(r"o\d|gpt-5")
TALKS = re.compile(r"gpt-4")
NO_UNIONS = ("oneOf", "anyOf", "allOf", "enum", "not")


@dataclass
class Refused(Exception):
    """A 400 with this text."""

    message: str
    param: str | None = None
    code: str | None = None


def check(body: Any, *, extras: bool) -> None:
    """Refuse what the real service refuses.

    Args:
        extras: a server of another vendor's, which knows fields of its own in messages.

    Raises:
        Refused: with the service's text.
    """
    if not isinstance(body, dict):
        raise Refused("We could not parse the JSON body of your request.")
    for name in sorted(body.keys() - KNOWN["request"]):
        raise Refused(f"Unrecognized request argument supplied: {name}", name)
    if not body.get("messages"):
        raise Refused("[] is too short - 'messages'", "messages")
    if body.get("stream_options") and not body.get("stream"):
        raise Refused(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
        )
    _check_tools(body)
    _check_form(body)
    for place, message in enumerate(body["messages"]):
        _check_message(place, message, extras=extras)
    _check_turns(body["messages"])


def _check_tools(body: JSON) -> None:
    names = set()
    for place, tool in enumerate(body.get("tools", ())):
        where = f"tools[{place}].function"
        function = tool.get("function") or {}
        if tool.get("type") != "function" or not NAME.fullmatch(function.get("name", "")):
            raise Refused(
                f"Invalid '{where}.name': string does not match pattern.",
                f"{where}.name",
                "invalid_value",
            )
        names.add(function["name"])
        _check_parameters(function, where)
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not names:
        raise Refused("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    if isinstance(choice, dict) and choice.get("function", {}).get("name") not in names:
        raise Refused(f"Tool choice '{choice}' not found in 'tools' parameter.", "tool_choice")
    if isinstance(choice, str) and choice not in ("auto", "none", "required"):
        raise Refused(f"Invalid value: '{choice}'.", "tool_choice")


def _check_parameters(function: JSON, where: str) -> None:
    schema = function.get("parameters", {"type": "object", "properties": {}})
    spoken = f"Invalid schema for function '{function['name']}'"
    if bare := _bare_array(schema, ()):
        raise Refused(
            f"{spoken}: In context={bare}, array schema missing items.",
            where,
            "invalid_function_parameters",
        )
    if schema.get("type") != "object" or any(word in schema for word in NO_UNIONS):
        unions = "/".join(f"'{word}'" for word in NO_UNIONS)
        raise Refused(
            f"{spoken}: schema must have type 'object' and not have {unions} at the top level.",
            where,
        )
    if function.get("strict"):
        _check_strict(schema, spoken)


def check_model(body: JSON) -> None:
    """Refuse what OpenAI's own models refuse, by their kind.

    Raises:
        Refused: with the service's text.
    """
    if body.keys() >= {"max_tokens", "max_completion_tokens"}:
        words = (
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
        raise Refused(words, "max_tokens", "invalid_parameter_combination")
    if REASONS.match(body["model"]) and "max_tokens" in body:
        words = (
            "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        raise Refused(f"Unsupported parameter: {words}", "max_tokens", "unsupported_parameter")
    if TALKS.match(body["model"]) and "reasoning_effort" in body:
        raise Refused(
            "Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"
        )


def _check_form(body: JSON) -> None:
    form = body.get("response_format")
    if form is None or form.get("type") == "text":
        return
    if form.get("type") == "json_object":
        if b"json" not in msgspec.json.encode(body["messages"]).lower():
            words = (
                "'messages' must contain the word 'json' in some form, to use 'response_format' "
                "of type"
            )
            raise Refused(f"{words} 'json_object'.", "messages")
        return
    if form.get("type") != "json_schema" or not NAME.fullmatch(
        form.get("json_schema", {}).get("name", "")
    ):
        raise Refused(
            "Missing required parameter: 'response_format.json_schema'.",
            "response_format.json_schema",
        )
    if form["json_schema"].get("strict"):
        _check_strict(form["json_schema"]["schema"], "Invalid schema for response_format")


def _bare_array(schema: Any, where: tuple[str, ...]) -> tuple[str, ...]:
    """Where an array does not say what it holds; OpenAI minds in every schema."""
    if not isinstance(schema, dict):
        return ()
    if schema.get("type") == "array" and "items" not in schema:
        return where
    inner = [(("properties", name), one) for name, one in schema.get("properties", {}).items()]
    found = (
        _bare_array(one, (*where, *place))
        for place, one in [*inner, (("items",), schema.get("items"))]
    )
    return next((one for one in found if one), ())


def _check_strict(schema: JSON, spoken: str) -> None:
    for word in sorted(schema.keys() - KNOWN["strict_schema"]):
        raise Refused(
            f"{spoken}: In context=(), '{word}' is not permitted.",
            "tools",
            "invalid_function_parameters",
        )
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            raise Refused(
                f"{spoken}: 'additionalProperties' is required to be supplied and to be false."
            )
        if set(schema.get("required", ())) != schema.get("properties", {}).keys():
            raise Refused(
                f"{spoken}: 'required' is required to be supplied and to include every key in "
                "properties."
            )
    if schema.get("type") == "array" and "items" not in schema:
        raise Refused(f"{spoken}: array schema missing items.")
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        _check_strict(inner, spoken)
    if "items" in schema:
        _check_strict(schema["items"], spoken)


def _check_message(place: int, message: JSON, *, extras: bool) -> None:
    where = f"messages[{place}]"
    known = KNOWN["message"].get(message.get("role", ""))
    if known is None:
        raise Refused(f"Invalid value: '{message.get('role')}'.", f"{where}.role", "invalid_value")
    for name in sorted(message.keys() - known) if not extras else ():
        raise Refused(
            f"Unknown parameter: '{where}.{name}'.", f"{where}.{name}", "unknown_parameter"
        )
    if message.get("content") is None and not message.get("tool_calls"):
        raise Refused(
            "Invalid value for 'content': expected a string, got null.", f"{where}.content"
        )
    _check_content(message, where)
    for number, call in enumerate(message.get("tool_calls") or ()):
        _check_call(call, f"{where}.tool_calls[{number}]", extras=extras)


def _check_content(message: JSON, where: str) -> None:
    content = message.get("content")
    if not isinstance(content, list):
        return
    for place, part in enumerate(content):
        if part.get("type") == "image_url" and message["role"] == "user":
            if not re.match(
                r"https://|data:image/(png|jpeg|gif|webp);base64,", part["image_url"]["url"]
            ):
                raise Refused(
                    "Invalid MIME type. Only image types are supported.",
                    f"{where}.content[{place}]",
                )
        elif part.get("type") == "file" and message["role"] == "user":
            _check_file(part, f"{where}.content[{place}]")
        elif part.get("type") != "text":
            raise Refused(
                f"Invalid value: '{part.get('type')}'.",
                f"{where}.content[{place}].type",
                "invalid_value",
            )


def _check_file(part: JSON, where: str) -> None:
    """A PDF, the only file that chat completions take:
    https://developers.openai.com/api/docs/guides/file-inputs"""
    file = part.get("file")
    if (
        part.keys() != {"type", "file"}
        or not isinstance(file, dict)
        or file.keys() - {"filename", "file_data", "file_id"}
    ):
        raise Refused(f"Unknown parameter: '{where}.file'.", f"{where}.file", "unknown_parameter")
    if not file.get("filename"):
        raise Refused(
            f"Missing required parameter: '{where}.file.filename'.", f"{where}.file.filename"
        )
    if not re.match("data:application/pdf;base64,JVBERi0", file.get("file_data", "")):
        words = (
            "Invalid file data. Expected a base64-encoded data URL with an application/pdf MIME "
            "type."
        )
        raise Refused(words, f"{where}.file.file_data", "invalid_value")


def _check_call(call: JSON, where: str, *, extras: bool) -> None:
    for name in sorted(call.keys() - CALL_FIELDS) if not extras else ():
        raise Refused(
            f"Unknown parameter: '{where}.{name}'.", f"{where}.{name}", "unknown_parameter"
        )
    if not call.get("id") or len(call["id"]) > ID_CAP:
        words = (
            f"Expected a string with maximum length {ID_CAP}, but got one with length "
            f"{len(call.get('id', ''))}."
        )
        raise Refused(f"Invalid '{where}.id': {words}", f"{where}.id", "string_above_max_length")
    if not NAME.fullmatch(call["function"]["name"]):
        raise Refused(
            f"Invalid '{where}.function.name': string does not match pattern.",
            where,
            "invalid_value",
        )
    if not isinstance(msgspec.json.decode(call["function"]["arguments"]), dict):
        raise Refused(f"Invalid '{where}.function.arguments'", where, "invalid_value")


def _check_turns(messages: list[JSON]) -> None:
    """Every call has its result before anybody speaks again, and no result is without a call."""
    unanswered: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in unanswered:
                raise Refused(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with "
                    "'tool_calls'.",
                    f"messages[{place}].role",
                )
            unanswered.remove(message["tool_call_id"])
            continue
        if unanswered:
            raise Refused(_unanswered(unanswered), f"messages[{place}].role")
        unanswered = [call["id"] for call in message.get("tool_calls") or ()]
        if len(set(unanswered)) < len(unanswered):
            raise Refused("Duplicate tool call id.", f"messages[{place}].tool_calls")
    if unanswered:
        raise Refused(_unanswered(unanswered), "messages")


def _unanswered(ids: list[str]) -> str:
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(ids)}"
    )
