"""Views in the stand-in for Slack: home tabs and modals, what they may hold, and who may open one
when."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field

from tests.fakes.slack_blocks import check_view
from tests.fakes.slack_blocks import read as read_block
from tests.fakes.slack_rules import JSON, Refused

TRIGGER_S = 3.0  # so long a trigger id opens a view
VERSIONS = itertools.count(1)


@dataclass
class Views:
    """The views of an app.

    Attributes:
        homes: the home tab of each person who has one.
        modals: by id, newest last.
        triggers: when each trigger id was given out, in seconds since the epoch; one opens one
            view.
        has_home: the app has a home tab.
    """

    users: dict[str, JSON] = field(default_factory=dict)
    homes: dict[str, JSON] = field(default_factory=dict)
    modals: dict[str, JSON] = field(default_factory=dict)
    triggers: dict[str, float] = field(default_factory=dict)
    has_home: bool = True

    def trigger(self, age_s: float = 0.0) -> str:
        """A trigger id of a press so many seconds ago."""
        trigger_id = f"{next(VERSIONS)}.2.b"
        self.triggers[trigger_id] = time.time() - age_s
        return trigger_id

    def _views_publish(self, arguments: JSON) -> JSON:
        view, user = check_view(arguments.get("view"), "home"), arguments.get("user_id", "")
        if not self.has_home:
            raise Refused("not_enabled")
        if user not in self.users:
            raise Refused("user_not_found")
        known = self.homes.get(user)
        if "hash" in arguments and arguments["hash"] != (known or {}).get("hash"):
            raise Refused("hash_conflict")
        self.homes[user] = _stored(view, known["id"] if known else f"V{next(VERSIONS):08d}")
        return {"ok": True, "view": self.homes[user]}

    def _views_open(self, arguments: JSON) -> JSON:
        view, given = check_view(arguments.get("view"), "modal"), arguments.get("trigger_id", "")
        if given not in self.triggers:
            raise Refused("invalid_trigger_id")
        if self.triggers[given] == 0:
            raise Refused("exchanged_trigger_id")
        if time.time() - self.triggers[given] > TRIGGER_S:
            raise Refused("expired_trigger_id")
        self.triggers[given] = 0
        stored = _stored(view, f"V{next(VERSIONS):08d}")
        self.modals[stored["id"]] = stored
        return {"ok": True, "view": stored}

    def _views_update(self, arguments: JSON) -> JSON:
        view, known = (
            check_view(arguments.get("view"), "modal"),
            self.modals.get(arguments.get("view_id", "")),
        )
        if known is None:
            raise Refused("not_found")
        if "hash" in arguments and arguments["hash"] != known["hash"]:
            raise Refused("hash_conflict")
        self.modals[known["id"]] = _stored(view, known["id"])
        return {"ok": True, "view": self.modals[known["id"]]}


def _stored(view: JSON, view_id: str) -> JSON:
    return {
        "private_metadata": "",
        "callback_id": "",
        **view,
        "id": view_id,
        "hash": f"{next(VERSIONS)}.abc",
    }


def read_view(view: JSON) -> list[str]:
    """What people see of each block."""
    return [read_block(block) for block in view["blocks"]]
