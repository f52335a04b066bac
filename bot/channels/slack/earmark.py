"""Our mark on a message, its delivery's id in the metadata, and the look for messages with and without it."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from bot.channels.slack.api import Api
from bot.channels.slack.refusal import failure, is_passing

log = structlog.stdlib.get_logger(__name__)

EVENT_TYPE = "kaiwa_delivery"
RECENT = 100


def earmark(delivery_id: str) -> dict[str, object]:
    """The metadata of a message."""
    return {"event_type": EVENT_TYPE, "event_payload": {"id": delivery_id}}


def delivery_of(message: object) -> str:
    """The id of the delivery that brought a message; empty where it was none of ours."""
    metadata = message.get("metadata") if isinstance(message, dict) else None
    if not isinstance(metadata, dict) or metadata.get("event_type") != EVENT_TYPE:
        return ""
    return str(metadata.get("event_payload", {}).get("id", ""))


async def recent_messages(api: Api, channel: str, thread: str, since: str, settle_s: float) -> list[Any]:
    """What stands in a thread, or in a channel where ``thread`` is empty; nothing where that may not be read.

    Args:
        since: the timestamp of the message that is answered.
        settle_s: how long Slack may take to show a message whose fate is unknown.

    Raises:
        DeliverLater: Slack does not say.
    """
    await asyncio.sleep(settle_s)
    where = {"ts": thread} if thread else {}
    method = "conversations.replies" if thread else "conversations.history"
    answer = await api.get(
        method, channel=channel, oldest=since or None, limit=RECENT, include_all_metadata=True, **where
    )
    if is_passing(answer):
        raise failure(method, answer)
    if not answer.ok:
        log.warning("slack.attempt_unchecked", cause=answer.error, needed=answer.data.get("needed"))
    return list(answer.data.get("messages", ()))
