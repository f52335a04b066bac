"""Questions about calls that act: their blocks, their buttons, the decision a press makes, and the
outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import structlog
from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from bot.channels import APPROVE, REJECT, Host, InboundEvent, KeyValue, Question
from bot.channels.slack import Config
from bot.channels.slack.blocks import (
    Block,
    actions,
    button,
    context,
    rich_section,
    rich_text,
    words,
)
from bot.channels.slack.client import FIRST_WAIT_S, Client
from bot.channels.slack.events import ReceivedEvent, press_address
from bot.channels.slack.formatting import escape
from bot.channels.slack.messages import Messages, OutboundMessage, delivery_metadata
from bot.channels.slack.types import (
    Action,
    Address,
    Press,
    Presser,
    chat_of,
    is_conversation,
    ms,
    write_address,
)
from bot.errors import DeliverLater, StoreUnavailable
from bot.texts import Texts, language_of
from bot.transcript import Message, encode

log = structlog.stdlib.get_logger(__name__)

KEPT_S = 2 * 86_400  # twice as long as a question may stay open
REVIEW = "approval.review"  # shows a whole call, and decides nothing
STYLES = {APPROVE: "primary", REJECT: "danger"}
MOST_ARGUMENTS = 3  # that the message of a question shows
DATE = "{date_short_pretty} {time}"  # in the language and the zone of whoever reads it
QUESTION = re.compile(r"question_[0-9a-f]{32}")


class OpenQuestion(Struct, frozen=True):
    """A conversation's open question.

    Attributes:
        asker: the id of the person who asked for the call.
        block: the question's block, which stays when the outcome replaces the buttons.
        details: shows the whole call in a modal, where ``block`` does not.
        language: of the question.
    """

    id: str
    asker: str
    channel: str
    ts: str
    block: Block
    details: Block = {}
    language: str = "en"


_decode = Decoder(OpenQuestion).decode


class Approvals:
    """Asks questions and shows outcomes. Where a question was posted is stored: another process may
    settle it."""

    def __init__(self, client: Client, messages: Messages, host: Host) -> None:
        self._client = client
        self._messages = messages
        self._kv = host.kv
        self._priority_kv = host.priority_kv
        self._texts = host.texts
        self._language = host.language

    async def ask(self, outbound: OutboundMessage, question: Question) -> int | None:
        """Post the question.

        Returns:
            The time of its message by Slack's clock, milliseconds since the epoch; None where Slack
            gives none.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """
        ours, _, _ = outbound.reply.text.partition("\n")  # the call follows, in any language
        language = language_of(ours, self._language)
        is_whole = shows_whole(question)
        block = question_block(question, self._texts, language, is_whole=is_whole)
        details = {} if is_whole else question_block(question, self._texts, language, is_whole=True)
        shown = (APPROVE, REJECT) if is_whole else (REVIEW, REJECT)
        content = {
            "text": self._texts.get("slack.question_notice", language, tool=question.shown_tool),
            "blocks": [
                block,
                buttons(question.id, shown, outbound.conversation, self._texts, language),
            ],
        }
        sent = await self._messages.send(outbound, content)
        value = encode(
            OpenQuestion(
                question.id,
                question.asker_id,
                sent.channel,
                ts=sent.ts,
                block=block,
                details=details,
                language=language,
            )
        )
        try:
            await self._kv.set(_key(outbound.conversation), value, KEPT_S)
            if sent.channel.startswith("D") and not outbound.address.thread:
                await self._kv.set(
                    _newest_key(question.asker_id), outbound.conversation.encode(), KEPT_S
                )
        except StoreUnavailable as error:
            raise DeliverLater(
                "where the question was posted is not stored", FIRST_WAIT_S
            ) from error
        return ms(sent.ts) or None

    async def settle(self, outbound: OutboundMessage) -> None:
        """Replace the buttons by the outcome, if the question's message is still known.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        try:
            question = await read_open(outbound.conversation, self._kv)
            if question is None or question.id != outbound.reply.replaces:
                return
            await outbound.assert_lease()
            await self._show(question, outbound.reply.text)
            await self._kv.set(_key(outbound.conversation), b"", 1)
        except StoreUnavailable as error:
            raise DeliverLater(
                "the store does not say where the question was posted", FIRST_WAIT_S
            ) from error

    async def find_asked(self, conversation: str, user: str) -> str:
        """The conversation whose question a yes or no in a 1:1 answers: of those shown there, the
        one asked last.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        newest = (await self._priority_kv.get(_newest_key(user)) or b"").decode()
        return newest if newest and await self.is_asked(newest, user) else conversation

    async def is_asked(self, conversation: str, user: str) -> bool:
        """Whether the conversation has an open question to this person.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        question = await read_open(conversation, self._priority_kv)
        return question is not None and question.asker == user

    async def _show(self, question: OpenQuestion, outcome: str) -> None:
        updated = await self._client.post_checked(
            "chat.update",
            channel=question.channel,
            ts=question.ts,
            text=escape(outcome),
            blocks=[question.block, context(outcome)],
            metadata=delivery_metadata(question.id),
        )
        if not updated.ok:
            log.warning("approval.buttons_left", cause=updated.error)


