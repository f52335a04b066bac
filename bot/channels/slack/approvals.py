"""Questions about calls that act: their blocks, their buttons, the decision a press makes, and the outcome."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import structlog
from msgspec import DecodeError, Struct, ValidationError, convert
from msgspec.json import Decoder

from bot.channels import AssertLease, Delivery, InboundEvent, Question, Reply
from bot.channels.kv import KeyValue
from bot.channels.slack.client import FIRST_WAIT_S, Client, delivery_error, is_transient
from bot.channels.slack.events import ReceivedEvent
from bot.channels.slack.formatting import escape
from bot.channels.slack.messages import Messages, delivery_metadata
from bot.channels.slack.options import Options
from bot.channels.slack.types import Address, ms, write_address
from bot.errors import DeliverLater, StoreUnavailable
from bot.safe_text.arguments import render_arguments
from bot.texts import Texts, language_of
from bot.transcript import Author, Message, encode

log = structlog.stdlib.get_logger(__name__)

KEPT_S = 2 * 86_400  # twice as long as a question may stay open
Block = dict[str, Any]
APPROVE, REJECT = "kaiwa_approve", "kaiwa_reject"
DATE = "{date_short_pretty} {time}"  # in the language and the zone of whoever reads it
CONVERSATION = re.compile(r"slack:[A-Z0-9]*:[A-Z0-9]+(:\d+\.\d+)?")
QUESTION = re.compile(r"question_[0-9a-f]{32}")


class OpenQuestion(Struct, frozen=True):
    """A conversation's open question.

    Attributes:
        asker: the id of the person who has asked for the call.
        block: what is asked, as it stands in the message.
    """

    id: str
    asker: str
    channel: str
    ts: str
    block: dict[str, Any]


_decode = Decoder(OpenQuestion).decode


class Approvals:
    """Asks questions and shows outcomes. The message of a question is stored: another process may settle it."""

    def __init__(self, client: Client, messages: Messages, kv: KeyValue, texts: Texts, language: str) -> None:
        self._client = client
        self._messages = messages
        self._kv = kv
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
        sent = await self._messages.send(address, delivery, content, assert_lease)
        value = encode(OpenQuestion(question.id, question.asker_id, sent.channel, sent.ts, block))
        try:
            await self._kv.set(_key(conversation), value, KEPT_S)
            if not address.thread:
                await self._kv.set(_newest_key(sent.channel), conversation.encode(), KEPT_S)
        except StoreUnavailable as error:
            raise DeliverLater("the place of the question is not stored", FIRST_WAIT_S) from error
        return ms(sent.ts) or None

    async def settle(self, conversation: str, reply: Reply, assert_lease: AssertLease) -> None:
        """Replace the buttons by the outcome. Nothing happens where the question's message is no longer known.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        try:
            question = await self._open(conversation, self._kv)
            if question is None or question.id != reply.settles:
                return
            await assert_lease()
            await self._show(question, reply.text)
            await self._kv.set(_key(conversation), b"", 1)
        except StoreUnavailable as error:
            raise DeliverLater("the store does not tell where the question stands", FIRST_WAIT_S) from error

    async def find_asked(self, conversation: str, channel: str, user: str, kv: KeyValue) -> str:
        """The conversation whose question words in a 1:1 chat answer: of those shown there, the one asked last.

        Raises:
            StoreUnavailable: the store does not tell.
        """
        newest = (await kv.get(_newest_key(channel)) or b"").decode()
        return newest if newest and await self.is_asked(newest, user, kv) else conversation

    async def is_asked(self, conversation: str, user: str, kv: KeyValue) -> bool:
        """Whether a question to this person is open there.

        Args:
            kv: free of turns.

        Raises:
            StoreUnavailable: the store does not tell.
        """
        question = await self._open(conversation, kv)
        return question is not None and question.asker == user

    async def _show(self, question: OpenQuestion, outcome: str) -> None:
        updated = await self._client.post(
            "chat.update",
            channel=question.channel,
            ts=question.ts,
            text=escape(outcome),
            blocks=[question.block, outcome_block(outcome)],
            metadata=delivery_metadata(question.id),
        )
        if is_transient(updated):
            raise delivery_error("chat.update", updated)
        if not updated.ok:
            log.warning("approval.buttons_left", cause=updated.error)

    async def _open(self, conversation: str, kv: KeyValue) -> OpenQuestion | None:
        value = await kv.get(_key(conversation))
        try:
            return _decode(value) if value else None
        except DecodeError:
            return None


