"""What the Messages API refuses in a request, in its own words."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from tests.fakes.names import NAMES

JSON = dict[str, Any]


class Model(NamedTuple):
    """What a model takes.

    Attributes:
        thinking: values of ``thinking.type``.
        forces: whether a call can be forced, and whether while it thinks.
    """

    thinking: frozenset[str]
    effort: bool
    forces: str  # never, without thinking, always


MODELS = {
    "claude-3-haiku-20240307": Model(frozenset(), False, "without thinking"),
    "claude-haiku-4-5": Model(frozenset({"enabled", "disabled"}), False, "without thinking"),
    "claude-haiku-4-5-20251001": Model(
        frozenset({"enabled", "disabled"}), False, "without thinking"
    ),
    "claude-opus-4-6": Model(
        frozenset({"enabled", "adaptive", "disabled"}), True, "without thinking"
    ),
    "claude-opus-4-8": Model(frozenset({"adaptive", "disabled"}), True, "without thinking"),
    "claude-sonnet-5": Model(frozenset({"adaptive", "disabled"}), True, "without thinking"),
    "claude-fable-5": Model(frozenset({"adaptive"}), True, "always"),
    "claude-opus-5-5": Model(frozenset({"adaptive"}), True, "never"),
    "claude-sonnet-5-5": Model(frozenset({"adaptive", "between_tools"}), True, "never"),
}
KNOWN = NAMES["anthropic"]
WEB_SEARCH = "web_search_20250305"
NO_SEARCH = "'{}' does not support tool types: web_search_20250305."
THOUGHTS = ("thinking", "redacted_thinking")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")

UNANSWERED = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block "
    "must have a corresponding `tool_result` block in the next message."
)
UNASKED = (
    "messages.{}.content.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each "
    "`tool_result` block must "
    "have a corresponding `tool_use` block in the previous message."
)
NO_THOUGHT = (
    "messages.{}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When "
    "`thinking` is "
    "enabled, a final `assistant` message must start with a thinking block (preceeding the "
    "lastmost set of `tool_use` "
    "and `tool_result` blocks)."
)
NO_BUDGET = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
    '"output_config.effort" '
    "to control thinking behavior."
)


class Refused(Exception):
    """A 400 with this text."""


def check(body: JSON, thoughts: dict[str, list[JSON]]) -> None:
    """Refuse what the real service refuses.

    Args:
        thoughts: those the service itself has had, by model.

    Raises:
        Refused: with the service's text.
    """
    for name in ("model", "max_tokens", "messages"):
        _want(name in body, f"{name}: Field required")
    for name in body.keys() - KNOWN["request"]:
        raise Refused(f"{name}: Extra inputs are not permitted")
    _check_tools(body)
    _check_thinking(body)
    _check_messages(body["messages"], thoughts.get(body["model"], []))
    _check_cache(body)
    if body.get("thinking", {}).get("type") == "enabled":
        _check_begun_with_a_thought(body["messages"])


def _want(condition: bool, otherwise: str) -> None:
    if not condition:
        raise Refused(otherwise)


def _check_tools(body: JSON) -> None:
    tools = body.get("tools", [])
    for index, tool in enumerate(tools):
        if tool.get("type") == WEB_SEARCH:
            _want(not body["model"].startswith("claude-3-haiku"), NO_SEARCH.format(body["model"]))
            _want(
                tool["name"] == "web_search" and tool.keys() <= set(KNOWN["web_search"]),
                f"tools.{index}: Extra inputs",
            )
            continue
        where = f"tools.{index}.custom"
        _want(
            NAME.fullmatch(tool["name"]) is not None,
            f"{where}.name: String should match pattern '{NAME.pattern}'",
        )
        _check_schema(tool.get("input_schema"), where, strict=tool.get("strict", False))
    names = {tool["name"] for tool in tools}
    _want(len(names) == len(tools), "tools: Tool names must be unique.")
    choice = body.get("tool_choice")
    if choice is None:
        return
    _want(bool(tools), "tool_choice: Tool choice may only be specified while providing tools.")
    _want(
        choice["type"] in ("auto", "any", "tool", "none"),
        "tool_choice: Input tag found using 'type' is not expected",
    )
    named = choice["type"] != "tool" or choice.get("name") in names
    _want(named, f"tool_choice.tool.name: Tool '{choice.get('name')}' not found in provided tools")


def _check_schema(schema: JSON | None, where: str, *, strict: bool) -> None:
    if schema is None:
        raise Refused(f"{where}.input_schema: Field required")
    _want(schema.get("type") == "object", f"{where}.input_schema.type: Input should be 'object'")
    unions = schema.keys() & {"oneOf", "allOf", "anyOf"}
    _want(
        not unions,
        f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level",
    )
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        raise Refused(f"{where}.input_schema: JSON schema is invalid.") from None
    if strict:
        _check_strict(schema, where)


def _check_strict(schema: JSON, where: str) -> None:
    unknown = schema.keys() - KNOWN["strict_schema"]
    _want(
        not unknown,
        f"{where}: For '{schema.get('type')}' type, property '{''.join(sorted(unknown))}' is not "
        "supported",
    )
    shut = schema.get("type") != "object" or schema.get("additionalProperties") is False
    _want(
        shut, f"{where}: For 'object' type, 'additionalProperties' must be explicitly set to false"
    )
    for inner in schema.get("properties", {}).values():
        _check_strict(inner, where)


def _check_thinking(body: JSON) -> None:
    model = MODELS[body["model"]]
    thinking = body.get("thinking") or {}
    kind = thinking.get("type", "")
    _want(
        not kind or kind in model.thinking,
        NO_BUDGET
        if kind == "enabled"
        else f'"thinking.type.{kind}" is not supported for this model.',
    )
    if kind == "enabled":
        _want(
            thinking["budget_tokens"] >= 1024,
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        )
        _want(
            body["max_tokens"] > thinking["budget_tokens"],
            "`max_tokens` must be greater than `thinking.budget_tokens`.",
        )
    _want(
        model.effort or "effort" not in body.get("output_config", {}),
        "This model does not support the effort parameter.",
    )
    if body.get("tool_choice", {}).get("type") in ("any", "tool"):
        _want(
            model.forces != "never", "tool_choice: forced tool use is not supported for this model."
        )
        quiet = kind in ("", "disabled") or model.forces == "always"
        _want(quiet, "Thinking may not be enabled when tool_choice forces tool use.")


def _check_messages(messages: list[JSON], thoughts: list[JSON]) -> None:
    _want(bool(messages), "messages: at least one message is required")
    _want(messages[0]["role"] == "user", 'messages: first message must use the "user" role')
    ends_well = messages[-1]["role"] == "user"
    _want(
        ends_well,
        "This model does not support assistant message prefill. The conversation must end with a "
        "user message.",
    )
    ids: set[str] = set()
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        _want(
            message["role"] in KNOWN["blocks_of_role"],
            f"messages.{place}.role: Input should be 'user' or 'assistant'",
        )
        blocks = _blocks_of(message, place)
        for index, block in enumerate(blocks):
            _check_block(block, message["role"], f"messages.{place}.content.{index}", thoughts)
        _check_results(blocks, open_calls, place)
        _check_searches(blocks, place)
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        _want(
            ids.isdisjoint(open_calls) and len(set(open_calls)) == len(open_calls),
            "messages: `tool_use` ids must be unique",
        )
        ids.update(open_calls)


def _blocks_of(message: JSON, place: int) -> list[JSON]:
    content = message["content"]
    blocks: list[JSON] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else content
    )
    _want(
        bool(blocks),
        f"messages.{place}: all messages must have non-empty content except for the optional "
        "final assistant message",
    )
    return blocks


def _check_results(blocks: list[JSON], open_calls: list[str], place: int) -> None:
    """All results of a message's calls stand first in the next one."""
    first = [block.get("tool_use_id") for block in blocks[: len(open_calls)]]
    missing = [call for call in open_calls if call not in first]
    _want(not missing, UNANSWERED.format(place - 1, ", ".join(missing)))
    for index, block in enumerate(blocks):
        if block["type"] == "tool_result" and (
            index >= len(open_calls) or block["tool_use_id"] not in open_calls
        ):
            raise Refused(UNASKED.format(place, index, block["tool_use_id"]))


