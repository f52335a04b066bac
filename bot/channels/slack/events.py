"""From Slack's event to an inbox event, without any I/O."""

from __future__ import annotations

import time
from dataclasses import dataclass

from msgspec.structs import replace

from bot.channels import STOP, Host, InboundEvent
from bot.channels.slack import Config
from bot.channels.slack.contents import files_of, forwarded_words, with_text
from bot.channels.slack.formatting import mentioned_users, plain_text, without_mentions
from bot.channels.slack.types import (
    CLIPS,
    DELETED_SUBTYPES,
    MESSAGE_SUBTYPES,
    Address,
    Chat,
    Command,
    Envelope,
    Event,
    File,
    Press,
    SlackMessage,
    ms,
    write_address,
)
from bot.commands import SpokenCommands
from bot.file_types import CANVAS, MIB, MOST_BYTES, kind_of
from bot.safe_text.glyphs import safe_name
from bot.texts import language_of
from bot.transcript import Author, Media, Message, Part, Text, new_id

SLACKBOT = "USLACKBOT"
NO_THREAD = "0.0"  # of a conversation in a channel in which nobody writes


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """An event for the bot.

    Attributes:
        if_participating: counts only where the bot takes part in the conversation already.
        if_asked: counts only if the conversation has an open question to its author.
        shown_in: the 1:1 channel of a yes or no, in which questions of slash commands are shown
            too.
        names_no_thread: a change of a message that may be in another thread than its own, which the
            event does not say.
    """

    conversation: str
    event: InboundEvent
    if_participating: bool = False
    if_asked: bool = False
    shown_in: str = ""
    names_no_thread: bool = False


