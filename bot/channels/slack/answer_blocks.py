"""What an answer's message holds: cards, the text, buttons for feedback; less where the
workspace takes less."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

import structlog

from bot.channels.markdown import split_markdown
from bot.channels.replies import units
from bot.channels.slack.blocks import Block, markdown
from bot.channels.slack.buttons import FeedbackBlocks
from bot.channels.slack.client import ApiResponse
from bot.channels.slack.stream_writer import REFUSED_S
from bot.channels.slack.task_cards import TaskCard
from bot.channels.slack.tasks import Pauses
from bot.errors import DeliverInParts

log = structlog.stdlib.get_logger(__name__)

Extra = Literal["cards", "native", "plain"]  # in the order in which they are left out
EXTRAS: tuple[Extra, ...] = ("cards", "native", "plain")
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
        feedback: below all else.
    """

    text: str
    fallback: str
    beside: tuple[Block, ...] = ()
    feedback: FeedbackBlocks | None = None

    @property
    def blocks(self) -> list[Block]:
        """The text with what is below it."""
        return [*([markdown(self.text)] if self.text.strip() else ()), *self.beside]


class Content(NamedTuple):
    """The blocks of a message, and the first extra to leave out; None if there is only text."""

    blocks: list[Block]
    next_out: Extra | None


class AnswerBlocks:
    """Sends messages with all blocks that the workspace takes."""

    def __init__(self) -> None:
        self._refused = Pauses()

    async def send(
        self,
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
            content = _content(body, cards, left_out)
            response = await send(content.blocks)
            if response.ok and last and error in KIND_ERRORS:
                log.info("slack.blocks_unavailable", kind=last, cause=error)
                self._refused.begin(last, REFUSED_S)
            if response.ok or response.error not in BLOCK_ERRORS or content.next_out is None:
                _check_length(response, body.text)
                return response
            last, error = content.next_out, response.error
            left_out.add(last)


def _content(body: Body, cards: tuple[TaskCard, ...], left_out: set[Extra]) -> Content:
    shown = () if "cards" in left_out else cards
    blocks = [*(card.block for card in shown), *body.blocks]
    kind: Extra | None = None
    if body.feedback and "plain" not in left_out:
        kind = "plain" if "native" in left_out else "native"
        blocks.append(body.feedback.plain if kind == "plain" else body.feedback.native)
    return Content(blocks, "cards" if shown else kind)


def _check_length(response: ApiResponse, text: str) -> None:
    """Raise if Slack finds a text too long that can be split."""
    length = units(text)
    if response.error not in LENGTH_ERRORS or length <= SHORT:
        return
    parts = split_markdown(text, length // 2)
    if len(parts) > 1:
        raise DeliverInParts(response.error, parts)
