"""What the Gemini API refuses in a ``generateContent`` request, in its own words."""

from __future__ import annotations

import base64
import binascii
import re
from functools import cache
from typing import Any

import msgspec
from jsonschema import Draft7Validator
from jsonschema.exceptions import best_match

from tests.fakes.names import NAMES
from tests.shared_data import RECORDED

JSON = dict[str, Any]

MOST_BYTES = (
    20 * 1024 * 1024
)  # https://ai.google.dev/gemini-api/docs/image-understanding: inline, all told
FREE_FORM = {"args", "response", "parametersJsonSchema", "responseJsonSchema", "partMetadata"}
KNOWN = NAMES["gemini"]
# https://ai.google.dev/gemini-api/docs/image-understanding, …/audio, …/video-understanding,
# …/document-processing
MIMES = re.compile(
    "image/(png|jpeg|webp|heic|heif)|application/pdf|text/.+|audio/(mp4|m4a|mpeg|mp3|aac|wav|ogg|flac|aiff|webm)"
    "|video/(mp4|mpeg|mov|avi|x-flv|mpg|webm|wmv|3gpp)"
)
# https://ai.google.dev/gemini-api/docs/tool-combination
BUILT_IN = {"googleSearch", "urlContext", "codeExecution"}
NOT_COMBINED = "Tool use with function calling is unsupported"
NOT_ENABLED = (
    "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with "
    "Function calling."
)
# Documented without their words:
NO_AUTO = "Function calling mode AUTO is not supported with include_server_side_tool_invocations."
NOT_CIRCULATED = (
    "Please enable tool_config.include_server_side_tool_invocations to send tool_call and "
    "tool_response."
)
CHANGED = (
    "Please send tool_call and tool_response parts back unchanged, each response after its call."
)
NO_IMAGES = (
    "The requested combination of response modalities is not supported by the model. "
    "models/{model} accepts the "
    "following combinations of response modalities:\n* TEXT\n"
)
FUNCTION_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")

CALL_ORDER = (
    "Please ensure that function call turn comes immediately after a user turn or after a "
    "function response turn."
)
RESPONSE_ORDER = (
    "Please ensure that function response turn comes immediately after a function call turn."
)
RESPONSE_COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the "
    "function call turn."
)
MISSING_SIGNATURE = (
    "Function call is missing a thought_signature in functionCall parts. This is required for "
    "tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, "
    "function call "
    "`default_api:{name}`, position {position}."
)