class Reader:
    """Turns Slack's events and commands into inbox events."""

    def __init__(self, config: Config, host: Host) -> None:
        self._config = config
        self._host = host
        self._spoken_commands = SpokenCommands(host.texts)

    def read_event(self, envelope: Envelope, bot_users: frozenset[str]) -> ReceivedEvent | None:
        """The inbox event; None for an event that is not for the bot.

        Args:
            bot_users: the bot's user ids that are known besides those the event names.
        """
        envelope = _with_texts(envelope)
        event, bot_users = envelope.event, bot_users | envelope.bots
        if event.type == "agent_session_stopped" and event.channel and event.user:
            return self._read_stop(envelope, event.user)
        if event.type == "member_joined_channel" and event.user in bot_users and event.channel:
            return self._read_invitation(envelope, event.channel, event.inviter or "")
        if event.type not in ("message", "app_mention"):
            return None
        if event.subtype == "message_changed" and event.message:
            return self._read_edit(envelope, event.message, bot_users)
        if event.subtype == "message_deleted":
            return self._read_deletion(envelope, event.deleted_ts, bot_users)
        if (
            event.subtype in MESSAGE_SUBTYPES
            and _is_person(event, bot_users)
            and event.ts
            and event.channel
        ):
            return self._read_message(envelope, event.ts, bot_users)
        return None

    def read_command(self, command: Command, *, is_direct: bool) -> ReceivedEvent:
        """A slash command as a message. Its answer is for the sender alone, so it has a
        conversation of its own.

        Args:
            is_direct: it was given in the sender's 1:1 with the bot, to whose conversation it
                belongs.
        """
        recipient = command.channel_id if is_direct else command.user_id
        text = self._as_command(plain_text(command.text)) or "/help"
        message_id = Chat(command.team_id, command.channel_id).message_id(
            command.trigger_id or new_id("command")
        )
        now = time.time_ns() // 1_000_000
        message = Message(message_id, "user", (Text(text),), now, author=Author(command.user_id))
        response_url = (
            command.response_url if self._config.is_slack_url(command.response_url) else ""
        )
        address = Address(recipient, response_url=response_url, language=self._language(text))
        arrival = InboundEvent(message, write_address(address))
        if not self._config.allows(command.user_id, command.channel_id):
            arrival = replace(arrival, event="canned", target="slack.not_allowed")
        return ReceivedEvent(Chat(command.team_id, recipient).conversation, arrival)

    def _as_command(self, text: str) -> str:
        """The text after our slash command; a tool's command gets the slash that people leave out
        there."""
        first = text.partition(" ")[0]
        return f"/{text}" if first.casefold() in self._host.tool_commands else text

    def _read_stop(self, envelope: Envelope, user: str) -> ReceivedEvent | None:
        """A press of Slack's own stop button."""
        event = envelope.event
        chat = _locate(envelope, event)
        if not (_is_direct(event) or chat.thread) or not self._is_allowed(event, event):
            return None
        at = event.event_ts or ""
        message = Message(f"{chat.message_id(at)}:stop", "user", (), ms(at), author=Author(user))
        return ReceivedEvent(
            chat.conversation,
            InboundEvent(message, group=chat.is_group, event="action", action=STOP),
        )

    def _read_invitation(
        self, envelope: Envelope, channel: str, inviter: str
    ) -> ReceivedEvent | None:
        """The bot is in a channel now: it says how to talk to it, in the inviter's language.

        The greeting has a conversation of its own, so that it waits for no answer; it is given once
        for each time that the bot joins.
        """
        event = envelope.event
        chat, at = Chat(envelope.team, channel, NO_THREAD), event.event_ts or ""
        if not self._config.allows_user(inviter) or not self._config.allows_channel(channel):
            return None
        author = Author(inviter) if inviter else None
        message_id = Chat(chat.team, channel).message_id(f"joined:{at}")
        message = Message(message_id, "user", (), ms(at), author=author)
        address = write_address(Address(channel, user=inviter, team=chat.team))
        return ReceivedEvent(
            chat.conversation,
            InboundEvent(message, address, group=True, event="canned", target="slack.greeting"),
        )

    def _read_message(
        self, envelope: Envelope, ts: str, bot_users: frozenset[str]
    ) -> ReceivedEvent | None:
        event = envelope.event
        chat = _locate(envelope, event)
        is_mention = event.type == "app_mention" or bool(
            mentioned_users(event.text or "") & bot_users
        )
        is_called = is_mention or not chat.is_group
        follows = bool(event.thread_ts) and self._config.slack_follow_threads
        is_answer = self._spoken_commands.answer(plain_text(event.text or "")) is not None
        decides = bool(event.thread_ts) and is_answer
        if not (is_called or follows or decides):
            return None
        is_allowed = self._is_allowed(event, event)
        if chat.is_group and not is_allowed:
            return None
        parts = self._parts(event, bot_users, is_mention=is_mention)
        arrival = self._message_event(chat, event, ts, parts)
        if not is_allowed:
            arrival = replace(arrival, event="canned", target="slack.not_allowed")
        follows = follows and not is_called
        shown_in = chat.channel if not chat.is_group and is_answer else ""
        if_asked = decides and not (is_called or follows)
        return ReceivedEvent(chat.conversation, arrival, follows, if_asked, shown_in)

    def _message_event(
        self, chat: Chat, event: Event, ts: str, parts: tuple[Part, ...]
    ) -> InboundEvent:
        """The message. A bare mention asks about its thread or its files, else what is empty gets a
        canned answer."""
        message = _message(chat, event, ts, parts)
        in_thread = event.thread_ts or (ts if chat.is_group else "")
        language = self._language(message.text)
        partial = event.type == "app_mention" and not event.files
        asker = {"user": event.user or "", "team": event.team or chat.team}
        address = write_address(
            Address(chat.channel, ts, in_thread, language=language, partial=partial, **asker)
        )
        group = chat.is_group
        if parts:
            return InboundEvent(message, address, group, indexed=group)
        if not group:
            return InboundEvent(message, address, group, "canned", "slack.empty")
        if event.thread_ts or partial:
            question = (Text(self._host.texts.get("slack.bare_mention", language)),)
            return InboundEvent(_message(chat, event, ts, question), address, group, indexed=group)
        return InboundEvent(message, address, group, "canned", "slack.mentioned")

    def _read_edit(
        self, envelope: Envelope, new: SlackMessage, bot_users: frozenset[str]
    ) -> ReceivedEvent | None:
        """An edit by a person. Slack sends the same event for link previews, replies and the bot's
        own messages."""
        old = envelope.event.previous_message or SlackMessage()
        if new.subtype in DELETED_SUBTYPES:
            return self._read_deletion(envelope, new.ts, bot_users)
        ts = new.ts or old.ts
        if (
            not ts
            or new.text == old.text
            or new.subtype not in MESSAGE_SUBTYPES
            or not self._is_relevant(envelope.event, new, bot_users)
        ):
            return None
        parts = self._parts(
            new, bot_users, is_mention=bool(mentioned_users(new.text or "") & bot_users)
        )
        return self._changed_event(envelope, parts, new, old=old, ts=ts, bot_users=bot_users)

    def _read_deletion(
        self, envelope: Envelope, deleted_ts: str | None, bot_users: frozenset[str]
    ) -> ReceivedEvent | None:
        """A deletion. As Slack documents it, it names the channel and the message's time, and
        nothing else."""
        event, old = envelope.event, envelope.event.previous_message
        ts = (old.ts if old else None) or deleted_ts
        if not ts or not event.channel or (old and not self._is_relevant(event, old, bot_users)):
            return None
        known = old or SlackMessage()
        return self._changed_event(envelope, (), known, old=known, ts=ts, bot_users=bot_users)

    def _changed_event(
        self,
        envelope: Envelope,
        parts: tuple[Part, ...],
        new: SlackMessage,
        old: SlackMessage,
        ts: str,
        bot_users: frozenset[str],
    ) -> ReceivedEvent:
        event = envelope.event
        in_thread = new.thread_ts or old.thread_ts or ""
        chat = _locate(envelope, event, in_thread or ts)
        concerns_us = bool(mentioned_users(f"{new.text} {old.text}") & bot_users)
        message = _message(chat, new, event.event_ts or event.ts or f"{ts}:changed", parts)
        # What was shown of the answer is looked for there; a 1:1 is one conversation, but its
        # threads are not.
        thread = in_thread or chat.thread
        is_located = bool(thread) or event.previous_message is not None
        address = write_address(Address(chat.channel, ts, thread)) if is_located else ""
        arrival = InboundEvent(
            message,
            address,
            chat.is_group,
            "edited" if parts else "unsent",
            chat.message_id(ts),
        )
        names_no_thread = chat.is_group and not in_thread and event.previous_message is None
        if_participating = chat.is_group and not concerns_us
        return ReceivedEvent(
            chat.conversation, arrival, if_participating, names_no_thread=names_no_thread
        )

    def _parts(
        self, posted: SlackMessage, bot_users: frozenset[str], *, is_mention: bool
    ) -> tuple[Part, ...]:
        text = posted.text or ""
        if is_mention:
            text = without_mentions(text, mentioned_users(text) & bot_users)
        files = files_of(posted)
        unread = [_unreadable_file(file) for file in files if not file.is_readable]
        content = "\n\n".join(filter(None, (plain_text(text), *forwarded_words(posted), *unread)))
        return ((Text(content),) if content else ()) + media_of(files)

    def _is_relevant(self, event: Event, posted: SlackMessage, bot_users: frozenset[str]) -> bool:
        return (
            bool(event.channel)
            and _is_person(posted, bot_users)
            and self._is_allowed(event, posted)
        )

    def _is_allowed(self, event: Event, posted: SlackMessage) -> bool:
        """Whether the settings allow this user and this channel."""
        return self._config.allows_user(posted.user or "") and (
            _is_direct(event) or self._config.allows_channel(event.channel or "")
        )

    def _language(self, text: str) -> str:
        return language_of(text, self._host.language)


