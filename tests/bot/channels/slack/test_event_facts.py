"""Every kind of body Slack sends, with its fields and invented values, is taken; no recording is
needed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.channels.slack.rig import Rig
from tests.facts.read import facts
from tests.fakes import slack_events

FACTS: dict[str, dict[str, Any]] = facts("slack")

# Of what we accept, the parts of the conversation's name, the event and how its words begin; of all
# else nothing is.
ACCEPTED = {
    "test_events.py:valid_event_body": (4, "message", "xxx"),
    "test_events_org_apps.py:event_payload_3": (4, "canned", ""),
    "test_events_shared_channels.py:valid_event_body": (4, "message", "xxx"),
    "channel-mention__slack:mention": (4, "message", "#C0"),
    "dm__slack:mention": (4, "message", "xxx"),
    "dm__slack:dmMessage": (3, "message", "xxx"),
    "slash-commands__slack:slashCommand": (3, "message", "/he"),
    "slash-commands__slack:slashCommandWithArgs": (3, "message", "xxx"),
    "streaming__slack:aiMention": (4, "message", "xxx"),
    "streaming__slack:aiMentionWithFile": (4, "message", "xxx"),
}


def body_of(payload: dict[str, Any]) -> bytes:
    """The bytes as Slack sends them; a bare inner event gets its envelope."""
    is_interaction = payload.get("type") in slack_events.INTERACTIONS
    if is_interaction or {"command", "event", "challenge"} & payload.keys():
        return slack_events.as_body(payload)
    return slack_events.as_body(slack_events.envelope(payload))


@pytest.mark.parametrize("name", FACTS)
async def test_a_body_is_taken(rig: Rig, name: str) -> None:
    """200, and accepted is only what is meant for the bot."""
    answer = await rig.post(body_of(FACTS[name]))
    assert answer.status_code == 200
    accepted = [
        (len(conversation.split(":")), arrival.event, arrival.message.text[:3])
        for conversation, arrival in rig.inbox.accepted
    ]
    assert accepted == ([ACCEPTED[name]] if name in ACCEPTED else [])
