"""Commands of a conversation, such as ``/help``, and commands that name a tool, such as ``/weather Tokyo``.

A command is a row of the table in ``Commands`` and its words and sentences in the catalogue (``words``, ``command``).
A command that names a tool has the model call the tool first; afterwards the model is free.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bot.agent.turn import NOBODY
from bot.channels import InboundEvent, Reply
from bot.conversation.admission import Admission
from bot.conversation.edits import HistoryEditor
from bot.conversation.services import Services
from bot.providers import AUTO, ToolChoice
from bot.store import Lease
from bot.texts import language_of
from bot.transcript import Message, channel_of
from toolset.tool import ToolMap

TOOL_COMMAND = re.compile(r"\s*[/／](\S+)\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Given:
    """A command that somebody has given.

    Attributes:
        ends_turn: messages before it are not answered any more.
    """

    lease: Lease
    event: InboundEvent
    ends_turn: bool


class Commands:
    """Runs commands, and says our own sentences in the language of whoever is answered."""

    def __init__(self, services: Services, editor: HistoryEditor, admission: Admission, tools: ToolMap) -> None:
        self._services = services
        self._editor = editor
        self._admission = admission
        self._tools = tools
        self.table: Mapping[str, Callable[[Given], Awaitable[Reply]]] = {
            "help": self._help,
            "reset": self._reset,
            "forget": self._forget,
            "stop": self._stop,
            "usage": self._usage,
        }

    async def run(self, name: str, given: Given) -> Reply:
        """Do what a command says; the reply tells what was done.

        Raises:
            LeaseLost: another process has the conversation.
            StoreUnavailable: it may have been done; doing it again is right.
        """
        return await self.table[name](given)

    def sentence(self, key: str, event: InboundEvent, **values: object) -> Reply:
        """A sentence of the catalogue as a reply."""
        defaults = self._services.defaults
        known = {"bot_name": defaults.bot_name, "days": defaults.history_days}
        language = self._language(event)
        text = self._services.texts.get(key, language, **known, **values)
        if key != "command.help":
            return Reply(text, kind="greeting" if key.endswith(".greeting") else "")
        if words := command_words(self._tools, language):
            text = f"{text}\n{self._services.texts.get('command.tools', language, commands=' '.join(words))}"
        return Reply(text, kind="help")

    async def _help(self, given: Given) -> Reply:
        return self.sentence("command.help", given.event)

    async def _reset(self, given: Given) -> Reply:
        await self._editor.reset(given.lease)
        return self.sentence("command.reset", given.event)

    async def _forget(self, given: Given) -> Reply:
        """What was deleted, and what cannot be; it names its reader by its address, so it is kept for nobody."""
        gone = await self._editor.forget(given.lease, given.event)
        values = {"conversations": gone.conversations, "messages": gone.messages, "files": gone.files}
        reply = self.sentence("command.forget", given.event, **values)
        keeper = f"forget_elsewhere.{channel_of(given.lease.conversation)}"
        elsewhere = self._services.texts.sentences[self._language(given.event)].get(keeper, "")
        return replace(reply, text=f"{reply.text} {elsewhere}".strip(), fleeting=True)

    async def _stop(self, given: Given) -> Reply:
        return self.sentence("apology.stopped" if given.ends_turn else "command.stop", given.event)

    async def _usage(self, given: Given) -> Reply:
        return await self._admission.usage(given.lease.conversation, given.event)

    def _language(self, event: InboundEvent) -> str:
        default = self._services.defaults.language
        author = event.message.author or NOBODY
        language = language_of(event.message.text, author.locale[:2] or default)
        return language if language in self._services.texts.sentences else default


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
    match = TOOL_COMMAND.fullmatch(text)
    name = tools.commands.get(match[1].casefold()) if match else None
    if match is None or name is None or (tools[name].definition.parameters.get("required") and not match[2]):
        return AUTO
    return ToolChoice("one", name)
