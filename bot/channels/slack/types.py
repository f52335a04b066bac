"""Slack's events, messages and account data, as far as the bot reads them, and the address of an
answer."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, TypeVar

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import Decoder

from bot.file_types import CANVAS, MOST_BYTES, kind_of, type_of
from bot.transcript import Author, account_of, channel_named, channel_of, encode

T = TypeVar("T")

MESSAGE_SUBTYPES = ("", "file_share", "thread_broadcast", "me_message")
DELETED_SUBTYPES = ("tombstone",)
MOST_ROWS = 4  # that a card's message shows; of a card with more it shows the first one
HTML = "text/html"
VOICE = "slack_audio"  # a voice clip, which Slack may call a video
CLIPS = (VOICE, "slack_video")  # recorded in Slack, for the message
TIMESTAMP = re.compile(r"([0-9]{1,10})(?:\.([0-9]{1,20}))?")
CONVERSATION = re.compile(
    rf"slack(?:@[^:]{{1,64}})?:[A-Za-z0-9_]{{0,32}}:[A-Z0-9]{{1,32}}(?::{TIMESTAMP.pattern})?"
)


class Chat(NamedTuple):
    """Where people talk.

    Attributes:
        thread: timestamp of its first message; empty in a 1:1, which is one conversation whatever
            threads it has.
        account: of ours, in which it is; empty for the only one.
    """

    team: str
    channel: str
    thread: str = ""
    account: str = ""

    @property
    def conversation(self) -> str:
        """The conversation's id."""
        parts = (channel_named("slack", self.account), self.team, self.channel, self.thread)
        return ":".join(parts if self.thread else parts[:-1])

    @property
    def is_group(self) -> bool:
        """Whether several people talk here."""
        return bool(self.thread)

    def message_id(self, ts: str) -> str:
        """The same id however often, and as whichever event, a message arrives."""
        return f"{self.account and f'{self.account}:'}{self.team}:{self.channel}:{ts}"


def is_conversation(id: str, channel: str = "") -> bool:
    """Whether an id that was made of what Slack has sent is a conversation's, of this channel."""
    is_ours = not channel or channel_of(id) == channel
    return is_ours and CONVERSATION.fullmatch(id) is not None


@lru_cache(4_096)
def chat_of(conversation: str) -> Chat:
    """The chat behind a conversation's id."""
    _, team, channel, *thread = conversation.split(":")
    return Chat(team, channel, "".join(thread), account_of(conversation))


class Address(Struct, frozen=True, omit_defaults=True):
    """Where an answer goes.

    Attributes:
        ts: of the message that is answered; no message of the answer is older.
        thread: the answer is a reply in this thread.
        response_url: takes the answer to a slash command.
        language: of the status line.
        partial: the message came as a mention, which may lack its files.
        user: who asks, of workspace ``team``; a stream needs a recipient.
        private_url: takes messages for that person alone.
        quoted_channel: the message is about the thread ``quoted_thread`` of this channel, which is
            read for the turn.
        whole: the answer is posted when it is complete: bots read of a stream what it begins with.
    """

    channel: str
    ts: str = ""
    thread: str = ""
    response_url: str = ""
    language: str = ""
    partial: bool = False
    user: str = ""
    team: str = ""
    private_url: str = ""
    quoted_channel: str = ""
    quoted_thread: str = ""
    whole: bool = False


_decode_address = Decoder(Address).decode


def read_address(text: str) -> Address:
    """The address in its stored JSON."""
    return _decode_address(text)


def write_address(address: Address) -> str:
    """The address as JSON, for the store."""
    return encode(address).decode()


class File(Struct, frozen=True):
    """A file of a message. A deleted file, or one of another workspace, has few fields."""

    id: str = ""
    name: str = ""
    title: str = ""
    mimetype: str = ""
    url_private: str = ""
    size: int = 0
    subtype: str = ""

    @property
    def mime(self) -> str:
        """The type, if it is one that can be read; empty for others."""
        mime = type_of(self.name, self.mimetype)
        return mime.replace("video/", "audio/") if self.subtype == VOICE else mime

    @property
    def ref(self) -> str:
        """The address; the id where the file may be a page, which could be the login page: Slack is
        asked for it."""
        is_page = self.mime == CANVAS or self.mimetype == HTML
        return self.id if is_page else self.url_private or self.id

    @property
    def is_too_large(self) -> bool:
        """Whether the file would be read if it were smaller."""
        return bool(self.mime) and self.size > MOST_BYTES[kind_of(self.mime)]

    @property
    def is_readable(self) -> bool:
        """Whether the file can be read."""
        return bool(self.mime and self.ref) and not self.is_too_large


class Attachment(Struct, frozen=True):
    """An attachment: a forwarded message, or another app's.

    Attributes:
        message_blocks: the blocks of a forwarded message, each with its place.
    """

    text: str = ""
    is_share: bool = False
    is_msg_unfurl: bool = False
    files: list[File] = []
    message_blocks: Any = None


