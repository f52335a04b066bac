"""Questions about calls that act: posted with buttons, and changed once they are decided."""

from __future__ import annotations

from typing import Any

import structlog
from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from bot.channels import AssertLease, Delivery, Question, Reply
from bot.channels.kv import KeyValue
from bot.channels.slack.api import Api
from bot.channels.slack.earmark import earmark
from bot.channels.slack.messages import Sending
from bot.channels.slack.question_blocks import buttons, outcome_block, question_block
from bot.channels.slack.refusal import FIRST_WAIT_S, failure, is_passing
from bot.channels.slack.types import Address, ms
from bot.channels.slack.words import escaped
from bot.errors import DeliverLater, StoreUnavailable
from bot.texts import Texts, language_of
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

KEPT_S = 2 * 86_400  # twice as long as a question may stay open


class Open(Struct, frozen=True):
    """A conversation's question that waits for its answer.

    Attributes:
        asker: the id of the person who has asked for the call.
        block: what is asked, as it stands in the message.
    """

    id: str
    asker: str
    channel: str
    ts: str
    block: dict[str, Any]


_decode = Decoder(Open).decode


class Questions:
    """Asks. Which message holds a question is noted, for whichever process hears how it was decided."""

    def __init__(self, api: Api, sending: Sending, notes: KeyValue, texts: Texts, language: str) -> None:
        self._api = api
        self._sending = sending
        self._notes = notes
        self._texts = texts
        self._language = language

    async def ask(
        self, conversation: str, address: Address, delivery: Delivery, question: Question, assert_lease: AssertLease
    ) -> int | None:
        """Post the question.

        Returns:
            The time of its message by Slack's clock, milliseconds since the epoch; None where Slack gives none.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """
        ours, _, _ = delivery.reply.text.partition("\n")  # what follows is the call's, in whatever language
        language = language_of(ours, self._language)
        block = question_block(question, self._texts, language)
        content = {
            "text": self._texts.get("slack.question_notice", language, tool=question.tool),
            "blocks": [block, buttons(question, conversation, self._texts, language)],
        }
        sent = await self._sending.send(address, delivery, content, assert_lease)
        note = encode(Open(question.id, question.asker_id, sent.channel, sent.ts, block))
        try:
            await self._notes.set(_name(conversation), note, KEPT_S)
        except StoreUnavailable as error:
            raise DeliverLater("not noted where the question stands", FIRST_WAIT_S) from error
        return ms(sent.ts) or None

    async def settle(self, conversation: str, reply: Reply, assert_lease: AssertLease) -> None:
        """Put the outcome in the place of the buttons; where the message is not known any more, say nothing.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        try:
            question = await self._open(conversation, self._notes)
            if question is None or question.id != reply.settles:
                return
            await assert_lease()
            await self._show(question, reply.text)
            await self._notes.set(_name(conversation), b"", 1)
        except StoreUnavailable as error:
            raise DeliverLater("the store does not tell where the question stands", FIRST_WAIT_S) from error

    async def is_asked(self, conversation: str, user: str, notes: KeyValue) -> bool:
        """Whether a question of this person's waits there.

        Args:
            notes: the door's.

        Raises:
            StoreUnavailable: the store does not tell.
        """
        question = await self._open(conversation, notes)
        return question is not None and question.asker == user

    async def _show(self, question: Open, outcome: str) -> None:
        updated = await self._api.post(
            "chat.update",
            channel=question.channel,
            ts=question.ts,
            text=escaped(outcome),
            blocks=[question.block, outcome_block(outcome)],
            metadata=earmark(question.id),
        )
        if is_passing(updated):
            raise failure("chat.update", updated)
        if not updated.ok:
            log.warning("approval.buttons_left", cause=updated.error)

    async def _open(self, conversation: str, notes: KeyValue) -> Open | None:
        value = await notes.get(_name(conversation))
        try:
            return _decode(value) if value else None
        except DecodeError:
            return None


def _name(conversation: str) -> str:
    return f"slack:question:{conversation}"
