"""The request to Gemini: the neutral request as JSON of ``generateContent``.

Google's own tools go beside ours for Gemini 3 and later, by an API key:
https://ai.google.dev/gemini-api/docs/tool-combination
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.json import Decoder

from bot.file_types import Kind
from bot.providers import ToolChoice, wrap_result
from bot.providers.gemini.failures import ServiceError
from bot.providers.shared.entry import AUTO_TOOLS
from bot.providers.shared.request import Inline, unavailable
from bot.transcript import Media, Message, Text, ToolCall, ToolResult
from toolset.tool import ToolDefinition
from toolset.web.json_values import as_object

JSON = dict[str, Any]

# The signature of a call that another model wrote; Gemini 3 does not check it:
# https://ai.google.dev/gemini-api/docs/thought-signatures
FOREIGN_SIGNATURE = "skip_thought_signature_validator"

MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "one": "ANY"}
# Gemini 2.5 takes a number of thinking tokens.
BUDGETS = {
    "minimal": 0,
    "low": 1024,
    "medium": 8192,
    "high": 24_576,
}
LEAST_PRO_BUDGET = 128
FAMILY = re.compile(
    r"(?:models/)?gemini-(?:(?P<version>\d+(?:\.\d+)?)-)?(?P<size>pro|flash-lite|flash)(?P<latest>-latest)?"
    r"(?!.*(?:image|tts|audio|live))"
)

# What Google takes back only beside its own tools:
# https://ai.google.dev/gemini-api/docs/tool-combination
SERVER_PARTS = ("toolCall", "toolResponse")

_parts = Decoder(list[JSON]).decode


def generation_config(model: str, max_output_tokens: int, thinking_level: str) -> JSON:
    """The fields that are the same in every request."""
    thinking = thinking_config(model, thinking_level)
    config: JSON = {"maxOutputTokens": max_output_tokens}
    if thinking:
        config["thinkingConfig"] = thinking
    return config


def kinds_of(model: str) -> frozenset[Kind]:
    """The files that a model reads: Gemini all of them, its open siblings pictures."""
    if model.removeprefix("models/").startswith("gemini"):
        return frozenset(("image", "audio", "video", "pdf"))
    return frozenset(("image",))


def is_third(match: re.Match[str]) -> bool:
    """Whether a model of ``FAMILY`` is of Gemini 3 or later, as the ``latest`` ones are."""
    version, _, latest = match.groups()
    return bool(latest) if version is None else float(version) >= 3


def thinking_config(model: str, level: str) -> JSON:
    """How hard the model should think, in the form of its family; empty for an unknown family.

    Gemini answers 400 to a field or a level that the model does not have; of Gemini 3, only
    flash-lite has ``minimal``.
    """
    match = FAMILY.match(model)
    if match is None:
        return {}
    size = match["size"]
    if match["version"] == "2.5":
        least = LEAST_PRO_BUDGET if size == "pro" else 0
        return {"thinkingBudget": max(BUDGETS[level], least)}
    if not is_third(match):
        return {}
    if level == "minimal" and size != "flash-lite":
        return {"thinkingLevel": "LOW"}
    return {"thinkingLevel": level.upper()}


def declarations(tools: Sequence[ToolDefinition]) -> list[JSON]:
    """All tools as one ``Tool``: Gemini refuses several."""
    if not tools:
        return []
    return [{"functionDeclarations": list(map(_declaration, tools))}]


def _declaration(tool: ToolDefinition) -> JSON:
    declared = {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": dict(tool.parameters),
    }
    if tool.response:
        declared["responseJsonSchema"] = dict(tool.response)
    return declared


def tool_config(choice: ToolChoice, *, combines: bool) -> JSON:
    """Which functions may be called.

    Args:
        combines: Google's own tools are declared too, with which Gemini has ``VALIDATED`` in place
            of ``AUTO``.
    """
    calling: JSON = {"mode": MODES[choice.mode]}
    if combines and choice.mode == "auto":
        calling["mode"] = "VALIDATED"
    if choice.mode == "one":
        calling["allowedFunctionNames"] = [choice.name]
    config: JSON = {"functionCallingConfig": calling}
    if combines:
        config["includeServerSideToolInvocations"] = True
    return config


def contents(
    messages: Sequence[Message], provider: str, model: str, inline: Inline, combines: bool = False
) -> list[JSON]:
    """The conversation; messages of this provider word for word.

    Adjacent messages of users become one content. Empty messages are left out, as Gemini refuses
    them.

    Args:
        inline: writes the content of media.
        combines: Google's own tools are declared; without them Gemini takes no parts about their
            calls.
    """
    turns: list[JSON] = []
    # The vendor's id for each of our ids of calls; function responses repeat the vendor's.
    vendor_ids: dict[str, str] = {}
    before = ""
    for message in messages:
        if message.role == "model":
            parts = _model_parts(message, provider, model, combines=combines)
            called = [part["functionCall"] for part in parts if "functionCall" in part]
            for ours, call in zip(message.calls, called, strict=False):
                vendor_ids[ours.id] = call.get("id") or ""
        elif message.role == "tool":
            parts = [_function_response(result, vendor_ids) for result in message.results]
        else:
            parts = _user_parts(message, inline)
        if not parts:
            continue
        if before == message.role == "user":
            turns[-1]["parts"] += parts
        else:
            turns.append({"role": "model" if message.role == "model" else "user", "parts": parts})
        before = message.role
    return turns


def _user_parts(message: Message, inline: Inline) -> list[JSON]:
    parts: list[JSON] = []
    if message.preface:
        parts.append({"text": message.preface})
    for part in message.parts:
        if isinstance(part, Text) and part.text:
            parts.append({"text": part.text})
        elif isinstance(part, Media) and part.data:
            parts.append({"inlineData": {"mimeType": part.mime, "data": inline(part.data)}})
        elif isinstance(part, Media) and part.uri:
            parts.append({"fileData": {"mimeType": part.mime, "fileUri": part.uri}})
        elif isinstance(part, Media):
            parts.append({"text": unavailable(part).text})
    return parts


def _model_parts(message: Message, provider: str, model: str, *, combines: bool) -> list[JSON]:
    """The vendor's own parts without empty texts, which end many streams and which Gemini refuses
    in a request."""
    opaque = message.opaque
    if opaque is None or opaque.provider != provider:
        return _signed([_rebuilt(part) for part in message.parts if part != Text("")])
    own = [part for part in _parts(opaque.data) if part != {"text": ""}]
    parts = [part for part in own if part.keys().isdisjoint(SERVER_PARTS)]
    if len(parts) < len(own) and combines and _are_paired(own):
        parts = own
    if opaque.model == model and len(parts) == len(own):
        return parts
    return _signed(parts)


def _are_paired(parts: list[JSON]) -> bool:
    """Whether each call of Google's tools has its one response; Google refuses others, as of an
    answer broken off."""
    called, answered = (
        [as_object(part[kind]).get("id") for part in parts if kind in part] for kind in SERVER_PARTS
    )
    ids, answers = ({one for one in of if isinstance(one, str)} for of in (called, answered))
    return len(called) == len(answered) == len(ids) and ids == answers


def _rebuilt(part: object) -> JSON:
    if isinstance(part, ToolCall):
        return {"functionCall": {"name": part.name, "args": part.written}}
    assert isinstance(part, Text)  # noqa: S101 -- a model writes text and calls
    return {"text": part.text}


def _signed(parts: list[JSON]) -> list[JSON]:
    """The parts with a signature on the first call, as Gemini 3 wants it; later calls of a step
    have none."""
    for part in parts:
        if "functionCall" in part:
            part.setdefault("thoughtSignature", FOREIGN_SIGNATURE)
            break
    return parts


def _function_response(result: ToolResult, vendor_ids: dict[str, str]) -> JSON:
    answer: JSON = {"name": result.name, "response": wrap_result(result)}
    if vendor_id := vendor_ids.get(result.call_id):
        answer["id"] = vendor_id
    return {"functionResponse": answer}


FIELDS = {
    "google_search": "googleSearch",
    "url_context": "urlContext",
    "code_execution": "codeExecution",
}
# These tools open addresses that the model chooses.
OPENING = frozenset({"url_context"})
# A quota whose metric ends so has nothing to do with search.
OF_MODEL = "/generate_content"


def own_tools(chosen: tuple[str, ...], model: str) -> tuple[str, ...]:
    """The names of Google's tools among those chosen; with ``AUTO_TOOLS`` the search, if the model
    takes it."""
    if chosen != AUTO_TOOLS:
        return tuple(name for name in chosen if name in FIELDS)
    match = FAMILY.match(model)
    if match and is_third(match):
        return ("google_search",)
    return ()


def may_be_refusal(error: ServiceError) -> bool:
    """Whether Google's own tools may be what is refused; only the same request without them can
    tell.

    Not every 400 names them ("Request contains an invalid argument."). A key without a quota of
    searches, as in the free tier, gets a 429 that names no quota and no time: its details hold only
    ``google.rpc.Help``.
    """
    if error.code == 429:
        return not (error.names_a_limit or OF_MODEL in error.message)
    return error.code == 400 and not error.refuses_key
