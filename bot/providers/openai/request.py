"""The request to an OpenAI-compatible server: the neutral request as JSON of chat completions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.json import Decoder

from bot.file_types import PDF
from bot.providers import Request, ToolChoice
from bot.providers.openai.capabilities import Capabilities
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
    Dialect,
    adapt,
    strict_form,
)
from bot.transcript import Media, Message, Text, ToolResult, encode
from toolset.tool import ToolDefinition

PROVIDER = "openai"
JSON = dict[str, Any]

THINKS = re.compile(r"(?:openai/)?(?:o\d|gpt-(?:[5-9]|oss))(?!.*chat)")
PARAGRAPH = "\n\n"

# The keywords of OpenAI's strict mode: https://platform.openai.com/docs/guides/structured-outputs
STRICT = Dialect(
    STRICT_KEYWORDS
    | {
        "pattern",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    },
    STRICT_FORMATS,
)
# Beyond strict mode, more hints are taken; references and unions fail on many servers.
LOOSE = Dialect(STRICT.keywords | {"default", "examples", "minLength", "maxLength", "uniqueItems"})


class Dialects(NamedTuple):
    """The JSON Schema that a server takes, in strict mode and beyond it."""

    strict: Dialect
    loose: Dialect


OPENAIS = Dialects(STRICT, LOOSE)
# llama.cpp refuses a pattern without anchors, and its [^…] matches quotes too, so that the model
# writes broken JSON.
COMPATIBLE = Dialects(
    *(replace(dialect, keywords=dialect.keywords - {"pattern"}) for dialect in OPENAIS)
)


class Extras(Struct, omit_defaults=True):
    """Fields that a server wants back beside text and calls; they are stored as ``Opaque.data``.

    Attributes:
        message: of the message.
        calls: of each call.
    """

    message: JSON = {}
    calls: list[JSON] = []


_extras = Decoder(Extras).decode


def reasoning_effort(model: str, level: str) -> str:
    """How hard the model should think; empty for a model that does not think."""
    return level if THINKS.match(model) else ""


def declarations(tools: Sequence[ToolDefinition], dialects: Dialects) -> list[JSON]:
    """The tools; strict where the tool asks for it and its schema has a strict form."""
    return [{"type": "function", "function": _function(tool, dialects)} for tool in tools]


def tool_choice_of(choice: ToolChoice) -> str | JSON:
    """Which functions may be called."""
    if choice.mode == "one":
        return {"type": "function", "function": {"name": choice.name}}
    return choice.mode


def response_format(schema: JSON, dialects: Dialects) -> JSON:
    """Text by a schema, strict where the schema has a strict form."""
    strict = strict_form(adapt(schema, dialects.strict))
    form: JSON = {
        "name": "answer",
        "schema": strict or adapt(schema, dialects.loose),
        "strict": strict is not None,
    }
    return {"type": "json_schema", "json_schema": form}


def chat(request: Request, model: str, capabilities: Capabilities, inline: Inline) -> list[JSON]:
    """The conversation. Adjacent messages of users become one: the templates of many models want
    turns to alternate.

    Args:
        inline: writes the content of media.
    """
    turns: list[JSON] = []
    if request.system:
        turns.append({"role": capabilities.system_role, "content": request.system})
    for message in request.messages:
        if message.role == "tool":
            turns += [_tool(result) for result in message.results]
        elif message.role == "model":
            turns += _assistant(message, model, capabilities)
        elif content := _content(message, capabilities, inline):
            if turns and turns[-1]["role"] == "user":
                turns[-1] = {"role": "user", "content": _joined(turns[-1]["content"], content)}
            else:
                turns.append({"role": "user", "content": content})
    return turns


def _function(tool: ToolDefinition, dialects: Dialects) -> JSON:
    function: JSON = {"name": tool.name, "description": tool.description}
    if tool.strict and (strict := strict_form(adapt(tool.parameters, dialects.strict))):
        return {**function, "parameters": strict, "strict": True}
    return {**function, "parameters": adapt(tool.parameters, dialects.loose)}


def _content(message: Message, capabilities: Capabilities, inline: Inline) -> str | list[JSON]:
    """Text alone as a string, which every server takes; text beside pictures as parts."""
    readable = {
        "sees_pictures": capabilities.sees_pictures,
        "reads_pdfs": "pdf" in capabilities.documents,
    }
    parts = list(visible_parts(message, **readable))
    if any(isinstance(part, Media) for part in parts):
        return [_part(part, inline) for part in parts]
    return PARAGRAPH.join(part.text for part in parts if isinstance(part, Text))


def _part(part: Text | Media, inline: Inline) -> JSON:
    if isinstance(part, Text):
        return _words(part.text)
    if part.mime == PDF:  # https://developers.openai.com/api/docs/guides/file-inputs?api-mode=chat
        file = {
            "filename": part.name or "file.pdf",
            "file_data": f"data:{PDF};base64,{inline(part.data)}",
        }
        return {"type": "file", "file": file}
    return {
        "type": "image_url",
        "image_url": {"url": f"data:{part.mime};base64,{inline(part.data)}"},
    }


def _words(text: str) -> JSON:
    return {"type": "text", "text": text}


def _joined(before: str | list[JSON], after: str | list[JSON]) -> str | list[JSON]:
    if isinstance(before, str) and isinstance(after, str):
        return before + PARAGRAPH + after
    return [*_as_parts(before), *_as_parts(after)]


def _as_parts(content: str | list[JSON]) -> list[JSON]:
    if isinstance(content, str):
        return [_words(content)]
    return content


def _assistant(message: Message, model: str, capabilities: Capabilities) -> list[JSON]:
    """A message of the model; none for an empty message."""
    own = own_opaque(message, PROVIDER, model)
    extras = _extras(own) if own else Extras()
    calls: list[JSON] = []
    for place, call in enumerate(message.calls):
        function = {"name": portable_name(call.name), "arguments": encode(call.written).decode()}
        calls.append({"id": portable_id(call.id), "type": "function", "function": function})
        if place < len(extras.calls):
            calls[-1] |= extras.calls[place]
    if not (message.text or calls):
        return []
    turn: JSON = {"role": "assistant", "content": message.text or None}
    for name, value in extras.message.items():
        if name not in capabilities.unwanted:
            turn[name] = value
    if calls:
        turn["tool_calls"] = calls
    return [turn]


def _tool(result: ToolResult) -> JSON:
    call_id = portable_id(result.call_id)
    return {"role": "tool", "tool_call_id": call_id, "content": result_text(result)}
