"""Forgetting: ``/reset`` deletes a conversation, ``/forget me`` all that is kept of a person;
whoever leaves a group or blocks the bot is forgotten too.

The pipeline leaves out of a batch what is before these commands (``bot.commands``).
"""

from __future__ import annotations

from bot.channels import Confirmation, InboundEvent, KeptCommand, KeptSection, Reply
from bot.features.forgetting.deletion import Deletion
from bot.pipeline.feature import CommandContext, Feature
from bot.pipeline.select import CONVERSATION_DELETED
from bot.pipeline.services import Services
from bot.store import Lease
from bot.transcript import platform_of

FORGET = "forget"  # the action of the overview's button


class Forgetting(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._deletion = Deletion(services)
        self.commands = {"reset": self._reset, "forget": self._forget}

    async def leave(self, lease: Lease, event: InboundEvent) -> None:
        """Forget people who have left a group, or the whole conversation."""
        if event.event == CONVERSATION_DELETED:
            await self._deletion.delete_conversation(lease, event)
        else:
            await self._deletion.end_membership(lease, set(event.target.split()))

    async def overview(self, conversation: str, event: InboundEvent) -> KeptSection:
        """What is kept for how long, and a button for ``/forget me``."""
        keys = ("title", "text", "confirm", "deny")
        question = Confirmation(*(self._sentence(f"question_{key}", event) for key in keys))
        words, _, _ = self._services.texts.get("words.forgets.forget", "en").partition(",")
        command = KeptCommand(words, question, self._sentence("given", event))
        title, kept, label = (self._sentence(key, event) for key in ("title", "kept", "button"))
        return KeptSection(title, kept, FORGET, label, command=command)

    async def _reset(self, context: CommandContext) -> Reply:
        """Delete the history. The outbox stays: its answers may be for other people."""
        store, lease = self._services.store, context.lease
        await store.history.purge(lease, self._services.features.purged)
        await self._services.features.each(Feature.reset, lease.conversation)
        for dead_letter in await store.dead_letters.of(lease.conversation):
            await store.dead_letters.discard(dead_letter)
        return Reply(self._sentence("reset", context.event))

    async def _forget(self, context: CommandContext) -> Reply:
        """Say what was deleted and what Kaiwa cannot delete. The reply becomes no dead letter, as
        its address names a person."""
        event, services = context.event, self._services
        deleted = await self._deletion.forget(context.lease, event)
        values = {
            "conversations": deleted.conversations,
            "messages": deleted.messages,
            "files": deleted.files,
        }
        text = services.sentence("forgetting.forgotten", event, **values)
        keeper = f"forgetting.elsewhere_{platform_of(context.lease.conversation)}"
        elsewhere = services.texts.sentences[services.language(event)].get(keeper, "")
        return Reply(f"{text} {elsewhere}".strip(), keep="until_refused")

    def _sentence(self, key: str, event: InboundEvent) -> str:
        return self._services.sentence(f"forgetting.{key}", event)


FEATURE = Forgetting