def _check_searches(blocks: list[JSON], place: int) -> None:
    """A result of a search stands after its call; a call without one is still to run, beside a call
    of ours."""
    called: list[str] = []
    for block in blocks:
        if block["type"] == "server_tool_use":
            called.append(block["id"])
        elif block["type"] == "web_search_tool_result":
            known = block["tool_use_id"] in called
            _want(
                known,
                f"messages.{place}: `web_search_tool_result` block without its `server_tool_use` "
                "block",
            )
            called.remove(block["tool_use_id"])
    pending = not called or any(block["type"] == "tool_use" for block in blocks)
    _want(
        pending,
        f"messages.{place}: `server_tool_use` block without its `web_search_tool_result` block",
    )


def _check_block(block: JSON, role: str, where: str, thoughts: list[JSON]) -> None:
    kind = block["type"]
    _want(
        kind in KNOWN["blocks_of_role"][role],
        f"{where}: `{kind}` blocks are not permitted in `{role}` messages",
    )
    for name in block.keys() - KNOWN["block"][kind]:
        raise Refused(f"{where}.{kind}.{name}: Extra inputs are not permitted")
    if kind == "text":
        _want(bool(block["text"]), "messages: text content blocks must be non-empty")
        _want(
            bool(block["text"].strip()),
            "messages: text content blocks must contain non-whitespace text",
        )
    elif kind == "image":
        _check_image(block["source"], where)
    elif kind == "document":
        _check_document(block, f"{where}.document")
    elif kind == "tool_use":
        _want(
            NAME.fullmatch(block["id"]) is not None,
            f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        )
        _want(
            NAME.fullmatch(block["name"]) is not None,
            f"{where}.tool_use.name: String should match pattern '{NAME.pattern}'",
        )
        _want(
            isinstance(block["input"], dict),
            f"{where}.tool_use.input: Input should be a valid dictionary",
        )
    elif kind in THOUGHTS:
        _want(block in thoughts, f"{where}: Invalid `signature` in `thinking` block")


