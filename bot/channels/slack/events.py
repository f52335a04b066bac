"""From Slack's event to an inbox event, without any I/O."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from bot.channels import SAY, STOP, Host, InboundEvent, PlaceSettings
from bot.channels.slack.config import Config
from bot.channels.slack.contents import parts_of, with_texts
from bot.channels.slack.formatting import (
    FEEDBACK,
    OF_FEEDBACK,
    addresses_one,
    mentioned_users,
    plain_text,
)
from bot.channels.slack.types import (
    DELETED_SUBTYPES,
    MESSAGE_SUBTYPES,
    Action,
    Address,
    Chat,
    Command,
    Envelope,
    Event,
    Press,
    Presser,
    SlackMessage,
    chat_of,
    is_conversation,
    ms,
    write_address,
)
from bot.clock import now_ms
from bot.commands import SpokenCommands
from bot.texts import language_of
from bot.transcript import Author, Message, Part, Text, new_id
from toolset.shown import LONGEST_CHOICE

SLACKBOT = "USLACKBOT"
NO_THREAD = "0.0"  # of a conversation in a channel in which nobody writes
# An action, and a number that tells apart the buttons of a message, as Slack demands. The buttons
# of a card that waits for a decision differ by their actions: a second press is the same decision.
ACTION = re.compile(r"([a-z_]{1,20}\.[a-z_]{1,20})(#\d{1,2})?")
VALUE = re.compile(r"\S{0,200}")
# Who may press a button that says something, and what it says.
SAID = re.compile(rf"([A-Z0-9]{{1,20}}):([^\n]{{1,{LONGEST_CHOICE}}})")
FEEDBACK_VALUE = re.compile(r"([a-z_]{1,20}\.[a-z_]{1,20}) (\S{0,200})")


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """An event for the bot.

    Attributes:
        if_participating: counts where the bot takes part in the conversation already.
        if_asked: counts if the conversation has an open question to its author.
        shown_in: the 1:1 channel of a yes or no, in which questions of slash commands are shown
            too.
        names_no_thread: a change of a message that may be in another thread than its own, which the
            event does not say.
        author: of a message, where bots are answered.
        is_for_others: it only ends a row of answers to bots.
    """

    conversation: str
    event: InboundEvent
    if_participating: bool = False
    if_asked: bool = False
    shown_in: str = ""
    names_no_thread: bool = False
    author: Literal["", "bot", "person"] = ""
    is_for_others: bool = False


class Reader:
    """Turns Slack's events, commands and presses into inbox events."""

    def __init__(self, config: Config, host: Host) -> None:
        self._config = config
        self._host = host
        self._account = host.account
        self._spoken_commands = SpokenCommands(host.texts)

    def read_event(self, envelope: Envelope, bot_users: frozenset[str]) -> ReceivedEvent | None:
        """The inbox event; None for an event that is not for the bot.

        Args:
            bot_users: the bot's user ids that are known besides those the event names.
        """
        envelope = with_texts(envelope)
        event, bot_users = envelope.event, bot_users | envelope.bots
        if not event.channel:
            return None
        if event.type == "agent_session_stopped" and event.user:
            return self._read_stop(envelope, event.user)
        if event.type == "member_joined_channel" and event.user in bot_users:
            return self._read_invitation(envelope, event.channel, event.inviter)
        if event.type not in ("message", "app_mention"):
            return None
        if event.subtype in ("message_changed", "message_deleted"):
            return self._read_change(envelope, bot_users)
        user = event.user or event.bot_id
        place = self._host.settings_of(self._locate(envelope).conversation, user)
        is_bot = _is_one_of(event, place.bots, bot_users)
        if is_bot:
            envelope = replace(envelope, event=replace(event, user=user))
        elif event.subtype not in MESSAGE_SUBTYPES or not _is_person(event, bot_users):
            return None
        return self._read_message(envelope, bot_users, place, is_bot) if event.ts else None

    def read_command(self, command: Command, *, is_direct: bool) -> ReceivedEvent | None:
        """A slash command as a message; None where nothing is answered. Its answer is for the
        sender alone, so it has a conversation of its own.

        Args:
            is_direct: it was given in the sender's 1:1 with the bot, to whose conversation it
                belongs.
        """
        recipient = command.channel_id if is_direct else command.user_id
        text = plain_text(command.text) or "/help"
        if text.partition(" ")[0].casefold() in self._host.tool_commands:
            text = f"/{text}"  # people leave the slash of a tool's command out there
        chat = Chat(command.team_id, command.channel_id, account=self._account)
        if self._host.settings_of(chat.conversation, command.user_id).speak == "never":
            return None
        message_id = chat.message_id(command.trigger_id or new_id("command"))
        author = Author(command.user_id)
        message = Message(message_id, "user", (Text(text),), now_ms(), author=author)
        url = self._slack_url(command.response_url)
        language = language_of(text, self._host.language)
        address = Address(recipient, response_url=url, language=language)
        arrival = InboundEvent(message, write_address(address))
        if not self._config.allows(command.user_id, command.channel_id):
            arrival = replace(arrival, event="canned", target="slack.not_allowed")
        return ReceivedEvent(chat._replace(channel=recipient).conversation, arrival)

    def read_press(self, action: Action, user: Presser, address: Address) -> ReceivedEvent | None:
        """The event that a pressed button makes; None for a button that is not ours, and for people
        who may not press it or not use the bot.

        Args:
            address: of the message with the button.
        """
        conversation = action.block_id.removesuffix(OF_FEEDBACK)
        named = ACTION.fullmatch(action.action_id)
        name, value = named[1] if named else "", action.value
        if action.action_id == FEEDBACK and (found := FEEDBACK_VALUE.fullmatch(value)):
            name, value = found.groups()
        if not (name and is_conversation(conversation)):
            return None
        config = self._config
        approvers = self._host.settings_of(conversation, user.id).approvers
        may_decide = user.id in (config.approvers if approvers is None else approvers)
        if not may_decide and not config.allows(user.id, address.channel):
            return None
        where, at = write_address(address), ms(action.action_ts)
        group = chat_of(conversation).is_group
        if name == SAY:
            said = SAID.fullmatch(value)
            if not said or user.id != said[1]:
                return None
            # The same for all buttons of an answer.
            message_id = f"choice:{address.channel}:{address.ts}"
            message = Message(message_id, "user", (Text(said[2]),), at, author=user.author)
            return ReceivedEvent(conversation, InboundEvent(message, where, group, action=SAY))
        if not VALUE.fullmatch(value):
            return None
        message_id = f"{value}:{user.id}:{action.action_id}"
        if not named or named[2]:
            # A second press counts too, as it may take the first one back. Slack sends the same
            # press with the same time again.
            message_id = f"{message_id}:{action.action_ts}"
        message = Message(message_id, "user", (), at, author=user.author)
        event = InboundEvent(message, where, group, "action", target=value, action=name)
        return ReceivedEvent(conversation, event)

    def address_of(self, pressed: Press) -> Address:
        """Where the answer to a press goes: below the message with the button."""
        container, user = pressed.container, pressed.user
        return Address(
            container.channel_id,
            container.message_ts,
            container.thread_ts,
            private_url=self._slack_url(pressed.response_url),
            user=user.id,
            team=user.team_id,
        )

    def _slack_url(self, url: str) -> str:
        """The URL if it is Slack's; empty for another one."""
        return url if self._config.is_slack_url(url) else ""

    def _read_stop(self, envelope: Envelope, user: str) -> ReceivedEvent | None:
        """A press of Slack's own stop button."""
        event = envelope.event
        chat = self._locate(envelope)
        at, is_direct = event.event_ts, event.channel.startswith("D")
        if not (is_direct or chat.thread) or not self._config.allows(user, event.channel):
            return None
        message = Message(f"{chat.message_id(at)}:stop", "user", (), ms(at), author=Author(user))
        stop = InboundEvent(message, group=chat.is_group, event="action", action=STOP)
        return ReceivedEvent(chat.conversation, stop)

    def _read_invitation(
        self, envelope: Envelope, channel: str, inviter: str
    ) -> ReceivedEvent | None:
        """The bot is in a channel now: it says how to talk to it, in the inviter's language.

        The greeting has a conversation of its own, so that it waits for no answer; it is given once
        for each time that the bot joins.
        """
        if not self._config.allows(inviter, channel):
            return None
        team, at = envelope.team, envelope.event.event_ts
        author = Author(inviter) if inviter else None
        chat = Chat(team, channel, NO_THREAD, self._account)
        message_id = chat.message_id(f"joined:{at}")
        message = Message(message_id, "user", (), ms(at), author=author)
        address = write_address(Address(channel, user=inviter, team=team))
        greeting = InboundEvent(message, address, True, "canned", "slack.greeting")
        return ReceivedEvent(chat.conversation, greeting)

    def _read_message(
        self, envelope: Envelope, bot_users: frozenset[str], place: PlaceSettings, is_bot: bool
    ) -> ReceivedEvent | None:
        event, chat = envelope.event, self._locate(envelope)
        speak = place.speak or self._config.speak
        is_mention = event.type == "app_mention" or bool(mentioned_users(event.text) & bot_users)
        is_called = is_mention or not chat.is_group or speak == "all"
        follows = speak == "thread" and bool(event.thread_ts) and not addresses_one(event.text)
        is_answer = self._spoken_commands.answer(plain_text(event.text)) is not None
        decides = bool(event.thread_ts) and is_answer
        author: Literal["", "bot", "person"] = ""
        if place.bots:
            author = "bot" if is_bot else "person"
        is_for_others = not (is_called or follows or decides)
        if is_for_others and author != "person":
            return None
        is_allowed = is_bot or self._config.allows(event.user, event.channel)
        if chat.is_group and not is_allowed:
            return None
        parts = parts_of(event, bot_users, is_mention=event.type == "app_mention")
        arrival = self._message_event(chat, event, event.ts, parts, whole=bool(author))
        if is_bot and self._spoken_commands.answer(arrival.message.text) is not None:
            return None  # a yes or no is a person's, whoever has asked
        if not is_allowed:
            arrival = replace(arrival, event="canned", target="slack.not_allowed")
        follows = follows and not is_called
        shown_in = chat.channel if not chat.is_group and is_answer else ""
        if_asked = decides and not is_called
        return ReceivedEvent(
            chat.conversation,
            arrival,
            follows,
            if_asked,
            shown_in,
            author=author,
            is_for_others=is_for_others,
        )

    def _message_event(
        self, chat: Chat, event: Event, ts: str, parts: tuple[Part, ...], *, whole: bool
    ) -> InboundEvent:
        """The message. A bare mention asks about its thread or its files, else what is empty gets a
        canned answer."""
        group = chat.is_group
        partial = event.type == "app_mention" and not event.files
        message = _message(chat, event, ts, parts)
        language = language_of(message.text, self._host.language)
        address = Address(
            chat.channel,
            ts,
            event.thread_ts or (ts if group else ""),
            language=language,
            partial=partial,
            user=event.user,
            team=event.team or chat.team,
            whole=whole,
        )
        asks_bare = group and not parts and bool(event.thread_ts or partial)
        if asks_bare:
            question = Text(self._host.texts.get("slack.bare_mention", language))
            message = replace(message, parts=(question,))
        arrival = InboundEvent(message, write_address(address), group)
        if parts or asks_bare:
            return replace(arrival, indexed=True) if group else arrival
        return replace(
            arrival, event="canned", target="slack.mentioned" if group else "slack.empty"
        )

    def _read_change(self, envelope: Envelope, bot_users: frozenset[str]) -> ReceivedEvent | None:
        """An edit by a person, or a deletion.

        Slack sends edits for link previews, replies and the bot's own messages too. A deletion, as
        Slack documents it, names the channel and the message's time, and nothing else.
        """
        event, old = envelope.event, envelope.event.previous_message
        before, now = old or SlackMessage(), event.message or SlackMessage()
        is_deletion = event.subtype == "message_deleted" or now.subtype in DELETED_SUBTYPES
        if is_deletion:
            ts, now = before.ts or event.deleted_ts or now.ts, before
        else:
            ts = now.ts or before.ts
            is_same = old is not None and now.text == before.text
            if is_same or now.subtype not in MESSAGE_SUBTYPES:
                return None
        is_relevant = _is_person(now, bot_users) and self._config.allows(now.user, event.channel)
        if not ts or not (is_relevant or (is_deletion and old is None)):
            return None
        parts = () if is_deletion else parts_of(now, bot_users)
        in_thread = now.thread_ts or before.thread_ts
        chat = self._locate(envelope, in_thread or ts)
        message = _message(chat, now, event.event_ts or event.ts or f"{ts}:changed", parts)
        # What was shown of the answer is looked for there; a 1:1 is one conversation, but its
        # threads are not.
        thread = in_thread or chat.thread
        is_located = thread or old is not None
        address = write_address(Address(chat.channel, ts, thread)) if is_located else ""
        kind: Literal["edited", "unsent"] = "edited" if parts else "unsent"
        concerns_us = mentioned_users(f"{now.text} {before.text}") & bot_users
        return ReceivedEvent(
            chat.conversation,
            InboundEvent(message, address, chat.is_group, kind, chat.message_id(ts)),
            if_participating=chat.is_group and not concerns_us,
            names_no_thread=chat.is_group and not in_thread and old is None,
        )

    def _locate(self, envelope: Envelope, thread: str = "") -> Chat:
        event = envelope.event
        is_direct = event.channel.startswith("D")
        thread = "" if is_direct else thread or event.thread_ts or event.ts
        return Chat(envelope.team, event.channel, thread, self._account)


def _is_person(posted: SlackMessage, bot_users: frozenset[str]) -> bool:
    """Whether the author is a person, neither this bot nor another one."""
    is_bot = posted.bot_id or posted.app_id or posted.user in bot_users | {SLACKBOT}
    return bool(posted.user) and not is_bot


def _is_one_of(posted: SlackMessage, bots: Collection[str], bot_users: frozenset[str]) -> bool:
    """Whether the author is one of these bots, and not this one."""
    is_bot = bool(posted.bot_id) and posted.subtype in (*MESSAGE_SUBTYPES, "bot_message")
    is_named = posted.bot_id in bots or posted.user in bots
    return is_bot and is_named and posted.user not in bot_users


def _message(chat: Chat, posted: SlackMessage, ts: str, parts: tuple[Part, ...]) -> Message:
    return Message(chat.message_id(ts), "user", parts, ms(ts), author=Author(posted.user))
