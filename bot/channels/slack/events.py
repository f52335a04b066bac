"""What is meant for the bot: from an event to what is accepted, without asking anybody."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from msgspec.structs import replace

from bot.channels import InboundEvent
from bot.channels.slack.formatting import mentioned_users, plain_text, without_mentions
from bot.channels.slack.options import Options
from bot.channels.slack.types import (
    GONE,
    SPOKEN,
    Address,
    Command,
    Envelope,
    Event,
    File,
    SlackMessage,
    ms,
    write_address,
)
from bot.commands import SpokenCommands
from bot.texts import Texts, language_of
from bot.transcript import Author, Media, Message, Part, Text, new_id

SLACKBOT = "USLACKBOT"


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """Something meant for the bot.

    Attributes:
        if_taking_part: it counts only where the bot takes part in the conversation already.
        if_asked: it counts only as the answer to a question its author is asked there.
    """

    conversation: str
    event: InboundEvent
    if_taking_part: bool = False
    if_asked: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message stands."""

    team: str
    channel: str
    thread: str
    is_direct: bool

    @property
    def conversation(self) -> str:
        """A 1:1 is one conversation, whatever threads it has; in a channel each thread is one."""
        here = f"slack:{self.team}:{self.channel}"
        return here if self.is_direct else f"{here}:{self.thread}"

    def message_id(self, ts: str) -> str:
        """The same for a message however often and as whatever it comes."""
        return f"{self.team}:{self.channel}:{ts}"


