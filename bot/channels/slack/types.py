"""Slack's events, messages and account data, as far as the bot reads them, and the address of an
answer."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, ValidationError, convert
from msgspec.json import Decoder

from bot.file_types import CANVAS, MOST_BYTES, kind_of, type_of
from bot.transcript import Author, account_of, channel_named, encode

T = TypeVar("T")

MESSAGE_SUBTYPES = (None, "", "file_share", "thread_broadcast", "me_message")
DELETED_SUBTYPES = ("tombstone",)
HTML = "text/html"
VOICE = "slack_audio"  # a voice clip, which Slack may call a video
CLIPS = (VOICE, "slack_video")  # recorded in Slack, for the message
TIMESTAMP = re.compile(r"([0-9]{1,10})(?:\.([0-9]{1,20}))?")
CONVERSATION = re.compile(
    rf"slack(?:@[^:]{{1,32}})?:[A-Za-z0-9_]{{0,32}}:[A-Z0-9]{{1,32}}(?::{TIMESTAMP.pattern})?"
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
        return f"{self.team}:{self.channel}:{ts}"


def is_conversation(id: str) -> bool:
    """Whether an id that was made of what Slack has sent is a conversation's."""
    return CONVERSATION.fullmatch(id) is not None


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


_decode_address = Decoder(Address).decode


def read_address(text: str) -> Address:
    """The address in its stored JSON."""
    return _decode_address(text)


def write_address(address: Address) -> str:
    """The address as JSON, for the store."""
    return encode(address).decode()


class File(Struct, frozen=True):
    """A file of a message. A deleted file, or one of another workspace, has few fields."""

    id: str | None = None
    name: str | None = None
    title: str | None = None
    mimetype: str | None = None
    url_private: str | None = None
    size: int | None = None
    subtype: str | None = None

    @property
    def mime(self) -> str:
        """The type, if it is one that can be read; empty for others."""
        mime = type_of(self.name or "", self.mimetype or "")
        return mime.replace("video/", "audio/") if self.subtype == VOICE else mime

    @property
    def ref(self) -> str:
        """The address; the id where the file may be a page, which could be the login page: Slack is
        asked for it."""
        is_page = self.mime == CANVAS or self.mimetype == HTML
        return (self.id if is_page else self.url_private or self.id) or ""

    @property
    def is_too_large(self) -> bool:
        """Whether the file would be read if it were smaller."""
        return bool(self.mime) and (self.size or 0) > MOST_BYTES[kind_of(self.mime)]

    @property
    def is_readable(self) -> bool:
        """Whether the file can be read."""
        return bool(self.mime and self.ref) and not self.is_too_large


class Attachment(Struct, frozen=True):
    """An attachment: a forwarded message, or another app's.

    Attributes:
        message_blocks: the blocks of a forwarded message, each with its place.
    """

    text: str | None = None
    is_share: bool | None = None
    is_msg_unfurl: bool | None = None
    files: list[File] | None = None
    message_blocks: Any = None


class BotProfile(Struct, frozen=True):
    """A bot's profile."""

    name: str | None = None


class Metadata(Struct, frozen=True):
    """An app's metadata on its message."""

    event_type: str | None = None
    event_payload: dict[str, object] | None = None


class SlackMessage(Struct, frozen=True):
    """A message, as an event carries it and as the API returns it."""

    ts: str | None = None
    thread_ts: str | None = None
    text: str | None = None
    user: str | None = None
    username: str | None = None
    bot_id: str | None = None
    app_id: str | None = None
    bot_profile: BotProfile | None = None
    subtype: str | None = None
    blocks: Any = None
    files: list[File] | None = None
    attachments: list[Attachment] | None = None
    metadata: Metadata | None = None


class Event(SlackMessage, frozen=True):
    """The event inside an envelope."""

    type: str = ""
    channel: str | None = None
    channel_type: str | None = None
    team: str | None = None
    event_ts: str | None = None
    deleted_ts: str | None = None
    tab: str | None = None
    inviter: str | None = None
    message: SlackMessage | None = None
    previous_message: SlackMessage | None = None


class Authorization(Struct, frozen=True):
    """The installation for which Slack sends an event."""

    team_id: str | None = None
    user_id: str | None = None
    is_bot: bool | None = None


class Envelope(Struct, frozen=True):
    """An event callback."""

    event: Event
    team_id: str | None = None
    context_team_id: str | None = None
    authorizations: list[Authorization] | None = None

    @property
    def team(self) -> str:
        """The workspace in which the bot is installed; ``team_id`` may be the sender's, in a shared
        channel."""
        installed = [known.team_id for known in self.authorizations or () if known.team_id]
        return (
            next(iter(installed), None)
            or self.context_team_id
            or self.team_id
            or self.event.team
            or ""
        )

    @property
    def bots(self) -> frozenset[str]:
        """The bot's own user ids, as far as this event names them."""
        return frozenset(
            known.user_id
            for known in self.authorizations or ()
            if known.user_id and known.is_bot is not False
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


class Presser(Struct, frozen=True):
    """Who pressed a button, chose a shortcut or sent a modal."""

    id: str
    name: str | None = None
    username: str | None = None
    team_id: str | None = None

    @property
    def author(self) -> Author:
        """The same, as the author of a message."""
        return Author(self.id, self.name or self.username or "")


class Container(Struct, frozen=True):
    """The message with the button."""

    channel_id: str
    message_ts: str
    thread_ts: str | None = None


class Press(Struct, frozen=True):
    """A press of one button below a message, which may come with it."""

    actions: list[Action]
    user: Presser
    container: Container
    response_url: str = ""
    trigger_id: str = ""
    message: Any = None


class Typed(Struct, frozen=True):
    """What somebody has typed into an input."""

    value: str | None = None


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
    hash: str | None = None
    callback_id: str = ""
    private_metadata: str = ""
    state: ViewState | None = None


class ViewPress(Struct, frozen=True):
    """A press of one button of a view."""

    actions: list[Action]
    user: Presser
    view: View


class SlackChannel(Struct, frozen=True):
    """A channel, by its id."""

    id: str


class Workspace(Struct, frozen=True):
    """A workspace, by its id; its domain is for links."""

    id: str
    domain: str = ""


class Shortcut(Struct, frozen=True):
    """A shortcut in the menu of a message."""

    callback_id: str
    trigger_id: str
    user: Presser
    team: Workspace
    channel: SlackChannel
    message: SlackMessage
    message_ts: str
    response_url: str = ""


class Submission(Struct, frozen=True):
    """A modal that was sent."""

    user: Presser
    view: View


class Profile(Struct, frozen=True):
    """The names of a user."""

    display_name: str | None = None
    real_name: str | None = None


class User(Struct, frozen=True):
    """A user, as users.info returns it; ``tz`` is an IANA name."""

    id: str
    name: str | None = None
    locale: str | None = None
    tz: str | None = None
    profile: Profile | None = None


def read(payload: object, kind: type[T]) -> T | None:
    """What Slack sent as a struct; None if a needed field is missing, or a field has an unknown
    type."""
    try:
        return convert(payload, kind)
    except ValidationError:
        return None


def ms(ts: str) -> int:
    """A timestamp of Slack's (``1595926230.009600``) in milliseconds since the epoch; 0 if it is
    not one."""
    found = TIMESTAMP.fullmatch(ts)
    return int(found[1]) * 1000 + int((found[2] or "")[:3].ljust(3, "0")) if found else 0
