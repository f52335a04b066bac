"""What Slack sends: events and commands in its own shapes, and its signature over them."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import time
from typing import Any
from urllib.parse import urlencode

from tests.fakes.slack_blocks import button

JSON = dict[str, Any]

SECRET = "test-signing-secret"
INTERACTIONS = ("block_actions", "shortcut", "message_action", "view_submission", "view_closed")
TEAM, BOT, USER = "T00000001", "U0000000B", "U00000001"
CHANNEL, DIRECT = "C00000001", "D00000001"
BETWEEN_TWO = "D00000009"  # a 1:1 between two people, where the bot is no member
TRIGGERS = itertools.count(1)


def signed(body: bytes, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    """The headers with which Slack sends this body."""
    timestamp = str(int(time.time() if at is None else at))
    digest = hmac.new(
        secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256
    ).hexdigest()
    form = body.startswith((b"command=", b"payload=", b"token="))
    return {
        "Content-Type": "application/x-www-form-urlencoded" if form else "application/json",
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": f"v0={digest}",
        "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
    }


def envelope(event: JSON, **fields: Any) -> JSON:
    """An event callback."""
    authorization = {
        "team_id": TEAM,
        "user_id": BOT,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    return {
        "type": "event_callback",
        "team_id": TEAM,
        "api_app_id": "A0001",
        "event_id": f"Ev{next(TRIGGERS)}",
        "event_time": 1_700_000_000,
        "authorizations": [authorization],
        "event": event,
        **fields,
    }


def message(text: str, ts: str, *, channel: str = CHANNEL, user: str = USER, **fields: Any) -> JSON:
    """Somebody has written something; the channel's id tells its kind."""
    kind = "im" if channel.startswith("D") else "channel"
    event = {
        "type": "message",
        "user": user,
        "text": text,
        "ts": ts,
        "channel": channel,
        "team": TEAM,
    }
    return envelope({**event, "event_ts": ts, "channel_type": kind, **fields})


def mention(
    words: str, ts: str, *, channel: str = CHANNEL, user: str = USER, **fields: Any
) -> JSON:
    """The bot is mentioned: the event of that name, as sparse as it may be."""
    text = f"<@{BOT}> {words}"
    event = {
        "type": "app_mention",
        "user": user,
        "text": text,
        "ts": ts,
        "channel": channel,
        "event_ts": ts,
    }
    return envelope({**event, **fields})


def edited(
    new: str, old: str, ts: str, *, channel: str = CHANNEL, user: str = USER, **fields: Any
) -> JSON:
    """Somebody has changed what they wrote."""
    inner = {"type": "message", "user": user, "ts": ts, **fields}
    at = f"{float(ts) + 60:.6f}"
    event = {
        "type": "message",
        "subtype": "message_changed",
        "channel": channel,
        "ts": at,
        "event_ts": at,
    }
    return envelope(
        {**event, "message": {**inner, "text": new}, "previous_message": {**inner, "text": old}}
    )


def deleted(old: str, ts: str, *, channel: str = CHANNEL, user: str = USER, **fields: Any) -> JSON:
    """Somebody has taken back what they wrote."""
    at = f"{float(ts) + 60:.6f}"
    event = {
        "type": "message",
        "subtype": "message_deleted",
        "channel": channel,
        "ts": at,
        "event_ts": at,
    }
    inner = {"type": "message", "user": user, "ts": ts, "text": old, **fields}
    return envelope({**event, "deleted_ts": ts, "previous_message": inner})


def bare(change: JSON) -> JSON:
    """A change as Slack documents it: without the message as it was before, and without its
    thread."""
    event = {name: value for name, value in change["event"].items() if name != "previous_message"}
    if "message" in event:
        event["message"] = {
            name: value for name, value in event["message"].items() if name != "thread_ts"
        }
    return {**change, "event": event}


def image(name: str = "cat.png", url: str = "", **fields: Any) -> JSON:
    """A file of a message."""
    file = {"id": "F0001", "name": name, "mimetype": "image/png", "size": 1_000, "url_private": url}
    return {**file, **fields}


def command(text: str, *, channel: str = CHANNEL, user: str = USER, response_url: str = "") -> JSON:
    """``/kaiwa`` with what was typed behind it."""
    return {
        "command": "/kaiwa",
        "text": text,
        "team_id": TEAM,
        "channel_id": channel,
        "user_id": user,
        "user_name": "hanako",
        "response_url": response_url,
        "trigger_id": f"{next(TRIGGERS)}.1.a",
    }