class Reader:
    """Reads events and commands.

    Args:
        tool_commands: words that call a tool where a message begins with a slash and one of them.
    """

    def __init__(self, options: Options, texts: Texts, tool_commands: Collection[str]) -> None:
        self._options = options
        self._texts = texts
        self._tool_commands = tool_commands
        self._words = SpokenCommands(texts)

    def read_event(self, envelope: Envelope, own: frozenset[str]) -> ReceivedEvent | None:
        """What an event means to the bot; None where it means nothing.

        Args:
            own: the bot's user ids that are known besides those the event names.
        """
        event, own = envelope.event, own | envelope.bots
        if event.type == "agent_session_stopped" and event.channel and event.user:
            return self._stopped(envelope, event.channel, event.user)
        if event.type not in ("message", "app_mention"):
            return None
        if event.subtype == "message_changed" and event.message:
            return self._changed(envelope, event.message, own)
        if event.subtype == "message_deleted" and event.previous_message:
            return self._taken_back(envelope, event.previous_message, own)
        if event.subtype in SPOKEN and _is_person(event, own) and event.ts and event.channel:
            return self._said(envelope, event.ts, own)
        return None

    def read_command(self, command: Command) -> ReceivedEvent | None:
        """A slash command, as words to the bot; its answer is for the sender's eyes, so it has a conversation alone."""
        is_direct = command.channel_id.startswith("D")
        own_place = command.channel_id if is_direct else command.user_id
        words = self._as_command(plain_text(command.text)) or "/help"
        message_id = f"{command.team_id}:{command.channel_id}:{command.trigger_id or new_id('command')}"
        now = time.time_ns() // 1_000_000
        message = Message(message_id, "user", (Text(words),), now, author=Author(command.user_id))
        response_url = command.response_url if self._options.is_slack_url(command.response_url) else ""
        address = Address(own_place, response_url=response_url, language=self._language(words))
        arrival = InboundEvent(message, write_address(address))
        if not self._may_speak(command.user_id) or not (is_direct or self._is_open(command.channel_id)):
            arrival = replace(arrival, event="told", target="slack.not_allowed")
        return ReceivedEvent(f"slack:{command.team_id}:{own_place}", arrival)

    def _as_command(self, words: str) -> str:
        """What was typed behind our slash command; the slash of a tool's own command is left out there."""
        first = words.partition(" ")[0]
        return f"/{words}" if first.casefold() in self._tool_commands else words

    def _stopped(self, envelope: Envelope, channel: str, user: str) -> ReceivedEvent | None:
        """A press of Slack's own stop button. Its answer goes where the turn's would have gone."""
        event = envelope.event
        place = _place(envelope, event)
        if not (place.is_direct or place.thread) or not self._is_allowed(event, event):
            return None
        at = event.event_ts or ""
        message = Message(f"{place.message_id(at)}:stop", "user", (), ms(at), author=Author(user))
        return ReceivedEvent(place.conversation, InboundEvent(message, group=not place.is_direct, event="stop"))

    def _said(self, envelope: Envelope, ts: str, own: frozenset[str]) -> ReceivedEvent | None:
        event = envelope.event
        place = _place(envelope, event)
        is_mention = event.type == "app_mention" or bool(mentioned_users(event.text or "") & own)
        is_called = is_mention or place.is_direct
        follows = bool(event.thread_ts) and self._options.follow_threads
        decides = bool(event.thread_ts) and self._words.decision(plain_text(event.text or "")) is not None
        if not (is_called or follows or decides):
            return None
        is_allowed = self._is_allowed(event, event)
        if not (is_allowed or place.is_direct):
            return None
        parts = self._parts(event, own, is_mention=is_mention)
        arrival = self._arrival(place, event, ts, parts)
        if arrival and not is_allowed:
            arrival = replace(arrival, event="told", target="slack.not_allowed")
        if arrival is None:
            return None
        follows = follows and not is_called
        return ReceivedEvent(place.conversation, arrival, follows, decides and not (is_called or follows))

    def _arrival(self, place: _Place, event: Event, ts: str, parts: tuple[Part, ...]) -> InboundEvent | None:
        """The message; a mention without words asks about its thread or its files, else it gets our own sentence."""
        message = _message(place, event, ts, parts)
        in_thread = event.thread_ts or ("" if place.is_direct else ts)
        language = self._language(message.text)
        partial = event.type == "app_mention" and not event.files
        asker = {"user": event.user or "", "team": event.team or place.team}
        address = write_address(Address(place.channel, ts, in_thread, language=language, partial=partial, **asker))
        group = not place.is_direct
        if parts:
            return InboundEvent(message, address, group)
        if place.is_direct:
            return None
        if event.thread_ts or partial:
            question = (Text(self._texts.get("slack.bare_mention", language)),)
            return InboundEvent(_message(place, event, ts, question), address, group)
        return InboundEvent(message, address, group, "told", "slack.mentioned")

    def _changed(self, envelope: Envelope, new: SlackMessage, own: frozenset[str]) -> ReceivedEvent | None:
        """An edit by a person; Slack also tells so of link previews, replies and our own messages."""
        old = envelope.event.previous_message or SlackMessage()
        if new.subtype in GONE:
            return self._taken_back(envelope, old, own)
        ts = new.ts or old.ts
        if not ts or new.text == old.text or new.subtype not in SPOKEN or not self._is_heard(envelope.event, new, own):
            return None
        parts = self._parts(new, own, is_mention=bool(mentioned_users(new.text or "") & own))
        event = "edited" if parts else "unsent"
        return self._change(envelope, event, parts, new, old, ts, own)

    def _taken_back(self, envelope: Envelope, old: SlackMessage, own: frozenset[str]) -> ReceivedEvent | None:
        ts = old.ts or envelope.event.deleted_ts
        if not ts or not self._is_heard(envelope.event, old, own):
            return None
        return self._change(envelope, "unsent", (), old, old, ts, own)

    def _change(
        self,
        envelope: Envelope,
        kind: str,
        parts: tuple[Part, ...],
        new: SlackMessage,
        old: SlackMessage,
        ts: str,
        own: frozenset[str],
    ) -> ReceivedEvent:
        event = envelope.event
        thread = new.thread_ts or old.thread_ts or ts
        place = _place(envelope, event, thread)
        concerns_us = bool(mentioned_users(f"{new.text} {old.text}") & own)
        message = _message(place, new, event.event_ts or event.ts or ts, parts)
        address = write_address(Address(place.channel, ts, "" if place.is_direct else thread))
        arrival = InboundEvent(
            message,
            address,
            not place.is_direct,
            "edited" if kind == "edited" else "unsent",
            place.message_id(ts),
        )
        return ReceivedEvent(place.conversation, arrival, if_taking_part=not (concerns_us or place.is_direct))

    def _parts(self, posted: SlackMessage, own: frozenset[str], *, is_mention: bool) -> tuple[Part, ...]:
        text = posted.text or ""
        if is_mention:
            text = without_mentions(text, mentioned_users(text) & own)
        files = posted.files or []
        shared = [
            plain_text(one.text) for one in posted.attachments or () if one.text and (one.is_share or one.is_msg_unfurl)
        ]
        unread = [_note(file) for file in files if not file.is_readable]
        words = "\n\n".join(filter(None, (plain_text(text), *shared, *unread)))
        return ((Text(words),) if words else ()) + images(files)

    def _is_heard(self, event: Event, posted: SlackMessage, own: frozenset[str]) -> bool:
        return bool(event.channel) and _is_person(posted, own) and self._is_allowed(event, posted)

    def _is_allowed(self, event: Event, posted: SlackMessage) -> bool:
        """Whether somebody may speak here."""
        return self._may_speak(posted.user or "") and (_is_direct(event) or self._is_open(event.channel or ""))

    def _may_speak(self, user: str) -> bool:
        return not self._options.allowed_users or user in self._options.allowed_users

    def _is_open(self, channel: str) -> bool:
        return not self._options.allowed_channels or channel in self._options.allowed_channels

    def _language(self, text: str) -> str:
        return language_of(text, self._options.language)


def _is_person(posted: SlackMessage, own: frozenset[str]) -> bool:
    """Neither the bot itself nor another one."""
    return bool(posted.user) and posted.user not in own | {SLACKBOT} and not posted.bot_id and not posted.app_id


def images(files: list[File]) -> tuple[Media, ...]:
    """The files a model can look at."""
    return tuple(
        Media(file.url_private or file.id or "", file.mimetype or "", file.size or 0)
        for file in files
        if file.is_readable
    )


def _note(file: File) -> str:
    kind = f", {file.mimetype}" if file.mimetype else ""
    return f"[attached file, not readable here: {file.name or 'without a name'}{kind}]"


def _message(place: _Place, posted: SlackMessage, ts: str, parts: tuple[Part, ...]) -> Message:
    return Message(place.message_id(ts), "user", parts, ms(ts), author=Author(posted.user or ""))


def _place(envelope: Envelope, event: Event, thread: str = "") -> _Place:
    channel = event.channel or ""
    return _Place(envelope.team, channel, thread or event.thread_ts or event.ts or "", _is_direct(event))


def _is_direct(event: Event) -> bool:
    """A mention may not say what kind of channel it comes from; the ids of 1:1 channels begin with D."""
    return event.channel_type == "im" or (event.channel or "").startswith("D")