class Refused(Exception):
    """An error with this text."""

    def __init__(self, text: str, status: int = 400, reason: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.reason = reason


def check(model: str, raw: bytes, own_parts: list[JSON]) -> None:
    """Refuse what the real service refuses.

    Args:
        own_parts: what the service itself has said, and so takes back in whatever form.

    Raises:
        Refused: with the service's text.
    """
    if len(raw) > MOST_BYTES:
        raise Refused(f"Request payload size exceeds the limit: {MOST_BYTES} bytes.")
    body = known(raw, "request")
    _check_cache(body)
    check_prefix(body)
    check_combination(model, body)
    _check_thinking(model, body.get("generationConfig") or {})
    _check_images(model, body)
    contents = body.get("contents")
    if not contents:
        raise Refused("* GenerateContentRequest.contents: contents is not specified\n")
    for index, content in enumerate(contents):
        _check_content(index, content)
    _check_turns(contents)
    if generation(model) >= 3:
        _check_signatures(contents)
    own = _camel(own_parts)
    _check_circulation(body, own)
    check_specification(body, own)


def check_combination(model: str, body: JSON) -> None:
    """Refuse the service's own tools beside functions, unless the model and the request combine
    them.

    Raises:
        Refused: with the service's text.
    """
    tools = body.get("tools") or [{}]
    if not (BUILT_IN & tools[0].keys() and tools[0].get("functionDeclarations")):
        return
    config = body.get("toolConfig") or {}
    if generation(model) < 3:
        raise Refused(NOT_COMBINED)
    if not config.get("includeServerSideToolInvocations"):
        raise Refused(NOT_ENABLED)
    if config.get("functionCallingConfig", {}).get("mode") == "AUTO":
        raise Refused(NO_AUTO)


def _check_circulation(body: JSON, own_parts: list[JSON]) -> None:
    """Calls of the service's own tools come back as they were, and only to requests that
    combine."""
    combines = "cachedContent" in body or (body.get("toolConfig") or {}).get(
        "includeServerSideToolInvocations"
    )
    for content in body["contents"]:
        own = [part for part in content["parts"] if part.keys() & {"toolCall", "toolResponse"}]
        if own and not combines:
            raise Refused(NOT_CIRCULATED)
        called = [part["toolCall"].get("id") for part in own if "toolCall" in part]
        answered = [part["toolResponse"].get("id") for part in own if "toolResponse" in part]
        is_paired = called == answered and len(set(called)) == len(called) and None not in called
        if not is_paired or not all(part in own_parts for part in own):
            raise Refused(CHANGED)


def known(raw: bytes, kind: str) -> JSON:
    """A body in camel case.

    Raises:
        Refused: it is not JSON, or has other fields.
    """
    try:
        renamed: JSON = _camel(msgspec.json.decode(raw))
    except msgspec.DecodeError:
        raise Refused("Invalid JSON payload received.") from None
    unknown = renamed.keys() - KNOWN[kind]
    if unknown:
        raise Refused(
            f'Invalid JSON payload received. Unknown name "{min(unknown)}": Cannot find field.'
        )
    return renamed


def check_prefix(body: JSON) -> None:
    """Refuse tools and a tool config as the real service does, in a request and in what is to be
    cached.

    Raises:
        Refused: with the service's text.
    """
    _check_tools(body.get("tools") or [])
    _check_tool_config(body)


def generation(model: str) -> float:
    """The version in a model's name; the newest where it names none."""
    version = re.search(r"gemini-(\d+(?:\.\d+)?)", model)
    return float(version[1]) if version else 99.0


def calls_of(content: JSON) -> list[JSON]:
    """The function calls of a content."""
    return [part["functionCall"] for part in content["parts"] if "functionCall" in part]


def responses_of(content: JSON) -> list[JSON]:
    """The function responses of a content."""
    return [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]


def _camel(value: Any, key: str = "") -> Any:
    """Field names may come in snake case too; what is the caller's own data stays as it is."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if isinstance(value, dict) and key not in FREE_FORM:
        renamed = {
            re.sub(r"_([a-z])", lambda letter: letter[1].upper(), name): item
            for name, item in value.items()
        }
        return {name: _camel(item, name) for name, item in renamed.items()}
    return value


def _check_cache(body: JSON) -> None:
    if "cachedContent" in body and body.keys() & {"systemInstruction", "tools", "toolConfig"}:
        raise Refused(
            "CachedContent can not be used with GenerateContent request setting "
            "system_instruction, tools or "
            "tool_config."
        )


def _check_tools(tools: list[JSON]) -> None:
    if len(tools) > 1:
        raise Refused("Multiple tools are supported only when they are all search tools.")
    names: set[str] = set()
    for index, function in enumerate(tools[0].get("functionDeclarations", []) if tools else []):
        where = f"tools[0].function_declarations[{index}]"
        if not FUNCTION_NAME.fullmatch(function.get("name", "")):
            raise Refused(f"* GenerateContentRequest.{where}.name: Invalid function name.\n")
        if function["name"] in names:
            raise Refused(f"Duplicate function declaration found: {function['name']}")
        names.add(function["name"])
        if "parameters" in function and "parametersJsonSchema" in function:
            raise Refused(
                f"* GenerateContentRequest.{where}: only one of parameters and "
                "parameters_json_schema.\n"
            )
        _check_schema(function.get("parameters"), f"{where}.parameters")


def _check_schema(schema: JSON | None, where: str) -> None:
    """The older ``parameters`` field knows a part of OpenAPI and nothing else of JSON Schema."""
    if schema is None:
        return
    for word in schema.keys() - KNOWN["schema"]:
        raise Refused(
            f"Invalid JSON payload received. Unknown name \"{word}\" at '{where}': Cannot find "
            "field."
        )
    for name, inner in schema.get("properties", {}).items():
        _check_schema(inner, f"{where}.properties[{name}].value")
    _check_schema(schema.get("items"), f"{where}.items")


def _check_tool_config(body: JSON) -> None:
    calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
    declared = {
        f["name"] for tool in body.get("tools") or [] for f in tool.get("functionDeclarations", [])
    }
    if calling and not declared:
        raise Refused("Function calling config is set without function_declarations.")
    allowed = set(calling.get("allowedFunctionNames", ()))
    if allowed and calling.get("mode") not in ("ANY", "VALIDATED"):
        raise Refused(
            "Allowed function names should be set only when function calling mode is ANY or "
            "VALIDATED."
        )
    if not allowed <= declared:
        raise Refused("All allowed_function_names must be a subset of the declared functions.")


def _check_thinking(model: str, config: JSON) -> None:
    thinking = config.get("thinkingConfig", {})
    if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
        raise Refused("You can only set only one of thinking budget and thinking level.")
    if thinking and generation(model) < 2.5:
        raise Refused(f"Unable to submit request because thinking is not supported by {model}.")
    if "thinkingLevel" in thinking and generation(model) < 3:
        raise Refused("Thinking level is not supported for this model.")
    if thinking.get("thinkingLevel") == "MINIMAL" and "flash-lite" not in model:
        raise Refused(
            "Thinking level MINIMAL is not supported for this model. Please retry with other "
            "thinking level."
        )
    if thinking.get("thinkingBudget", -1) in range(128) and "2.5-pro" in model:
        raise Refused(
            "The thinking budget is invalid. Please choose a value between 128 and 32768."
        )


def _check_images(model: str, body: JSON) -> None:
    """Only image models make pictures, of these shapes, and they call no functions."""
    config = body.get("generationConfig") or {}
    makes_images = "-image" in model
    if "IMAGE" in config.get("responseModalities", ()) and not makes_images:
        raise Refused(NO_IMAGES.format(model=model))
    if "imageConfig" in config and not makes_images:
        raise Refused(f"Image config is not supported for models/{model}")
    if config.get("imageConfig", {}).get("aspectRatio", "1:1") not in KNOWN["aspect_ratios"]:
        raise Refused("Invalid aspect ratio.")
    if makes_images and any("functionDeclarations" in tool for tool in body.get("tools") or ()):
        raise Refused(f"Function calling is not enabled for models/{model}")


def _check_content(index: int, content: JSON) -> None:
    if content.get("role", "user") not in ("user", "model"):
        raise Refused("Please use a valid role: user, model.")
    if not content.get("parts"):
        raise Refused(
            f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.\n"
        )
    for place, part in enumerate(content["parts"]):
        where = f"GenerateContentRequest.contents[{index}].parts[{place}]"
        if not part.keys() - KNOWN["beside_data"]:
            raise Refused(
                f"* {where}.data: required oneof field 'data' must have one initialized field\n"
            )
        if part == {"text": ""}:
            raise Refused("Unable to submit request because it has an empty text parameter.")
        _check_base64(part.get("thoughtSignature", ""), where)
        mime = (part.get("inlineData") or part.get("fileData") or {}).get("mimeType", "image/png")
        if not MIMES.fullmatch(mime):
            raise Refused(f"Unsupported MIME type: {mime}")


def _check_base64(text: str, where: str) -> None:
    try:
        base64.b64decode(
            text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True
        )
    except binascii.Error:
        raise Refused(
            f"Invalid value at '{where}.thought_signature' (TYPE_BYTES), Base64 decoding failed"
        ) from None


def _check_turns(contents: list[JSON]) -> None:
    """Calls follow a user, and are answered by the very next content: all of them, in order, by
    name and id."""
    open_calls: list[JSON] = []
    before = "nobody"
    for content in contents:
        calls, responses = calls_of(content), responses_of(content)
        if responses and not open_calls:
            raise Refused(RESPONSE_ORDER)
        if [_identity(call) for call in open_calls] != [
            _identity(response) for response in responses
        ]:
            raise Refused(RESPONSE_COUNT)
        if calls and before != "user":
            raise Refused(CALL_ORDER)
        open_calls = calls
        before = content.get("role", "user")
    if open_calls:
        raise Refused(RESPONSE_COUNT)
    if before == "model":
        raise Refused(
            "Please ensure that multiturn requests end with a user turn or a function response."
        )


def _identity(called: JSON) -> tuple[str, str | None]:
    return called["name"], called.get("id")


def _check_signatures(contents: list[JSON]) -> None:
    """Of the turn that is going on, the first call of every step must be signed; an empty signature
    is one."""
    asked = max(
        i
        for i, one in enumerate(contents)
        if one.get("role", "user") == "user" and not responses_of(one)
    )
    for position, content in enumerate(contents[asked:], asked):
        first = next((part for part in content["parts"] if "functionCall" in part), None)
        if first is not None and "thoughtSignature" not in first:
            name = first["functionCall"]["name"]
            raise Refused(MISSING_SIGNATURE.format(name=name, position=position + 1))


def check_specification(body: JSON, own_parts: list[JSON]) -> None:
    """Refuse what the published schema of a request does not know.

    Raises:
        Refused: it does not.
    """
    validator = _specification()
    if validator is None:
        return
    contents = [
        {**one, "parts": [part for part in one["parts"] if part not in own_parts]}
        for one in body.get("contents", ())
    ]
    error = best_match(validator.iter_errors({**body, "contents": contents}))
    if error is not None:
        raise Refused(f"Invalid JSON payload received. {error.json_path}: {error.message}")


@cache
def _specification() -> Draft7Validator | None:
    """The published schema of a request, where it is at hand."""
    path = RECORDED.parent / "specs" / "gemini" / "generatecontent_request.strict.schema.json"
    return Draft7Validator(msgspec.json.decode(path.read_bytes())) if path.is_file() else None
