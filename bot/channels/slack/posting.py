"""Answers on their way into Slack: posted once, looked for before they are posted again."""

from __future__ import annotations

import time

from bot.channels import Delivery, StillOurs
from bot.channels.slack.api import Answer, Api
from bot.channels.slack.earmark import delivery_of, earmark, recent_messages
from bot.channels.slack.events import Address
from bot.channels.slack.finishing import Finishing
from bot.channels.slack.refusal import FIRST_WAIT_S, failure
from bot.channels.slack.words import FALLBACK_CAP, harmless, markdown_block
from bot.errors import DeliverLater, DeliveryRefused, TokenRefused

LAST_WAIT_S = 600.0


class Posting:
    """Posts answers.

    Args:
        finishing: knows the answers that were shown while they were written.
        settle_s: how long Slack may take to show a message whose fate is unknown.
    """

    def __init__(self, api: Api, finishing: Finishing, settle_s: float) -> None:
        self._api = api
        self._finishing = finishing
        self._settle_s = settle_s
        self._waits: dict[str, float] = {}

    async def deliver(self, address: Address, delivery: Delivery, still_ours: StillOurs) -> None:
        """Post one answer; returning means that it is there.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        text = harmless(delivery.reply.text)
        try:
            if address.response_url and await self._respond(address, text):
                return
            if not await self._finishing.finish(address, delivery, text, still_ours):
                await self._post(address, delivery, text, still_ours)
        except TokenRefused:
            raise
        except DeliverLater as later:
            patience = min(FIRST_WAIT_S * 2 ** max(delivery.attempts - 1, 0), LAST_WAIT_S)
            raise DeliverLater(str(later), max(later.after, patience)) from later

    async def _post(self, address: Address, delivery: Delivery, text: str, still_ours: StillOurs) -> None:
        self._hold_back(address.channel)
        if delivery.attempts > 1 and await self._is_posted(address, delivery.id):
            return
        await still_ours()
        answer = await self._api.post(
            "chat.postMessage",
            channel=address.channel,
            thread_ts=address.thread or None,
            markdown_text=text,
            unfurl_links=False,
            unfurl_media=False,
            metadata=earmark(delivery.id),
        )
        if not answer.ok:
            raise self._failure("chat.postMessage", address.channel, answer)

    async def _respond(self, address: Address, text: str) -> bool:
        """Answer a command for its sender's eyes; Slack takes that for half an hour."""
        payload: dict[str, object] = {
            "response_type": "ephemeral",
            "replace_original": False,
            "text": text[:FALLBACK_CAP],
            "blocks": [markdown_block(text)],
        }
        return await self._api.respond(address.response_url, payload)

    async def _is_posted(self, address: Address, delivery_id: str) -> bool:
        """Whether an earlier attempt has arrived after all."""
        messages = await recent_messages(self._api, address.channel, address.thread, address.ts, self._settle_s)
        return any(delivery_of(message) == delivery_id for message in messages)

    def _hold_back(self, channel: str) -> None:
        """Raise while Slack wants no message in this channel; other channels go on."""
        now = time.monotonic()
        self._waits = {place: until for place, until in self._waits.items() if until > now}
        if until := self._waits.get(channel):
            raise DeliverLater("slack takes no more messages in this channel for now", until - now)

    def _failure(self, method: str, channel: str, answer: Answer) -> DeliverLater | DeliveryRefused:
        if answer.retry_after:
            self._waits[channel] = time.monotonic() + answer.retry_after
        return failure(method, answer)
