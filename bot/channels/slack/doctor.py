"""What ``kaiwa doctor`` wants to know of Slack."""

from __future__ import annotations

from dataclasses import dataclass

from bot.channels.kv import KeyValue
from bot.channels.slack.api import Api
from bot.channels.slack.options import SCOPES
from bot.channels.traffic import traffic
from bot.checks import Traffic
from bot.errors import DeliverLater, StoreUnavailable

NOTHING_SEEN = Traffic()


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was found.

    Attributes:
        problem: why Slack cannot be used, empty where it can.
        workspace: its name.
        bot: the bot's name there.
        missing_scopes: asked for by the manifest, not granted.
        traffic: of the last week.
    """

    problem: str = ""
    workspace: str = ""
    bot: str = ""
    missing_scopes: tuple[str, ...] = ()
    traffic: Traffic = NOTHING_SEEN


async def check(api: Api, notes: KeyValue) -> Checkup:
    """Ask Slack who we are and what we may, and the notes what has happened."""
    try:
        seen = await traffic(notes, "slack")
    except StoreUnavailable:
        seen = NOTHING_SEEN
    try:
        answer = await api.post("auth.test")
    except DeliverLater as later:
        return Checkup(f"Slack does not answer ({later})", traffic=seen)
    if not answer.ok:
        return Checkup(f"SLACK_BOT_TOKEN was refused ({answer.error})", traffic=seen)
    granted = {scope.strip() for scope in answer.scopes.split(",")}
    missing = tuple(scope for scope in SCOPES if scope not in granted)
    return Checkup("", str(answer.data.get("team", "")), str(answer.data.get("user", "")), missing, seen)
