"""A step of a turn asked again, and a turn as a question for evaluations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bot.clock import now_ms
from bot.texts import language_of
from bot.transcript import Message, Role, Text, new_id

if TYPE_CHECKING:
    from bot.features.traces.reading import TracedTurn, TurnWords

# How vendors name the system prompt and the messages of a request.
SYSTEMS = ("systemInstruction", "system_instruction", "system", "instructions")
LISTS = ("contents", "messages", "input", "prompt")
MODELS = ("model", "assistant")
INSTRUCTS = ("system", "developer")
FILES = ("inlineData", "inline_data", "fileData", "file_data", "source", "image_url", "input_audio")
MOST_DEPTH = 8

ID = re.compile(
    r"<[@#!][^<>\n]{1,200}>"  # a person or a channel of Slack
    r"|\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}"  # an address of e-mail
    r"|\b[UCR][0-9a-f]{32}\b"  # of LINE
    r"|\b[UCGDTWB](?=[0-9A-Z]{0,14}[0-9])[0-9A-Z]{7,14}\b"  # of Slack
    r"|\b(?=[0-9a-zA-Z_-]{0,200}[0-9])[0-9a-zA-Z_-]{20,200}\b"  # keys and other ids
    r"|\+?[0-9][0-9 ()-]{5,20}[0-9]"  # a telephone, of an account
)
NOTE = (
    "# This question leaves Kaiwa's care: what deletes or expires its words does not reach this "
    "file.\n# Names and ids that Kaiwa knows are replaced; read it for others before you pass it "
    "on.\n"
)


def asked_in(body: bytes) -> tuple[str, list[Message]] | None:
    """The system prompt and the messages of a recorded request, whoever's vendor it went to, as
    texts; None where there are none."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(content, list) and len(content) == 2:  # of a model of ours
        content = {"system": content[0], "messages": content[1]}
    if not isinstance(content, dict):
        return None
    systems = [_text(content[name]) for name in SYSTEMS if name in content]
    messages = []
    for item in _items(content):
        role = item.get("role") if isinstance(item, dict) else "user"
        text = _text(item)
        if role in INSTRUCTS:
            systems.append(text)
        elif text:
            kind: Role = "model" if role in MODELS else "user"
            messages.append(Message(new_id("msg"), kind, (Text(text),), now_ms()))
    return ("\n\n".join(filter(None, systems)), messages) if messages else None


def question_of(turn: TracedTurn, words: TurnWords) -> str:
    """A turn as a question in the form of ``evals/``, in TOML."""
    texts, names = [], []
    for share, number, fact in turn.facts:
        kept = words.by_fact.get((share.share, number))
        if kept is not None and fact.kind == "event":
            texts.append(kept.text)
            names.append(kept.who)
    ask = without_names("\n".join(filter(None, texts)), names)
    category = "several" if len(turn.tools) > 1 else "one_tool" if turn.tools else "no_tool"
    calls = ", ".join(f"{{ tool = {_quoted(name)} }}" for name in turn.tools)
    lines = (
        "[[question]]",
        f"id = {_quoted(f'trace-{turn.id[-8:]}')}",
        f"category = {_quoted(category)}",
        f"language = {_quoted(language_of(ask, 'en'))}",
        f"ask = {_quoted(ask)}",
        f"calls = [{calls}]",
    )
    return NOTE + "\n".join(lines) + "\n"


def without_names(text: str, names: Iterable[str]) -> str:
    """A text with placeholders for these names, and for what looks like an id."""
    for name in sorted(set(names), key=len, reverse=True):
        if len(name) > 1:
            text = text.replace(name, "[name]")
    return ID.sub("[id]", text)


def _items(content: Mapping[str, Any]) -> Sequence[Any]:
    for name in LISTS:
        found = content.get(name)
        if isinstance(found, list):
            return found
        if isinstance(found, str):
            return [{"role": "user", "content": found}]
    return []


def _text(part: Any, depth: int = 0) -> str:
    """A part of a message as text: its words, else its JSON; of a file that it is one."""
    if isinstance(part, str):
        return part
    if isinstance(part, list) and depth < MOST_DEPTH:
        return "\n".join(filter(None, (_text(one, depth + 1) for one in part)))
    if not isinstance(part, dict) or depth >= MOST_DEPTH:
        return ""
    if any(name in part for name in FILES):
        return "[file]"
    for name in ("parts", "content", "text"):
        if isinstance(part.get(name), (str, list)):
            found = _text(part[name], depth + 1)
            also = part.get("tool_calls")
            return "\n".join(filter(None, (found, json.dumps(also) if also else "")))
    return json.dumps(part, ensure_ascii=False)


def _quoted(text: str) -> str:
    """A basic string of TOML, which JSON's is but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
