"""A card with many rows: a button of its message opens a form, a modal, that shows all of it and
has its buttons."""

from __future__ import annotations

import structlog
from msgspec.structs import replace

from bot.channels import Host
from bot.channels.slack import Config
from bot.channels.slack.blocks import Block, modal, section
from bot.channels.slack.buttons import decision_block, event_of
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
from bot.channels.slack.waiting_cards import OPEN, OpenCard, card_block, is_whole, read_open
from bot.errors import StoreUnavailable
from bot.transcript import UNREADABLE

log = structlog.stdlib.get_logger(__name__)


def asks_for_form(pressed: Press) -> bool:
    """Whether the button is the one that opens a form."""
    action = pressed.actions[0]
    is_ours = action.action_id == OPEN and is_conversation(action.block_id)
    return is_ours and bool(pressed.trigger_id)


class Forms:
    """Opens the forms of cards, for the asker and for APPROVERS."""

    def __init__(self, client: Client, config: Config, host: Host) -> None:
        self._client = client
        self._config = config
        self._kv = host.priority_kv
        self._texts = host.texts
        self._language = host.language

    async def open(self, pressed: Press) -> None:
        """Show the whole card, or say why not. Failures are only logged.

        Slack takes the press's trigger for three seconds, so nothing is looked up but the card.
        """
        action = pressed.actions[0]
        try:
            known = await read_open(action.block_id, self._kv)
            if known is None or known.card.key != action.value or is_whole(known.card):
                await self._tell(pressed, "card.over", known)
            elif pressed.user.id not in {known.card.asker_id, *self._config.approvers}:
                await self._tell(pressed, "card.not_yours", known)
            else:
                view = self._view(known, action.block_id, press_address(pressed, self._config))
                if cause := await self._client.try_post(
                    "views.open", trigger_id=pressed.trigger_id, view=view
                ):
                    log.warning("slack.modal_not_opened", cause=cause)
                    await self._tell(pressed, "slack.review_late", known)
        except StoreUnavailable as failure:
            log.warning("slack.modal_not_opened", cause=str(failure))

    def read_press(self, pressed: ViewPress) -> ReceivedEvent | None:
        """The event of a button in a form; None for a button that is not ours."""
        try:
            address = read_address(pressed.view.private_metadata)
        except UNREADABLE:
            return None
        return event_of(pressed.actions[0], pressed.user, address, self._config)

    async def close(self, pressed: ViewPress, decided: ReceivedEvent) -> None:
        """Take the buttons off a form whose press is stored. Failures are only logged."""
        language = read_address(decided.event.address).language or self._language
        view = self._modal([section(self._texts.get("slack.review_taken", language))], language)
        if cause := await self._client.try_post("views.update", view_id=pressed.view.id, view=view):
            log.warning("slack.modal_not_closed", cause=cause)

    async def _tell(self, pressed: Press, key: str, known: OpenCard | None) -> None:
        """Say a sentence to the person who pressed, alone."""
        if self._config.is_slack_url(pressed.response_url):
            text = self._texts.get(key, known.language if known else self._language)
            await self._client.try_respond(pressed.response_url, text)

    def _view(self, known: OpenCard, conversation: str, below: Address) -> Block:
        """The whole card with its buttons. The metadata says where its message stands."""
        where = replace(below, private_url="", language=known.language)
        blocks = [
            card_block(known.card, self._texts, known.language, whole=True),
            decision_block(known.card.buttons, conversation),
        ]
        return self._modal(blocks, known.language) | {"private_metadata": write_address(where)}

    def _modal(self, blocks: list[Block], language: str) -> Block:
        title, close = (
            self._texts.get(f"slack.review_{part}", language) for part in ("title", "close")
        )
        return modal(title, close, blocks)
