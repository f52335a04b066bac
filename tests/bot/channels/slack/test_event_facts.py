"""Every kind of body Slack sends, with its fields and invented values, is taken; no recording is
needed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.channels.slack.rig import TS, Rig
from tests.facts.read import facts, paths
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
OURS = {
    "a message": slack_events.message("Hello", TS),
    "a mention": slack_events.mention("Hello", TS),
    "a change": slack_events.edited("Hello", "Hullo", TS),
    "a removal": slack_events.deleted("Hello", TS),
}
# What Slack documents and the recorded bodies happen to lack.
DOCUMENTED = {"message.ts"}


def body_of(payload: dict[str, Any]) -> bytes:
    """The bytes as Slack sends them; a bare inner event gets its envelope."""
    is_interaction = payload.get("type") in slack_events.INTERACTIONS
    if is_interaction or {"command", "event", "challenge"} & payload.keys():
        return slack_events.as_body(payload)
    return slack_events.as_body(slack_events.envelope(payload))


def known_fields(kind: str) -> set[str]:
    """The fields of Slack's events of a type."""
    events = [body.get("event", body) for body in FACTS.values()]
    return {
        path for event in events if event.get("type") == kind for path in paths(event)
    } | DOCUMENTED


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


@pytest.mark.parametrize("name", OURS)
def test_our_events_have_no_field_that_slacks_lack(name: str) -> None:
    """What the stand-in sends is of Slack's form, and so is its envelope."""
    ours = OURS[name]
    envelopes = {field for body in FACTS.values() if "event" in body for field in body}
    assert ours.keys() <= envelopes
    assert paths(ours["event"]) <= known_fields(ours["event"]["type"])


def test_our_commands_have_no_field_that_slacks_lack() -> None:
    """Its form's fields are Slack's."""
    known = {field for body in FACTS.values() if "command" in body for field in body}
    assert slack_events.command("Hello").keys() <= known