def _newest_key(channel: str) -> str:
    return f"slack:newest_question:{channel}"


def _key(conversation: str) -> str:
    return f"slack:question:{conversation}"


def question_block(question: Question, texts: Texts, language: str) -> Block:
    """The question: tool, every argument as it will be used, asker, expiry."""
    call = "\n".join(filter(None, (question.tool, render_arguments(question.arguments))))
    title = _text(texts.get("slack.question", language)) | {"style": {"bold": True}}
    return {
        "type": "rich_text",
        "elements": [
            {"type": "rich_text_section", "elements": [title]},
            {"type": "rich_text_preformatted", "elements": [_text(call)]},
            {"type": "rich_text_section", "elements": _circumstances(question, texts, language)},
        ],
    }


def buttons(question: Question, conversation: str, texts: Texts, language: str) -> Block:
    """The two buttons. The block's id is the conversation's, and a press brings it back."""
    styles = {APPROVE: "primary", REJECT: "danger"}
    return {
        "type": "actions",
        "block_id": conversation,
        "elements": [
            {
                "type": "button",
                "action_id": action,
                "text": _plain(texts.get(f"slack.{action.removeprefix('kaiwa_')}", language)),
                "style": style,
                "value": question.id,
            }
            for action, style in styles.items()
        ],
    }


def outcome_block(text: str) -> Block:
    """The outcome, in the place of the buttons."""
    return {"type": "context", "elements": [_plain(text)]}


def _circumstances(question: Question, texts: Texts, language: str) -> list[Block]:
    """Asker and expiry. Slack itself renders the asker's name, so that no chosen name can fake it."""
    seconds = question.until // 1000
    fallback = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    until = {"type": "date", "timestamp": seconds, "format": DATE, "fallback": fallback}
    asker = {"type": "user", "user_id": question.asker_id}
    asked_by = [_text(f"{texts.get('slack.asked_by', language)} "), asker, _text("\n")] if question.asker_id else []
    return [*asked_by, _text(f"{texts.get('slack.open_until', language)} "), until]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text, "emoji": False}


class _Action(Struct, frozen=True):
    action_id: str
    block_id: str
    value: str
    action_ts: str = ""


class _User(Struct, frozen=True):
    id: str
    name: str | None = None
    username: str | None = None
    team_id: str | None = None


class _Container(Struct, frozen=True):
    channel_id: str
    message_ts: str
    thread_ts: str | None = None


class _Pressed(Struct, frozen=True):
    """A press of one button."""

    actions: list[_Action]
    user: _User
    container: _Container
    response_url: str = ""


def read_press(payload: dict[str, object], options: Options) -> ReceivedEvent | None:
    """The decision a press makes; None for a button that is not ours.

    A second click on the same button is the same decision, not a late one.
    """
    try:
        pressed = convert(payload, _Pressed)
    except ValidationError:
        return None
    action = pressed.actions[0]
    conversation = CONVERSATION.fullmatch(action.block_id)
    if action.action_id not in (APPROVE, REJECT) or not conversation or not QUESTION.fullmatch(action.value):
        return None
    user = pressed.user
    author = Author(user.id, user.name or user.username or "")
    message_id = f"{action.value}:{user.id}:{action.action_id}"
    arrival = InboundEvent(
        Message(message_id, "user", (), ms(action.action_ts), author=author),
        write_address(_address(pressed, options)),
        group=conversation[1] is not None,
        event="decision",
        target=action.value,
        approved=action.action_id == APPROVE,
    )
    return ReceivedEvent(action.block_id, arrival)


def _address(pressed: _Pressed, options: Options) -> Address:
    """Where the answer goes: below the question."""
    container, user = pressed.container, pressed.user
    return Address(
        container.channel_id,
        container.message_ts,
        container.thread_ts or "",
        private_url=pressed.response_url if options.is_slack_url(pressed.response_url) else "",
        user=user.id,
        team=user.team_id or "",
    )
