"""Every recorded body is taken, and means what it should."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.channels import InboundEvent
from bot.transcript import Media, Text
from tests.bot.channels.slack.rig import Rig, open_rig
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import INTERACTIONS, as_body
from tests.shared_data import RECORDED, cases, recorded

EVENTS = "test_events.py"


def payloads() -> dict[str, dict[str, Any]]:
    """Everything recorded, by file and name."""
    found: dict[str, dict[str, Any]] = {}
    if not RECORDED.exists():
        return found
    bolt = json.loads((RECORDED / "slack" / "bolt_python_payloads.json").read_text("utf-8"))[
        "payloads"
    ]
    found |= {
        f"{file}:{name}": body for file, bodies in bolt.items() for name, body in bodies.items()
    }
    for path in sorted((RECORDED / "slack" / "replay").glob("*.json")):
        bodies = json.loads(path.read_text("utf-8"))
        found |= {
            f"{path.stem}:{name}": body for name, body in bodies.items() if isinstance(body, dict)
        }
    return {
        name: body
        for name, body in found.items()
        if not name.endswith((":_source", "ModalContext"))
    }


PAYLOADS = payloads()

# What is accepted: conversation, event, words. Of everything else nothing is.
EXPECTED = {
    f"{EVENTS}:valid_event_body": ("slack:T111:C111:1595926230.009600", "message", "Hi there!"),
    "test_events_shared_channels.py:valid_event_body": (
        "slack:T_INSTALLED:C111:1595926230.009600",
        "message",
        "Hi there!",
    ),
    "test_events_org_apps.py:event_payload_3": ("slack:T111:C111:1606810819.000800", "canned", ""),
    "channel-mention__slack:mention": (
        "slack:T00FAKE00AA:C00FAKECHAN1:1773327463.619929",
        "message",
        "Can you see the name of this channel: #C00FAKECHAN2?",
    ),
    "dm__slack:mention": ("slack:T00FAKE00AA:C00FAKECHAN1:1767376988.871629", "message", "Hey"),
    "dm__slack:dmMessage": ("slack:T00FAKE00AA:D0A5319PS02", "message", "Hey!"),
    "streaming__slack:aiMention": (
        "slack:T00FAKE00AA:C00FAKECHAN1:1767406613.568609",
        "message",
        "AI What is love?",
    ),
    "streaming__slack:aiMentionWithFile": (
        "slack:T00FAKE00BB:C00FAKECHAN3:1770241970.822989",
        "message",
        "[AI] I don't really understand this explanation.",
    ),
    "slash-commands__slack:slashCommand": ("slack:T00FAKE00BB:U00FAKEUSER2", "message", "/help"),
    "slash-commands__slack:slashCommandWithArgs": (
        "slack:T00FAKE00BB:U00FAKEUSER2",
        "message",
        "some arguments here",
    ),
}


def body_of(payload: dict[str, Any]) -> bytes:
    """The bytes as Slack sends them; a bare inner event gets its envelope."""
    is_inner = (
        payload.get("type") not in INTERACTIONS
        and not {"command", "event", "challenge"} & payload.keys()
    )
    return as_body(
        {"type": "event_callback", "team_id": "T111", "event": payload} if is_inner else payload
    )


def reported(accepted: list[tuple[str, InboundEvent]]) -> list[tuple[str, str, str]]:
    return [
        (conversation, arrival.event, arrival.message.text) for conversation, arrival in accepted
    ]


def test_the_recordings_are_all_there() -> None:
    """A table that names none of them would prove nothing."""
    recorded("slack")
    assert len(PAYLOADS) >= 50
    assert EXPECTED.keys() <= PAYLOADS.keys()


@pytest.mark.parametrize("name", cases(PAYLOADS, "every recorded body of Slack's"))
async def test_a_recorded_body_is_taken_and_means_what_it_should(rig: Rig, name: str) -> None:
    """200, and accepted only what is meant for the bot."""
    answer = await rig.post(body_of(PAYLOADS[name]))
    assert answer.status_code == 200
    assert reported(rig.inbox.accepted) == ([EXPECTED[name]] if name in EXPECTED else [])


async def test_a_recorded_follow_up_counts_where_threads_are_followed(fake: SlackFake) -> None:
    """Once the bot takes part, and only then."""
    recorded("slack")
    follow_up = PAYLOADS["streaming__slack:followUp"]
    conversation = "slack:T00FAKE00AA:C00FAKECHAN1:1767406613.568609"
    async with open_rig(fake, slack_follow_threads=True) as rig:
        assert await rig.receive(follow_up) is None
        await rig.kv.set(f"slack:takes_part:{conversation}", b"1", 60)
        heard = await rig.receive(follow_up)
        assert heard
        assert (heard[0], heard[1].message.text) == (conversation, "Who are you?")


async def test_a_recorded_image_is_kept_as_a_reference(rig: Rig) -> None:
    """Fetched for each turn, never stored."""
    recorded("slack")
    heard = await rig.receive(PAYLOADS["streaming__slack:aiMentionWithFile"])
    assert heard
    url = "https://files.slack.com/files-pri/T00FAKE00BB-F0XY789ZKLM/image.png"
    assert heard[1].message.parts == (
        Text("[AI] I don't really understand this explanation."),
        Media(url, "image/png", 214_244),
    )