def press(
    asked: JSON,
    action_id: str,
    *,
    channel: str = CHANNEL,
    user: str = USER,
    name: str = "hanako",
    response_url: str = "",
    choice: str = "",
    trigger: str = "",
) -> JSON:
    """Somebody presses a button of a message, as it stands in the channel.

    Args:
        choice: of Slack's own buttons for feedback, ``positive`` or ``negative``.
    """
    element, block = button(asked, action_id)
    if choice:
        half = element[f"{choice}_button"]
        element = {
            "type": element["type"],
            "action_id": action_id,
            "text": half["text"],
            "value": half["value"],
        }
    thread = {"thread_ts": asked["thread_ts"]} if asked.get("thread_ts") else {}
    place = {"message_ts": asked["ts"], "channel_id": channel, "is_ephemeral": False}
    at = f"{1_800_001_000 + next(TRIGGERS)}.000200"
    return {
        "type": "block_actions",
        "user": {"id": user, "username": name, "name": name, "team_id": TEAM},
        "api_app_id": "A0001",
        "container": {"type": "message", **place, **thread},
        "trigger_id": trigger or f"{next(TRIGGERS)}.2.b",
        "team": {"id": TEAM, "domain": "test"},
        "channel": {"id": channel, "name": "general"},
        "message": {field: asked[field] for field in ("ts", "text", "blocks")},
        "response_url": response_url,
        "actions": [{**element, "block_id": block.get("block_id", "b1Sl4"), "action_ts": at}],
    }


def session_stopped(
    thread: str, *, channel: str = CHANNEL, user: str = USER, **fields: Any
) -> JSON:
    """Somebody presses Slack's own stop button."""
    at = f"{1_800_001_000 + next(TRIGGERS)}.000300"
    event = {
        "type": "agent_session_stopped",
        "channel": channel,
        "thread_ts": thread,
        "user": user,
        "event_ts": at,
    }
    return envelope({**event, "streaming_message_ts": [], **fields})


def as_json(payload: JSON) -> bytes:
    """An event's body."""
    return json.dumps(payload).encode()


def as_form(fields: JSON) -> bytes:
    """A command's body."""
    return urlencode(fields).encode()


def as_interaction(payload: JSON) -> bytes:
    """An interaction's body."""
    return urlencode({"payload": json.dumps(payload)}).encode()


def as_body(payload: JSON) -> bytes:
    """The body in which Slack sends this payload."""
    if "command" in payload:
        return as_form(payload)
    return as_interaction(payload) if payload.get("type") in INTERACTIONS else as_json(payload)


def home_opened(*, channel: str = DIRECT, user: str = USER, tab: str = "home") -> JSON:
    """Somebody opens a tab of the app."""
    at = f"{1_800_001_000 + next(TRIGGERS)}.000400"
    return envelope(
        {"type": "app_home_opened", "user": user, "channel": channel, "tab": tab, "event_ts": at}
    )


def view_press(
    view: JSON, action_id: str, value: str = "", *, user: str = USER, trigger: str = "1.2.b"
) -> JSON:
    """Somebody presses a button of a view; without ``value`` the first with this action."""
    element, block = next(
        (element, block)
        for block in view["blocks"]
        for element in (
            *block.get("elements", ()),
            *([block["accessory"]] if "accessory" in block else ()),
        )
        if element.get("action_id") == action_id and value in ("", element.get("value"))
    )
    at = f"{1_800_001_000 + next(TRIGGERS)}.000500"
    return {
        "type": "block_actions",
        "user": {"id": user, "username": "hanako", "name": "hanako", "team_id": TEAM},
        "api_app_id": "A0001",
        "container": {"type": "view", "view_id": view["id"]},
        "trigger_id": trigger,
        "team": {"id": TEAM, "domain": "test"},
        "view": {**view, "team_id": TEAM, "state": {"values": {}}},
        "actions": [{**element, "block_id": block.get("block_id", "b1"), "action_ts": at}],
    }


def shortcut(
    chosen: JSON,
    callback_id: str,
    *,
    trigger: str = "1.2.b",
    user: str = USER,
    channel: str = CHANNEL,
    url: str = "",
) -> JSON:
    """Somebody chooses a shortcut in the menu of a message, as it stands in the channel."""
    return {
        "type": "message_action",
        "callback_id": callback_id,
        "trigger_id": trigger,
        "action_ts": f"{1_800_001_000 + next(TRIGGERS)}.000600",
        "message_ts": chosen["ts"],
        "message": chosen,
        "user": {"id": user, "name": "hanako"},
        "channel": {"id": channel, "name": "general"},
        "team": {"id": TEAM, "domain": "test"},
        "response_url": url,
    }


def submission(view: JSON, values: JSON, *, user: str = USER) -> JSON:
    """Somebody sends a modal with what they typed, by block."""
    typed = {
        block: {block: {"type": "plain_text_input", "value": value}}
        for block, value in values.items()
    }
    return {
        "type": "view_submission",
        "user": {"id": user, "username": "hanako", "name": "hanako", "team_id": TEAM},
        "team": {"id": TEAM, "domain": "test"},
        "trigger_id": f"{next(TRIGGERS)}.2.b",
        "view": {**view, "state": {"values": typed}},
        "response_urls": [],
    }


def joined(*, user: str = BOT, channel: str = CHANNEL, **fields: Any) -> JSON:
    """Somebody, or the bot, has become a member of a channel; ``inviter`` may be missing."""
    at = f"{1_800_001_000 + next(TRIGGERS)}.000700"
    event = {
        "type": "member_joined_channel",
        "user": user,
        "channel": channel,
        "channel_type": channel[0],
    }
    return envelope({**event, "team": TEAM, "event_ts": at, **fields})