async def read_open(conversation: str, kv: KeyValue) -> OpenQuestion | None:
    """A conversation's open question.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    value = await kv.get(_key(conversation))
    try:
        return _decode(value) if value else None
    except DecodeError:
        return None


def shows_whole(question: Question) -> bool:
    """Whether the message shows all arguments; of more than ``MOST_ARGUMENTS`` a modal does."""
    return len(question.arguments) <= MOST_ARGUMENTS


def _newest_key(asker: str) -> str:
    return f"newest_question:slack:{asker}"


def _key(conversation: str) -> str:
    return f"question:{conversation}"


def question_block(question: Question, texts: Texts, language: str, *, is_whole: bool) -> Block:
    """The question: tool, asker, expiry; all arguments exactly as the tool will get them, or only
    their number."""
    if is_whole:
        call = "\n".join(filter(None, (question.shown_tool, question.shown_arguments)))
        below = "\n".join(question.remarks)
    else:
        call = question.shown_tool
        below = texts.get("slack.arguments", language, count=len(question.arguments))
    parts = [
        rich_section(words(texts.get("slack.question", language), bold=True)),
        {"type": "rich_text_preformatted", "elements": [words(call)]},
    ]
    if below:
        parts.append(rich_section(words(below)))
    parts.append(rich_section(*_circumstances(question, texts, language)))
    return rich_text(*parts)


def buttons(
    question_id: str, shown: Sequence[str], conversation: str, texts: Texts, language: str
) -> Block:
    """The buttons. The block's id is the conversation's, and a press brings it back."""
    elements: list[Block] = []
    for action in shown:
        label = texts.get(f"slack.{action.partition('.')[2]}", language)
        elements.append(button(label, action, question_id, STYLES.get(action, "")))
    return actions(elements, conversation)


def _circumstances(question: Question, texts: Texts, language: str) -> list[Block]:
    """Asker and expiry. Slack itself renders the asker's name, so that no chosen name can fake
    it."""
    seconds = question.until // 1000
    fallback = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    until = {"type": "date", "timestamp": seconds, "format": DATE, "fallback": fallback}
    parts = [words(f"{texts.get('slack.open_until', language)} "), until]
    if question.asker_id:
        asker = {"type": "user", "user_id": question.asker_id}
        asked_by = words(f"{texts.get('slack.asked_by', language)} ")
        parts = [asked_by, asker, words("\n"), *parts]
    return parts


def read_decision(pressed: Press, config: Config) -> ReceivedEvent | None:
    """The decision a press makes; None for a button that is not ours."""
    return decision_of(pressed.actions[0], pressed.user, press_address(pressed, config))


def decision_of(action: Action, user: Presser, address: Address) -> ReceivedEvent | None:
    """The decision of a pressed button; None for a button that is not ours.

    A second click on the same button is the same decision, not a late one.
    """
    is_ours = action.action_id in (APPROVE, REJECT) and QUESTION.fullmatch(action.value)
    if not is_ours or not is_conversation(action.block_id):
        return None
    message_id = f"{action.value}:{user.id}:{action.action_id}"
    arrival = InboundEvent(
        Message(message_id, "user", (), ms(action.action_ts), author=user.author),
        write_address(address),
        group=chat_of(action.block_id).is_group,
        event="action",
        target=action.value,
        action=action.action_id,
    )
    return ReceivedEvent(action.block_id, arrival)