class SlackMessage(Struct, frozen=True):
    """A message, as an event carries it and as the API returns it."""

    ts: str = ""
    thread_ts: str = ""
    text: str = ""
    user: str = ""
    username: str = ""
    bot_id: str = ""
    app_id: str = ""
    bot_profile: Any = None
    subtype: str = ""
    blocks: Any = None
    files: list[File] = []
    attachments: list[Attachment] = []
    metadata: Any = None


class Event(SlackMessage, frozen=True):
    """The event inside an envelope."""

    type: str = ""
    channel: str = ""
    team: str = ""
    event_ts: str = ""
    deleted_ts: str = ""
    tab: str = ""
    inviter: str = ""
    message: SlackMessage | None = None
    previous_message: SlackMessage | None = None


class Authorization(Struct, frozen=True):
    """The installation for which Slack sends an event."""

    team_id: str = ""
    user_id: str = ""
    is_bot: bool = True


class Envelope(Struct, frozen=True):
    """An event callback."""

    event: Event
    team_id: str = ""
    context_team_id: str = ""
    authorizations: list[Authorization] = []

    @property
    def team(self) -> str:
        """The workspace in which the bot is installed; ``team_id`` may be the sender's, in a shared
        channel."""
        installed = [known.team_id for known in self.authorizations]
        named = (*installed, self.context_team_id, self.team_id, self.event.team)
        return next(filter(None, named), "")

    @property
    def bots(self) -> frozenset[str]:
        """The bot's own user ids, as far as this event names them."""
        return frozenset(
            known.user_id for known in self.authorizations if known.user_id and known.is_bot
        )


class Command(Struct, frozen=True):
    """A slash command."""

    command: str
    user_id: str
    channel_id: str
    team_id: str = ""
    text: str = ""
    response_url: str = ""
    trigger_id: str = ""


class Action(Struct, frozen=True):
    """A pressed button."""

    action_id: str
    block_id: str
    value: str = ""
    action_ts: str = ""


Actions = Annotated[list[Action], Meta(min_length=1)]


class Presser(Struct, frozen=True):
    """Who pressed a button, chose a shortcut or sent a modal."""

    id: str
    name: str = ""
    username: str = ""
    team_id: str = ""

    @property
    def author(self) -> Author:
        """The same, as the author of a message."""
        return Author(self.id, self.name or self.username)


class Container(Struct, frozen=True):
    """The message with the button."""

    channel_id: str
    message_ts: str
    thread_ts: str = ""


class Press(Struct, frozen=True):
    """A press of one button below a message, which may come with it."""

    actions: Actions
    user: Presser
    container: Container
    response_url: str = ""
    trigger_id: str = ""
    message: Any = None


class Typed(Struct, frozen=True):
    """What somebody has typed into an input."""

    value: str = ""


class ViewState(Struct, frozen=True):
    """The inputs of a modal, by block and action."""

    values: dict[str, dict[str, Typed]] = {}


class View(Struct, frozen=True):
    """A home tab or a modal.

    Attributes:
        hash: changes with each change of the view.
    """

    id: str
    type: str = ""
    hash: str = ""
    callback_id: str = ""
    private_metadata: str = ""
    state: ViewState = ViewState()


class ViewPress(Struct, frozen=True):
    """A press of one button of a view."""

    actions: Actions
    user: Presser
    view: View


class Place(Struct, frozen=True):
    """A channel, or a workspace, whose domain is for links."""

    id: str
    domain: str = ""


class Shortcut(Struct, frozen=True):
    """A shortcut in the menu of a message."""

    callback_id: str
    trigger_id: str
    user: Presser
    team: Place
    channel: Place
    message: SlackMessage
    message_ts: str
    response_url: str = ""


class Submission(Struct, frozen=True):
    """A modal that was sent."""

    user: Presser
    view: View


class Profile(Struct, frozen=True):
    """The names of a user."""

    display_name: str = ""
    real_name: str = ""


class User(Struct, frozen=True):
    """A user, as users.info returns it; ``tz`` is an IANA name."""

    id: str
    name: str = ""
    locale: str = ""
    tz: str = ""
    profile: Profile = Profile()


def read(payload: object, kind: type[T]) -> T | None:
    """What Slack sent as a struct; None if a needed field is missing, or a field has an unknown
    type, or it is nested too deeply. A field that is null is as good as missing."""
    try:
        return convert(_without_nulls(payload), kind)
    except (ValidationError, RecursionError):
        return None


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def ms(ts: str) -> int:
    """A timestamp of Slack's (``1595926230.009600``) in milliseconds since the epoch; 0 if it is
    not one."""
    found = TIMESTAMP.fullmatch(ts)
    return int(found[1]) * 1000 + int((found[2] or "")[:3].ljust(3, "0")) if found else 0
