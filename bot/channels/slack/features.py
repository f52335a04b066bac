"""What an app may lack that was made from an older manifest: the doctor names it, and the rest goes
on working."""

from __future__ import annotations

import time
from typing import NamedTuple

from bot.channels import KeyValue
from bot.checks import CheckResult

NOTED_S = 90 * 86_400
PAUSE_S = 3_600.0  # between two notes of one feature
HOME, BUTTONS, SHORTCUTS, GREETING = "home tab", "buttons", "shortcuts", "greeting in channels"
STOP = "stop button"


class Feature(NamedTuple):
    """Something that Slack sends only if the app is set up for it, which no method of its API
    tells.

    Attributes:
        needs: the setting of the app.
        scopes: without these it works in part or not at all.
    """

    name: str
    needs: str
    scopes: tuple[str, ...] = ()


FEATURES = (
    Feature(HOME, "App Home → Home Tab, and the event app_home_opened"),
    Feature(BUTTONS, "Interactivity & Shortcuts → Interactivity"),
    Feature(
        SHORTCUTS,
        "Interactivity, and the message shortcuts kaiwa_ask and kaiwa_summarise",
        scopes=("im:write",),
    ),
    Feature(GREETING, "the event member_joined_channel", scopes=("channels:read", "groups:read")),
    Feature(STOP, "the event agent_session_stopped"),
    Feature("names of user groups", "", scopes=("usergroups:read",)),
)


class SeenFeatures:
    """Notes which features Slack has been seen to serve."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv
        self._noted: dict[str, float] = {}

    def note(self, name: str) -> None:
        """Note one with the next request to the store, once an hour."""
        now = time.monotonic()
        if now - self._noted.get(name, -PAUSE_S) >= PAUSE_S:
            self._noted[name] = now
            self._kv.set_later(_key(name), b"1", NOTED_S)


def feature_of(scope: str) -> str:
    """The feature that lacks a scope; empty if none of these does."""
    return next((feature.name for feature in FEATURES if scope in feature.scopes), "")


async def check_features(kv: KeyValue) -> CheckResult:
    """Name what Slack has not been seen to send.

    Raises:
        StoreUnavailable: it is not known.
    """
    known = [feature for feature in FEATURES if feature.needs]
    unseen = [feature for feature in known if await kv.get(_key(feature.name)) is None]
    if not unseen:
        return CheckResult(
            "ok", "Slack features", f"all in use: {', '.join(one.name for one in known)}"
        )
    names = ", ".join(one.name for one in unseen)
    needs = "; ".join(f"{one.name}: {one.needs}" for one in unseen)
    fix = f"does the app have what they need? {needs}"
    return CheckResult("off", "Slack features", f"not used in 90 days: {names}", fix)


def _key(name: str) -> str:
    return f"slack:seen:{name.replace(' ', '_')}"