def press_address(pressed: Press, config: Config) -> Address:
    """Where the answer to a press goes: below the message with the button."""
    container, user, url = pressed.container, pressed.user, pressed.response_url
    if not config.is_slack_url(url):
        url = ""
    return Address(
        container.channel_id,
        container.message_ts,
        container.thread_ts or "",
        private_url=url,
        user=user.id,
        team=user.team_id or "",
    )


def _with_texts(envelope: Envelope) -> Envelope:
    """The event, its messages with the words of their blocks where they have no text."""
    event = with_text(envelope.event)
    if event.message:
        event = replace(event, message=with_text(event.message))
    if event.previous_message:
        event = replace(event, previous_message=with_text(event.previous_message))
    return replace(envelope, event=event)


def _is_person(posted: SlackMessage, bot_users: frozenset[str]) -> bool:
    """Whether the author is a person, neither this bot nor another one."""
    return (
        bool(posted.user)
        and posted.user not in bot_users | {SLACKBOT}
        and not posted.bot_id
        and not posted.app_id
    )


def media_of(files: list[File]) -> tuple[Media, ...]:
    """The files that can be read."""
    return tuple(
        Media(file.ref, file.mime, max(file.size or 0, 0), name=_name(file))
        for file in files
        if file.is_readable
    )


def _name(file: File) -> str:
    """The name; a picture and a clip that was recorded for the message need none, a canvas has a
    title."""
    if kind_of(file.mime) == "image" or file.subtype in CLIPS:
        return ""
    return safe_name((file.title if file.mime == CANVAS else None) or file.name or "")


def _unreadable_file(file: File) -> str:
    name = safe_name(file.name or "") or "without a name"
    if file.is_too_large:
        most = MOST_BYTES[kind_of(file.mime)] // MIB
        return f"[attached file, larger than the {most} MB that can be read: {name}]"
    kind = f", {file.mimetype}" if file.mimetype else ""
    return f"[attached file, not readable here: {name}{kind}]"


def _message(chat: Chat, posted: SlackMessage, ts: str, parts: tuple[Part, ...]) -> Message:
    return Message(chat.message_id(ts), "user", parts, ms(ts), author=Author(posted.user or ""))


def _locate(envelope: Envelope, event: Event, thread: str = "") -> Chat:
    thread = "" if _is_direct(event) else thread or event.thread_ts or event.ts or ""
    return Chat(envelope.team, event.channel or "", thread)


def _is_direct(event: Event) -> bool:
    """Whether the channel is a 1:1. A mention may lack ``channel_type``; the ids of 1:1 channels
    begin with D."""
    return event.channel_type == "im" or (event.channel or "").startswith("D")
