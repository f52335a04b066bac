"""Replies on their way into Slack: answers, questions and how they were decided, words for one person alone."""

from __future__ import annotations

import structlog

from bot.channels import AssertLease, Delivery
from bot.channels.slack.api import Api
from bot.channels.slack.approvals import Questions
from bot.channels.slack.messages import Sending
from bot.channels.slack.refusal import FIRST_WAIT_S, failure, is_passing
from bot.channels.slack.stream_delivery import Finishing
from bot.channels.slack.types import Address
from bot.channels.slack.words import FALLBACK_CAP, harmless, markdown_block
from bot.errors import DeliverLater, TokenRefused

log = structlog.stdlib.get_logger(__name__)

LAST_WAIT_S = 600.0


class Posting:
    """Posts replies.

    Args:
        finishing: knows the answers that were shown while they were written.
    """

    def __init__(self, api: Api, sending: Sending, finishing: Finishing, questions: Questions) -> None:
        self._api = api
        self._sending = sending
        self._finishing = finishing
        self._questions = questions

    async def deliver(
        self, conversation: str, address: Address, delivery: Delivery, assert_lease: AssertLease
    ) -> int | None:
        """Post one reply; returning means that it is there.

        Returns:
            The time of a question's message by Slack's clock, milliseconds since the epoch.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        try:
            return await self._deliver(conversation, address, delivery, assert_lease)
        except TokenRefused:
            raise
        except DeliverLater as later:
            patience = min(FIRST_WAIT_S * 2 ** max(delivery.attempts - 1, 0), LAST_WAIT_S)
            raise DeliverLater(str(later), max(later.after, patience)) from later

    async def _deliver(
        self, conversation: str, address: Address, delivery: Delivery, assert_lease: AssertLease
    ) -> int | None:
        reply = delivery.reply
        if reply.question is not None:
            await self._finishing.give_up(address, delivery.turn_id)
            return await self._questions.ask(conversation, address, delivery, reply.question, assert_lease)
        if reply.settles:
            await self._questions.settle(conversation, reply, assert_lease)
        elif reply.private:
            await self._whisper(address, harmless(reply.text), assert_lease)
        else:
            await self._say(address, delivery, harmless(reply.text), assert_lease)
        return None

    async def _say(self, address: Address, delivery: Delivery, text: str, assert_lease: AssertLease) -> None:
        if address.response_url and await self._api.respond(address.response_url, _ephemeral(address, text)):
            return
        if not await self._finishing.finish(address, delivery, text, assert_lease):
            await self._sending.send(address, delivery, {"markdown_text": text}, assert_lease)

    async def _whisper(self, address: Address, text: str, assert_lease: AssertLease) -> None:
        """Tell one person alone; whoever cannot be reached so is not told, rather than everybody."""
        url = address.private_url or address.response_url
        if url and await self._api.respond(url, _ephemeral(address, text)):
            return
        await assert_lease()
        answer = await self._api.post(
            "chat.postEphemeral",
            channel=address.channel,
            user=address.user,
            thread_ts=address.thread or None,
            markdown_text=text,
        )
        if is_passing(answer):
            raise failure("chat.postEphemeral", answer)
        if not answer.ok:
            log.warning("slack.ephemeral_refused", cause=answer.error)


def _ephemeral(address: Address, text: str) -> dict[str, object]:
    """What a response URL takes, for half an hour: words for the eyes of whoever it was given to."""
    payload: dict[str, object] = {
        "response_type": "ephemeral",
        "replace_original": False,
        "text": text[:FALLBACK_CAP],
        "blocks": [markdown_block(text)],
    }
    return payload | {"thread_ts": address.thread} if address.thread else payload
