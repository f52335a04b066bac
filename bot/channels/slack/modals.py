"""A call with many arguments: a button of its question opens a modal that shows all of them, and is
decided there."""

from __future__ import annotations

import structlog
from msgspec.structs import replace

from bot.channels import APPROVE, REJECT, Host
from bot.channels.slack import Config
from bot.channels.slack.approvals import (
    QUESTION,
    REVIEW,
    OpenQuestion,
    buttons,
    decision_of,
    read_open,
)
from bot.channels.slack.blocks import Block, modal, section
from bot.channels.slack.client import Client
from bot.channels.slack.events import ReceivedEvent, press_address
from bot.channels.slack.types import (
    Address,
    Press,
    ViewPress,
    is_conversation,
    read_address,
    write_address,
)
from bot.errors import StoreUnavailable
from bot.transcript import UNREADABLE

log = structlog.stdlib.get_logger(__name__)


def asks_for_modal(pressed: Press) -> bool:
    """Whether the button is the one that shows a whole call."""
    action = pressed.actions[0]
    is_ours = QUESTION.fullmatch(action.value) and is_conversation(action.block_id)
    return bool(action.action_id == REVIEW and is_ours and pressed.trigger_id)


class Modals:
    """Opens the modals of questions, for the asker and for APPROVERS."""

    def __init__(self, client: Client, config: Config, host: Host) -> None:
        self._client = client
        self._config = config
        self._kv = host.priority_kv
        self._texts = host.texts
        self._language = host.language

    async def open(self, pressed: Press) -> None:
        """Show the whole call, or say why not. Failures are only logged.

        Slack takes the press's trigger for three seconds, so nothing is looked up but the question.
        """
        action = pressed.actions[0]
        try:
            question = await read_open(action.block_id, self._kv)
            if question is None or question.id != action.value or not question.details:
                await self._tell(pressed, "approval.over", question)
            elif pressed.user.id not in {question.asker, *self._config.approvers}:
                await self._tell(pressed, "approval.not_yours", question)
            else:
                view = self._view(question, action.block_id, press_address(pressed, self._config))
                if cause := await self._client.try_post(
                    "views.open", trigger_id=pressed.trigger_id, view=view
                ):
                    log.warning("slack.modal_not_opened", cause=cause)
                    await self._tell(pressed, "slack.review_late", question)
        except StoreUnavailable as failure:
            log.warning("slack.modal_not_opened", cause=str(failure))

    def read_decision(self, pressed: ViewPress) -> ReceivedEvent | None:
        """The decision of a button in a modal; None for a button that is not ours."""
        try:
            address = read_address(pressed.view.private_metadata)
        except UNREADABLE:
            return None
        return decision_of(pressed.actions[0], pressed.user, address)

    async def close(self, pressed: ViewPress, decided: ReceivedEvent) -> None:
        """Take the buttons off a modal whose decision is stored. Failures are only logged."""
        language = read_address(decided.event.address).language or self._language
        view = self._modal([section(self._texts.get("slack.review_taken", language))], language)
        if cause := await self._client.try_post("views.update", view_id=pressed.view.id, view=view):
            log.warning("slack.modal_not_closed", cause=cause)

    async def _tell(self, pressed: Press, key: str, question: OpenQuestion | None) -> None:
        """Say a sentence to the person who pressed, alone."""
        if self._config.is_slack_url(pressed.response_url):
            text = self._texts.get(key, question.language if question else self._language)
            await self._client.try_respond(pressed.response_url, text)

    def _view(self, question: OpenQuestion, conversation: str, below: Address) -> Block:
        """The whole call with its buttons. The metadata says where the question stands."""
        language = question.language
        where = replace(below, private_url="", language=language)
        blocks = [
            question.details,
            buttons(question.id, (APPROVE, REJECT), conversation, self._texts, language),
        ]
        return self._modal(blocks, language) | {"private_metadata": write_address(where)}

    def _modal(self, blocks: list[Block], language: str) -> Block:
        title, close = (
            self._texts.get(f"slack.review_{part}", language) for part in ("title", "close")
        )
        return modal(title, close, blocks)
