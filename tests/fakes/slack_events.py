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
    written = {"user": user, "text": text, "ts": ts, "channel": channel, "team": TEAM}
    return _event("message", ts, **written | {"channel_type": kind} | fields)


def mention(
    words: str, ts: str, *, channel: str = CHANNEL, user: str = USER, **fields: Any
) -> JSON:
    """The bot is mentioned: the event of that name, as sparse as it may be."""
    written = {"user": user, "text": f"<@{BOT}> {words}", "ts": ts, "channel": channel}
    return _event("app_mention", ts, **written | fields)


def edited(
    new: str, old: str, ts: str, *, channel: str = CHANNEL, user: str = USER, **fields: Any
) -> JSON:
    """Somebody has changed what they wrote."""
    written = {"type": "message", "user": user, "ts": ts, **fields}
    before, now = {**written, "text": old}, {**written, "text": new}
    return _changed("message_changed", channel, ts, message=now, previous_message=before)


def deleted(old: str, ts: str, *, channel: str = CHANNEL, user: str = USER, **fields: Any) -> JSON:
    """Somebody has taken back what they wrote."""
    before = {"type": "message", "user": user, "ts": ts, "text": old, **fields}
    return _changed("message_deleted", channel, ts, deleted_ts=ts, previous_message=before)


def _changed(subtype: str, channel: str, ts: str, **fields: Any) -> JSON:
    at = f"{float(ts) + 60:.6f}"
    return _event("message", at, subtype=subtype, channel=channel, ts=at, **fields)


def _event(kind: str, at: str, **fields: Any) -> JSON:
    return envelope({"type": kind, "event_ts": at, **fields})


def _moment() -> str:
    """A time later than that of all messages."""
    return f"{1_800_001_000 + next(TRIGGERS)}.000200"


def _interaction(kind: str, user: str, name: str = "hanako", **fields: Any) -> JSON:
    return {
        "type": kind,
        "user": {"id": user, "username": name, "name": name, "team_id": TEAM},
        "team": {"id": TEAM, "domain": "test"},
        "trigger_id": f"{next(TRIGGERS)}.2.b",
        **fields,
    }


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
    pressed = {**element, "block_id": block.get("block_id", "b1Sl4"), "action_ts": _moment()}
    return _interaction(
        "block_actions",
        user,
        name,
        api_app_id="A0001",
        container={"type": "message", **place, **thread},
        channel={"id": channel, "name": "general"},
        message={field: asked[field] for field in ("ts", "text", "blocks")},
        response_url=response_url,
        actions=[pressed],
        **({"trigger_id": trigger} if trigger else {}),
    )


def session_stopped(thread: str, *, channel: str = CHANNEL, **fields: Any) -> JSON:
    """Somebody presses Slack's own stop button."""
    where = {"channel": channel, "thread_ts": thread, "user": USER, "streaming_message_ts": []}
    return _event("agent_session_stopped", _moment(), **where | fields)


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
    return _event("app_home_opened", _moment(), user=user, channel=channel, tab=tab)


def view_press(view: JSON, action_id: str, value: str = "", *, user: str = USER) -> JSON:
    """Somebody presses a button of a view; without ``value`` the first with this action."""
    element, block = next(
        (element, block)
        for block in view["blocks"]
        for element in (*block.get("elements", ()), block.get("accessory", {}))
        if element.get("action_id") == action_id and value in ("", element.get("value"))
    )
    pressed = {**element, "block_id": block.get("block_id", "b1"), "action_ts": _moment()}
    return _interaction(
        "block_actions",
        user,
        api_app_id="A0001",
        container={"type": "view", "view_id": view["id"]},
        view={**view, "team_id": TEAM, "state": {"values": {}}},
        actions=[pressed],
    )


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
    return _interaction(
        "message_action",
        user,
        callback_id=callback_id,
        trigger_id=trigger,
        action_ts=_moment(),
        message_ts=chosen["ts"],
        message=chosen,
        channel={"id": channel, "name": "general"},
        response_url=url,
    )


def submission(view: JSON, values: JSON, *, user: str = USER) -> JSON:
    """Somebody sends a modal with what they typed, by block."""
    typed = {
        block: {block: {"type": "plain_text_input", "value": value}}
        for block, value in values.items()
    }
    state = {"values": typed}
    return _interaction("view_submission", user, view={**view, "state": state}, response_urls=[])


def joined(*, user: str = BOT, channel: str = CHANNEL, **fields: Any) -> JSON:
    """Somebody, or the bot, has become a member of a channel; ``inviter`` may be missing."""
    where = {"user": user, "channel": channel, "channel_type": channel[0], "team": TEAM}
    return _event("member_joined_channel", _moment(), **where | fields)
