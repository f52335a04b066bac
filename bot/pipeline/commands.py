"""Commands of a conversation, such as ``/help``. Those that name a tool, such as ``/weather
Tokyo``, are the agent's: ``bot.agent.loop.choice_in``.

A command is a row of ``Commands.table``, or a feature's; the catalogue holds its words (``words``)
and its answer (``command``).
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.channels import SAY, Button, InboundEvent, Reply
from bot.pipeline.feature import CommandContext, Feature, RunCommand
from bot.pipeline.services import Services
from bot.texts import language_of
from bot.transcript import platform_of
from toolset.tool_map import ToolMap

SUGGESTED = ("weather", "time", "sum")
LABEL_AND_WORDS = ("label", "say")


class Commands:
    """Runs commands, and writes sentences of the catalogue in the language of the person who is
    answered."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._tools = services.tools
        self.table: dict[str, RunCommand] = {
            "help": self._help,
            **services.features.commands,
        }

    async def run(self, name: str, context: CommandContext) -> Reply:
        """Run a command; the reply says what it did.

        Raises:
            LeaseLost: another process has the conversation.
            StoreUnavailable: the command may have run; running it again is right.
        """
        (event,) = await self._services.known(context.lease.conversation, [context.event])
        return await self.table[name](context._replace(event=event))

    def sentence(self, key: str, conversation: str, event: InboundEvent) -> Reply:
        """A sentence of the catalogue as a reply."""
        text = self._services.sentence(key, event)
        if not key.endswith(".greeting"):
            return Reply(text)
        text = "\n".join((text, *self._lines(key, conversation, event)))
        return Reply(text, buttons=self._suggestions((*SUGGESTED, "help"), event))

    async def _help(self, context: CommandContext) -> Reply:
        conversation, event = context.lease.conversation, context.event
        texts, language = self._services.texts, self._services.language(event)
        lines = [
            self._services.sentence("command.help", event),
            *texts.table("help", language).values(),
        ]
        lines += self._lines("command.help", conversation, event)
        offer = self._services.settings_of(conversation, event.author_id).offer
        tools = self._tools.of_place(conversation, event.author_id, [offer])
        if words := command_words(tools, language):
            own = f"command.tools_{platform_of(conversation)}"  # where no message may begin with /
            key = own if own in texts.sentences[language] else "command.tools"
            lines.append(texts.get(key, language, commands=" ".join(words)))
        return Reply("\n".join(lines), buttons=self._suggestions(SUGGESTED, event))

    def _lines(self, key: str, conversation: str, event: InboundEvent) -> list[str]:
        hooks = self._services.features.hooks(Feature.add_line)
        return list(filter(None, (add_line(key, conversation, event) for add_line in hooks)))

    def _suggestions(self, names: Sequence[str], event: InboundEvent) -> tuple[Button, ...]:
        """Buttons that say what people may ask."""
        buttons: list[Button] = []
        for name in names:
            label, said = (
                self._services.sentence(f"suggestion.{part}_{name}", event)
                for part in LABEL_AND_WORDS
            )
            buttons.append(Button(label, SAY, said, style="quick"))
        return tuple(buttons)


def command_words(tools: ToolMap, language: str) -> list[str]:
    """One command for each tool that has commands, if possible in this language."""
    words = []
    for tool in tools.values():
        own = [word for word in tool.commands if language_of(word, "en") == language]
        words += [f"/{word}" for word in (own or tool.commands)[:1]]
    return words
