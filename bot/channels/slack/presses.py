"""Pressed buttons: from Slack's payload to a decision about the question they stand under."""

from __future__ import annotations

import re

from msgspec import Struct, ValidationError, convert

from bot.channels import InboundEvent
from bot.channels.slack.events import Heard
from bot.channels.slack.options import Options
from bot.channels.slack.question_blocks import APPROVE, REJECT
from bot.channels.slack.types import Address, ms, write_address
from bot.transcript import Author, Message

CONVERSATION = re.compile(r"slack:[A-Z0-9]*:[A-Z0-9]+(:\d+\.\d+)?")
QUESTION = re.compile(r"question_[0-9a-f]{32}")


class _Action(Struct, frozen=True):
    action_id: str
    block_id: str
    value: str
    action_ts: str = ""


class _User(Struct, frozen=True):
    id: str
    name: str | None = None
    username: str | None = None
    team_id: str | None = None


class _Container(Struct, frozen=True):
    channel_id: str
    message_ts: str
    thread_ts: str | None = None


class _Pressed(Struct, frozen=True):
    """Buttons that somebody has pressed, one at a time."""

    actions: list[_Action]
    user: _User
    container: _Container
    response_url: str = ""


def decision(payload: dict[str, object], options: Options) -> Heard | None:
    """What a press decides; None where it is of no question of ours.

    One person pressing one button again is the same decision: a double click shall not be told that it comes late.
    """
    try:
        pressed = convert(payload, _Pressed)
    except ValidationError:
        return None
    action = pressed.actions[0]
    conversation = CONVERSATION.fullmatch(action.block_id)
    if action.action_id not in (APPROVE, REJECT) or not conversation or not QUESTION.fullmatch(action.value):
        return None
    user = pressed.user
    author = Author(user.id, user.name or user.username or "")
    message_id = f"{action.value}:{user.id}:{action.action_id}"
    arrival = InboundEvent(
        Message(message_id, "user", (), ms(action.action_ts), author=author),
        write_address(_address(pressed, options)),
        group=conversation[1] is not None,
        event="decision",
        target=action.value,
        approved=action.action_id == APPROVE,
    )
    return Heard(action.block_id, arrival)


def _address(pressed: _Pressed, options: Options) -> Address:
    """The answer belongs below the question."""
    place, user = pressed.container, pressed.user
    return Address(
        place.channel_id,
        place.message_ts,
        place.thread_ts or "",
        private_url=pressed.response_url if options.is_slacks(pressed.response_url) else "",
        user=user.id,
        team=user.team_id or "",
    )
