"""Feedback: the buttons below answers, the rating a press makes, and the thanks for it.

https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Literal

import structlog

from bot.channels import Host, Rating
from bot.channels.slack import Config
from bot.channels.slack.blocks import Block, actions, button, plain
from bot.channels.slack.client import Client
from bot.channels.slack.lookups import People
from bot.channels.slack.tasks import BackgroundTasks
from bot.channels.slack.types import Chat, Press, ms
from bot.errors import DeliverLater
from bot.texts import Texts

log = structlog.stdlib.get_logger(__name__)

Buttons = Literal["native", "plain"]
ACTION = "kaiwa_feedback"
ACTIONS = re.compile(rf"{ACTION}(_good|_bad)?")
VALUE = re.compile(r"(good|bad) ([\w-]{1,64}) (.{1,100})")
MODEL_CAP = 100  # characters
ICONS = {"good": "👍", "bad": "👎"}
FIELDS = {"good": "positive_button", "bad": "negative_button"}


def feedback_block(
    turn_id: str, model: str, buttons: Buttons, texts: Texts, language: str
) -> Block:
    """Two buttons: Slack's own for feedback, or plain ones. Slack gives the block an id: each
    message needs another."""
    icons: list[Block] = []
    native: Block = {"type": "feedback_buttons", "action_id": ACTION}
    for choice, icon in ICONS.items():
        label = texts.get(f"slack.feedback_{choice}", language)
        value = f"{choice} {turn_id} {model[:MODEL_CAP]}"
        named = {"accessibility_label": label}
        icons.append(button(icon, f"{ACTION}_{choice}", value) | named)
        native[FIELDS[choice]] = {"text": plain(label), "value": value} | named
    if buttons == "native":
        return {"type": "context_actions", "elements": [native]}
    return actions(icons)


def read_rating(pressed: Press, config: Config) -> Rating | None:
    """The rating a press makes; None for a button that is no feedback, and for people who may not
    use the bot."""
    action, user, container = pressed.actions[0], pressed.user, pressed.container
    value = VALUE.fullmatch(action.value)
    if not ACTIONS.fullmatch(action.action_id) or not value:
        return None
    if not config.allows(user.id, container.channel_id):
        return None
    choice, turn_id, model = value.groups()
    place = Chat(user.team_id or "", container.channel_id).conversation
    return Rating(
        turn_id,
        place,
        user.id,
        model,
        is_good=choice == "good",
        answered_at=ms(container.message_ts),
        at=ms(action.action_ts),
    )


class Feedback:
    """Passes ratings on, and thanks for those that say something new."""

    def __init__(
        self, client: Client, config: Config, people: People, host: Host, tasks: BackgroundTasks
    ) -> None:
        self._client = client
        self._config = config
        self._people = people
        self._host = host
        self._tasks = tasks

    async def take(self, rating: Rating, pressed: Press) -> None:
        """Keep a rating before its press is acknowledged.

        Raises:
            StoreUnavailable: it is not kept.
        """
        if await self._host.rate(rating):
            self._tasks.start(self._thank(pressed))

    async def _thank(self, pressed: Press) -> None:
        """Thank the person alone."""
        user, container = pressed.user, pressed.container
        with suppress(DeliverLater):
            language = await self._people.find_language(user.id)
            text = self._host.texts.get("slack.feedback_thanks", language)
            url, thread = pressed.response_url, container.thread_ts
            if self._config.is_slack_url(url) and await self._client.respond(
                url, text=text, thread_ts=thread
            ):
                return
            posted = await self._client.post(
                "chat.postEphemeral",
                channel=container.channel_id,
                user=user.id,
                thread_ts=thread,
                markdown_text=text,
            )
            if not posted.ok:
                log.info("slack.thanks_refused", cause=posted.error)
