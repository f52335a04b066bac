"""Every kind of event LINE sends, with its fields and invented values, is taken; no recording is
needed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.bot.channels.line.rig import Rig, lone_rig  # noqa: F401 -- a fixture
from tests.facts.read import facts
from tests.fakes.line_events import signed

FACTS: dict[str, dict[str, Any]] = facts("line")

# What is accepted of a body, as kinds of conversation and event; of everything else nothing is.
ACCEPTED = {
    "sdk": [
        ("user", "message"),
        ("user", "canned"),
        ("user", "left"),
        ("group", "canned"),
        ("group", "left"),
        ("group", "members_left"),
        ("group", "unsent"),
        ("user", "message"),
        ("user", "edited"),
    ],
    "group_mention_self_quoting": [("group", "message")],
    "image_set": [("user", "message")],
}


@pytest.mark.parametrize("name", FACTS)
async def test_a_body_is_taken(rig: Rig, name: str) -> None:
    """200, and accepted is what is meant for the bot. The invented ids are all alike; LINE's are
    not."""
    events = [
        one | {"webhookEventId": f"event-{number}"}
        for number, one in enumerate(FACTS[name]["events"])
    ]
    assert await rig.post(*signed(msgspec.json.encode(FACTS[name] | {"events": events}))) == 200
    accepted = [(conversation.split(":")[2], arrival.event) for conversation, arrival in rig.inbox]
    assert accepted == ACCEPTED.get(name, [])
