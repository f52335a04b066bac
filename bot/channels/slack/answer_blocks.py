"""What an answer's message holds: cards, the text, the buttons for feedback; less where the
workspace takes less."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

import structlog

from bot.channels import Delivery
from bot.channels.markdown_pieces import split_markdown
from bot.channels.slack.blocks import Block, markdown
from bot.channels.slack.client import ApiResponse
from bot.channels.slack.feedback import Buttons, feedback_block
from bot.channels.slack.stream_writer import REFUSED_S
from bot.channels.slack.task_cards import TaskCard
from bot.channels.slack.tasks import Pauses
from bot.channels.utf16 import units
from bot.errors import DeliverInParts
from bot.texts import Texts, language_of

log = structlog.stdlib.get_logger(__name__)

Extra = Literal["cards", "native", "plain"]  # in the order in which they are left out
BUTTONS: tuple[Buttons, ...] = ("native", "plain")
EXTRAS: tuple[Extra, ...] = ("cards", *BUTTONS)
# Slack counts a message's length after rendering it, so it refuses some that are shorter than its
# limit: https://github.com/slackapi/bolt-js/issues/2509
LENGTH_ERRORS = ("msg_blocks_too_long", "msg_too_long")
KIND_ERRORS = (
    "invalid_blocks",
    "invalid_blocks_format",
)  # the workspace does not take a kind of block
BLOCK_ERRORS = (*KIND_ERRORS, *LENGTH_ERRORS)
SHORT = 500  # UTF-16 code units; a text that is no longer is not split


class Body(NamedTuple):
    """What an answer says.

    Attributes:
        text: Slack's Markdown; may be empty where there are blocks.
        fallback: what notifications show.
        beside: is shown below the text.
    """

    text: str
    fallback: str
    beside: tuple[Block, ...] = ()

    @property
    def blocks(self) -> list[Block]:
        """The text with what is below it."""
        return [*([markdown(self.text)] if self.text.strip() else ()), *self.beside]


class Content(NamedTuple):
    """The blocks of a message, and the first extra to leave out; None if there is only text."""

    blocks: list[Block]
    next_out: Extra | None


class AnswerBlocks:
    """Sends messages with all blocks that the workspace takes.

    Args:
        language: of the buttons, where the answer shows none.
        asks: for feedback.
    """

    def __init__(self, texts: Texts, language: str, *, asks: bool) -> None:
        self._texts = texts
        self._language = language
        self._asks = asks
        self._refused = Pauses()

    async def send(
        self,
        delivery: Delivery,
        body: Body,
        cards: tuple[TaskCard, ...],
        send: Callable[[list[Block]], Awaitable[ApiResponse]],
    ) -> ApiResponse:
        """Send an answer; while Slack refuses its blocks, again with fewer. What was refused is
        left out for a while.

        Args:
            send: sends blocks; they are at least the body.

        Returns:
            Slack's response to the last try.

        Raises:
            DeliverInParts: the text is too long.
        """
        left_out = {extra for extra in EXTRAS if self._refused.left_s(extra)}
        last: Extra | None = None
        error = ""
        while True:
            content = self._content(delivery, body, cards, left_out)
            response = await send(content.blocks)
            if response.ok and last and error in KIND_ERRORS:
                log.info("slack.blocks_unavailable", kind=last, cause=error)
                self._refused.begin(last, REFUSED_S)
            if response.ok or response.error not in BLOCK_ERRORS or content.next_out is None:
                _check_length(response, delivery.reply.text)
                return response
            last, error = content.next_out, response.error
            left_out.add(last)

    def _content(
        self, delivery: Delivery, body: Body, cards: tuple[TaskCard, ...], left_out: set[Extra]
    ) -> Content:
        shown = () if "cards" in left_out else cards
        blocks = [*(card.block for card in shown), *body.blocks]
        reply = delivery.reply
        buttons: Buttons | None = None
        if self._asks and reply.model:
            buttons = next((kind for kind in BUTTONS if kind not in left_out), None)
        if buttons:
            language = language_of(body.text, self._language)
            blocks.append(
                feedback_block(delivery.turn_id, reply.model, buttons, self._texts, language)
            )
        return Content(blocks, "cards" if shown else buttons)


def _check_length(response: ApiResponse, text: str) -> None:
    """Raise if Slack finds a text too long that can be split."""
    length = units(text)
    if response.error not in LENGTH_ERRORS or length <= SHORT:
        return
    parts = split_markdown(text, length // 2)
    if len(parts) > 1:
        raise DeliverInParts(response.error, parts)
