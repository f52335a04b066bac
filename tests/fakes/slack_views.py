"""Views in the stand-in for Slack: home tabs and modals, what they may hold, and who may open one
when."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field

from tests.fakes.slack_blocks import (
    CHECKS,
    ID_LIMIT,
    PLAIN_LIMIT,
    Checks,
    check,
    check_blocks,
    check_fields,
    limit,
    plain,
)
from tests.fakes.slack_blocks import read as read_block
from tests.fakes.slack_rules import JSON, Refused

MOST_BLOCKS = 100
METADATA_LIMIT = 3_000
TITLE_LIMIT = 24
TRIGGER_S = 3.0  # so long a trigger id opens a view
PARTS = {"type", "blocks", "private_metadata", "callback_id"}
MODAL_PARTS = {"title", "submit", "close"}
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
        view, user = _checked(arguments.get("view"), "home"), arguments.get("user_id", "")
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
        view, given = _checked(arguments.get("view"), "modal"), arguments.get("trigger_id", "")
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
            _checked(arguments.get("view"), "modal"),
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


def _checked(view: object, kind: str) -> JSON:
    """The view, if it is one of this kind. Inputs stand only in modals, and need a submit
    button."""
    if not isinstance(view, dict) or view.get("type") != kind or "blocks" not in view:
        raise Refused("invalid_arguments")
    if view.keys() - (PARTS | (MODAL_PARTS if kind == "modal" else set())):
        raise Refused("invalid_arguments")
    if (
        len(view.get("private_metadata", "")) > METADATA_LIMIT
        or len(view.get("callback_id", "")) > ID_LIMIT
    ):
        raise Refused("invalid_arguments")
    if kind == "modal":
        if "title" not in view:
            raise Refused("invalid_arguments")
        for part in MODAL_PARTS & view.keys():
            plain(view[part], TITLE_LIMIT)
    has_input = any(
        isinstance(block, dict) and block.get("type") == "input" for block in view["blocks"]
    )
    if has_input and "submit" not in view:
        raise Refused("invalid_arguments")
    blocks: Checks = {**CHECKS, "input": _input} if kind == "modal" else CHECKS
    check_blocks(
        view["blocks"],
        {name: one for name, one in blocks.items() if name != "markdown"},
        MOST_BLOCKS,
    )
    return view


def _input(block: JSON) -> None:
    check_fields(block, {"label", "element"}, {"block_id", "optional"})
    plain(block["label"], 2_000)
    check({"plain_text_input": _text_input}.get(block["element"].get("type")), block["element"])


def _text_input(element: JSON) -> None:
    check_fields(
        element,
        {"action_id"},
        {"multiline", "max_length", "min_length", "placeholder", "focus_on_load"},
    )
    limit(element["action_id"], ID_LIMIT)
    if not 1 <= element.get("max_length", PLAIN_LIMIT) <= PLAIN_LIMIT:
        raise Refused("invalid_blocks")