def _check_image(source: JSON, where: str) -> None:
    _want(
        source["media_type"] in IMAGES,
        f"{where}.image.source.base64.media_type: Input should be {IMAGES}",
    )
    try:
        base64.b64decode(source["data"], validate=True)
    except binascii.Error:
        raise Refused(
            f"{where}.image.source.base64.data: The image data is not valid base64"
        ) from None


def _check_document(block: JSON, where: str) -> None:
    """A PDF: https://platform.claude.com/docs/en/build-with-claude/pdf-support"""
    source = block["source"]
    _want(
        source.get("type") == "base64",
        f"{where}.source.type: Input tag found using 'type' does not match",
    )
    _want(
        source["media_type"] == "application/pdf",
        f"{where}.source.base64.media_type: Input should be 'application/pdf'",
    )
    _want(
        0 < len(block.get("title", "x")) <= 500,
        f"{where}.title: String should have at most 500 characters",
    )
    try:
        content = base64.b64decode(source["data"], validate=True)
    except binascii.Error:
        raise Refused(f"{where}.source.base64.data: Invalid base64 data") from None
    _want(content.startswith(b"%PDF-"), "The PDF specified was not valid.")


def _check_cache(body: JSON) -> None:
    system = body.get("system", [])
    blocks = [*body.get("tools", []), *(system if isinstance(system, list) else [])]
    blocks += [
        block
        for message in body["messages"]
        for block in message["content"]
        if isinstance(block, dict)
    ]
    count = sum("cache_control" in block for block in blocks)
    _want(count <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")


def _check_begun_with_a_thought(messages: list[JSON]) -> None:
    """A budget wants the whole turn to have been thought about; the turn began after words of the
    user."""
    asked = max(
        place for place, one in enumerate(messages) if one["role"] == "user" and not _is_result(one)
    )
    if asked + 1 < len(messages):
        first = messages[asked + 1]["content"][0]["type"]
        _want(first in THOUGHTS, NO_THOUGHT.format(asked + 1, first))


def _is_result(message: JSON) -> bool:
    return any(
        block["type"] == "tool_result" for block in message["content"] if isinstance(block, dict)
    )
