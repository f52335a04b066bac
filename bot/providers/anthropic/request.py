"""The request to Anthropic: the neutral request as JSON of the Messages API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.json import Decoder

from bot.file_types import PDF
from bot.providers import ToolChoice
from bot.providers.anthropic.capabilities import Capabilities
from bot.providers.shared.request import (
    Inline,
    own_opaque,
    portable_id,
    portable_name,
    result_text,
    visible_parts,
)
from bot.providers.shared.schema_dialect import (
    STRICT_FORMATS,
    STRICT_KEYWORDS,
    VOCABULARY,
    Dialect,
    adapt,
    strict_form,
)
from bot.transcript import Media, Message, Text, ToolCall, ToolResult, encode
from toolset.tool import ToolDefinition

PROVIDER = "anthropic"
JSON = dict[str, Any]

MODES = {"auto": "auto", "none": "none", "required": "any", "one": "tool"}
THOUGHTS = ("thinking", "redacted_thinking")
# Anthropic's own tool, which runs on its servers, and the blocks of its calls:
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
WEB_SEARCH = "web_search"
SERVER_BLOCKS = ("server_tool_use", "web_search_tool_result")
# One answer may search so often: less than the number after which Anthropic pauses an answer.
MOST_SEARCHES = 5
CACHED = {"cache_control": {"type": "ephemeral"}}
# Anthropic refuses a request with a larger picture: "image exceeds 5 MB maximum: 8259148 bytes >
# 5242880 bytes". The limit is of the base64: https://github.com/anthropics/claude-code/issues/19631
# Anthropic takes pictures of so many bytes before base64.
PICTURE_CAP = 5 * 1024 * 1024 * 3 // 4
# So many bytes are some 512 tokens; a model that caches only longer prompts ignores the mark,
# without a charge.
CACHEABLE = 2000

# Anthropic refuses only a union at the top.
DIALECT = Dialect(VOCABULARY)
# https://platform.claude.com/docs/en/build-with-claude/structured-outputs
STRICT_DIALECT = Dialect(STRICT_KEYWORDS, STRICT_FORMATS | {"uri"})

_blocks = Decoder(list[JSON]).decode


def declarations(
    tools: Sequence[ToolDefinition], capabilities: Capabilities, *, searches: bool = False
) -> list[JSON]:
    """The tools; strict where the tool asks for it, the model takes it and the schema has a strict
    form.

    Args:
        searches: with Anthropic's own search.
    """
    declared = [_declaration(tool, capabilities) for tool in tools]
    if searches:
        declared.append(
            {"type": "web_search_20250305", "name": WEB_SEARCH, "max_uses": MOST_SEARCHES}
        )
    return declared


def tool_choice_of(choice: ToolChoice, capabilities: Capabilities) -> JSON:
    """Which tools may be called; ``auto`` for a model that takes no forced choice."""
    if is_forced(choice) and not capabilities.takes_forced_calls:
        return {"type": "auto"}
    if choice.mode == "one":
        return {"type": MODES[choice.mode], "name": choice.name}
    return {"type": MODES[choice.mode]}


def is_forced(choice: ToolChoice) -> bool:
    """Whether the model must call a tool."""
    return choice.mode in ("required", "one")


def cached_prefix(system: str, declared: list[JSON]) -> JSON:
    """System prompt and tools, each marked for the cache, as several prompts share the tools."""
    tools = list(declared)
    size = len(encode(tools))
    if tools and size >= CACHEABLE:
        tools[-1] = tools[-1] | CACHED
    fields: JSON = {}
    if tools:
        fields["tools"] = tools
    if system:
        mark = CACHED if size + len(system.encode()) >= CACHEABLE else {}
        fields["system"] = [{"type": "text", "text": system, **mark}]
    return fields


def chat(messages: Sequence[Message], model: str, inline: Inline, *, searches: bool) -> list[JSON]:
    """The conversation in turns of user and assistant; results and messages of users become one
    turn.

    The model gets its thoughts and searches of the open turn back; it has no more use for those of
    earlier turns.

    Args:
        inline: writes the content of media.
        searches: Anthropic's own search is declared; without it the blocks of its calls are left
            out.
    """
    turns: list[JSON] = []
    begin = open_turn(messages)
    for place, message in enumerate(messages):
        if message.role == "model":
            of_model = model if place >= begin else ""
            role, content = "assistant", _assistant(message, of_model, searches=searches)
        elif message.role == "tool":
            role, content = "user", [_result(result) for result in message.results]
        else:
            parts = visible_parts(message, picture_cap=PICTURE_CAP, reads_pdfs=True)
            role = "user"
            content = [_visible(part, inline) for part in parts if not _is_blank(part)]
        if content and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += content
        elif content:
            turns.append({"role": role, "content": content})
    return turns


def open_turn(messages: Sequence[Message]) -> int:
    """The index at which the open turn begins: after the model's newest message without calls."""
    for place in range(len(messages), 0, -1):
        if messages[place - 1].role == "model" and not messages[place - 1].calls:
            return place
    return 0


def began_without_thought(messages: Sequence[Message], model: str) -> bool:
    """Whether the model's first message of the open turn is another model's, or has no thought."""
    for message in messages[open_turn(messages) :]:
        if message.role == "model":
            return not any(block["type"] in THOUGHTS for block in _own_blocks(message, model))
    return False


def _declaration(tool: ToolDefinition, capabilities: Capabilities) -> JSON:
    declared: JSON = {"name": tool.name, "description": tool.description}
    if tool.strict and capabilities.takes_strict_tools:
        strict = strict_form(adapt(tool.parameters, STRICT_DIALECT))
        if strict is not None:
            return {**declared, "input_schema": strict, "strict": True}
    return {**declared, "input_schema": adapt(tool.parameters, DIALECT)}


def _assistant(message: Message, model: str, *, searches: bool) -> list[JSON]:
    own = _own_blocks(message, model)
    blocks = [block for block in own if searches or block["type"] not in SERVER_BLOCKS]
    if blocks:
        return blocks
    for part in message.parts:
        if isinstance(part, ToolCall):
            call_id, name = portable_id(part.id), portable_name(part.name)
            call = {"type": "tool_use", "id": call_id, "name": name, "input": part.written}
            blocks.append(call)
        elif isinstance(part, Text) and not _is_blank(part):
            blocks.append({"type": "text", "text": part.text})
    return blocks


def _own_blocks(message: Message, model: str) -> list[JSON]:
    """The blocks of a message that this model wrote with thoughts or searches, for no other model;
    else none."""
    own = own_opaque(message, PROVIDER, model)
    return _blocks(own) if own else []


def _result(result: ToolResult) -> JSON:
    answer = {"type": "tool_result", "tool_use_id": portable_id(result.call_id)}
    return {**answer, "content": result_text(result), "is_error": result.is_error}


def _visible(part: Text | Media, inline: Inline) -> JSON:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    source = {"type": "base64", "media_type": part.mime, "data": inline(part.data)}
    if part.mime != PDF:
        return {"type": "image", "source": source}
    # https://platform.claude.com/docs/en/build-with-claude/pdf-support
    titled = {"title": part.name} if part.name else {}
    return {"type": "document", "source": source, **titled}


def _is_blank(part: Text | Media) -> bool:
    """Whether a text is empty or white space, which Anthropic refuses."""
    return isinstance(part, Text) and not part.text.strip()
