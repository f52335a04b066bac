"""A turn as a question for evaluations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bot.texts import language_of

if TYPE_CHECKING:
    from bot.features.traces.reading import TracedTurn, TurnWords

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


def _quoted(text: str) -> str:
    """A basic string of TOML, which JSON's is but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
