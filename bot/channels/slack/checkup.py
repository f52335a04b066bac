"""What ``kaiwa doctor`` wants to know of Slack."""

from __future__ import annotations

from dataclasses import dataclass

from bot.channels.slack.api import Api
from bot.channels.slack.options import SCOPES
from bot.channels.slack.pulse import BAD_SIGNATURES, DELIVERY, LAST_BAD_SIGNATURE, WEBHOOK, Pulse
from bot.errors import DeliverLater, StoreUnavailable


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was found.

    Attributes:
        problem: why Slack cannot be used, empty where it can.
        workspace: its name.
        bot: the bot's name there.
        missing_scopes: asked for by the manifest, not granted.
        last_webhook: ms since the epoch, 0 for never; ``last_delivery`` likewise.
        bad_signatures: of the last thirty days, the last one at ``last_bad_signature``.
    """

    problem: str = ""
    workspace: str = ""
    bot: str = ""
    missing_scopes: tuple[str, ...] = ()
    last_webhook: int = 0
    last_delivery: int = 0
    bad_signatures: int = 0
    last_bad_signature: int = 0


async def check(api: Api, pulse: Pulse) -> Checkup:
    """Ask Slack who we are and what we may, and the notes what has happened."""
    try:
        times = [await pulse.last(name) for name in (WEBHOOK, DELIVERY, BAD_SIGNATURES, LAST_BAD_SIGNATURE)]
    except StoreUnavailable:
        times = [0, 0, 0, 0]
    try:
        answer = await api.post("auth.test")
    except DeliverLater as later:
        return Checkup(f"Slack does not answer ({later})", "", "", (), *times)
    if not answer.ok:
        return Checkup(f"SLACK_BOT_TOKEN was refused ({answer.error})", "", "", (), *times)
    granted = {scope.strip() for scope in answer.scopes.split(",")}
    missing = tuple(scope for scope in SCOPES if scope not in granted)
    return Checkup("", str(answer.data.get("team", "")), str(answer.data.get("user", "")), missing, *times)
