"""Messages that name a tool, such as ``/weather Tokyo``: the model calls it first, and is free afterwards."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.providers import AUTO, ToolChoice
from bot.texts import language_of
from bot.transcript import Message
from toolset.tool import ToolMap

COMMAND = re.compile(r"\s*[/／](\S+)\s*(.*)", re.DOTALL)


def choice_in(messages: Sequence[Message], tools: ToolMap) -> ToolChoice:
    """The tool that the newest message with a command names; auto where there is none."""
    return next((choice for message in reversed(messages) if (choice := _choice(message.text, tools)) != AUTO), AUTO)


def command_words(tools: ToolMap, language: str) -> list[str]:
    """A command for each tool that has one: the first in this language, else its first."""
    return [
        f"/{next((word for word in tool.commands if language_of(word, 'en') == language), tool.commands[0])}"
        for tool in tools.values()
        if tool.commands
    ]


def _choice(text: str, tools: ToolMap) -> ToolChoice:
    """A bare command is left to the model where its tool needs to be told something: it would be made up."""
    match = COMMAND.fullmatch(text)
    name = tools.commands.get(match[1].casefold()) if match else None
    if match is None or name is None or (tools[name].definition.parameters.get("required") and not match[2]):
        return AUTO
    return ToolChoice("one", name)
