"""What the app shows beside conversations: its home tab, prompts in its messages tab, and forms.

The home tab has what features show a person about themselves. A form, a modal, shows a card that
has too many rows for a message.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

import structlog
from msgspec.structs import replace

from bot.channels import Host, InboundEvent, KeptCommand, KeptSection, Overviews
from bot.channels.slack.cards import OPEN, OpenCard, read_open, waiting_block
from bot.channels.slack.client import BackgroundTasks, Client
from bot.channels.slack.config import Config
from bot.channels.slack.events import Reader, ReceivedEvent
from bot.channels.slack.formatting import Block, button, button_row, context, modal, plain, section
from bot.channels.slack.lookups import People
from bot.channels.slack.types import (
    Address,
    Chat,
    Envelope,
    Press,
    Presser,
    ViewPress,
    chat_of,
    is_conversation,
    ms,
    read_address,
    write_address,
)
from bot.clock import DAY_S
from bot.errors import DeliverLater, StoreUnavailable
from bot.texts import preferred_language
from bot.transcript import UNREADABLE, Author, Message, Text, channel_of

log = structlog.stdlib.get_logger(__name__)

PREFIX = "kaiwa_home_"  # before the action of a section
DIRECT = re.compile(r"slack(?:@[^:]+)?:[A-Z0-9]*:D[A-Z0-9]+")
MOST_ROWS = 40  # of a section; a view takes 100 blocks
LONGEST = 600  # characters of an item
CONFLICT = "hash_conflict"
PROMPTS = ("1", "2", "3")


class Home:
    """Publishes home tabs, and does what their buttons say.

    A view carries the person's 1:1 in its metadata; whose data is read and deleted, the signed
    press says.
    """

    def __init__(
        self, client: Client, people: People, config: Config, host: Host, tasks: BackgroundTasks
    ) -> None:
        self._client = client
        self._people = people
        self._config = config
        self._host = host
        self._tasks = tasks

    def open(self, envelope: Envelope) -> None:
        """Fill the tab of the app that somebody opens, in the background. It stands in their 1:1
        with the bot."""
        event = envelope.event
        user, channel = event.user, event.channel
        if not user or not channel:
            return
        self._people.note_direct(user, channel)
        if event.tab == "messages":
            self._tasks.start(self._suggest_prompts(user, channel))
        elif event.tab == "home":
            conversation = Chat(envelope.team, channel, account=self._host.account).conversation
            self._tasks.start(self._publish(conversation, user))

    async def press(self, pressed: ViewPress) -> None:
        """Delete what a button names, or give its command; then publish the tab anew in the
        background.

        Raises:
            StoreUnavailable: nothing was deleted.
        """
        action, user = pressed.actions[0], pressed.user
        conversation, overviews = pressed.view.private_metadata, self._host.overviews
        is_direct = self._is_direct(conversation)
        if overviews is None or not is_direct or not self._config.allows_user(user.id):
            return
        kept = action.action_id.removeprefix(PREFIX)
        event = _event(conversation, Author(user.id))
        if not await overviews.delete_kept(conversation, event, kept, action.value):
            event = _event(conversation, await self._people.find_soon(user.id))
            for shown in await overviews.overview(conversation, event):
                if shown.command and shown.action == kept:
                    await self._give(shown.command, conversation, user, action.action_ts)
                    return
        self._tasks.start(self._publish(conversation, user.id, pressed.view.hash))

    def _is_direct(self, conversation: str) -> bool:
        """Whether it is a 1:1 of this account."""
        is_ours = channel_of(conversation) == self._host.channel("slack")
        return is_ours and DIRECT.fullmatch(conversation) is not None

    async def _give(self, command: KeptCommand, conversation: str, user: Presser, at: str) -> None:
        """Give a command in the person's 1:1, where its answer goes."""
        chat = chat_of(conversation)
        words = (Text(command.words),)
        message_id = chat.message_id(f"{at}:home")
        message = Message(message_id, "user", words, ms(at), author=user.author)
        address = write_address(Address(chat.channel, user=user.id, team=chat.team))
        if await self._host.accept(conversation, InboundEvent(message, address)):
            self._tasks.start(self._publish_notice(command, conversation, user.id))

    async def _suggest_prompts(self, user: str, channel: str) -> None:
        """Suggest prompts in the messages tab once a day, as people open it so often. Slack drops
        prompts that name a thread there. A failure is ignored."""
        texts = self._host.texts
        with suppress(DeliverLater, StoreUnavailable):
            key = f"{self._host.channel('slack')}:welcomed:{channel}:{user}"
            if await self._host.kv.incr(key, DAY_S) > 1:
                return
            language = await self._people.find_language(user)
            prompts: list[dict[str, str]] = []
            for number in PROMPTS:
                title = texts.get(f"slack.prompt_{number}_title", language)
                message = texts.get(f"slack.prompt_{number}_message", language)
                prompts.append({"title": title, "message": message})
            await self._client.post(
                "assistant.threads.setSuggestedPrompts",
                channel_id=channel,
                title=texts.get("slack.prompts", language),
                prompts=prompts,
            )

    async def _publish(self, conversation: str, user: str, view_hash: str = "") -> None:
        """Publish the tab as it stands; where another press was faster, as it stands then. Failures
        are only logged."""
        if (overviews := self._host.overviews) is None:
            return
        person = (await self._people.find([user]))[user]
        try:
            blocks = await self._tab(overviews, conversation, person)
            cause = await self._send(conversation, user, blocks, view_hash)
            if cause == CONFLICT:
                blocks = await self._tab(overviews, conversation, person)
                cause = await self._send(conversation, user, blocks)
        except StoreUnavailable as failure:
            cause = str(failure)
        if cause:
            log.warning("slack.home_not_published", cause=cause)

    async def _publish_notice(self, command: KeptCommand, conversation: str, user: str) -> None:
        """Take everything off a tab whose command has been given: Slack keeps the last view."""
        if cause := await self._send(conversation, user, [section(command.given)]):
            log.warning("slack.home_not_published", cause=cause)

    async def _send(
        self, conversation: str, user: str, blocks: Sequence[Block], view_hash: str = ""
    ) -> str:
        """Publish these blocks; the cause if that failed."""
        view = {"type": "home", "private_metadata": conversation, "blocks": blocks}
        return await self._client.try_post(
            "views.publish", user_id=user, view=view, hash=view_hash or None
        )

    async def _tab(self, overviews: Overviews, conversation: str, person: Author) -> list[Block]:
        """What features show, sections with a command last."""
        language = preferred_language(person.locale, self._host.language)
        if not self._config.allows_user(person.id):
            return [section(self._host.texts.get("slack.not_allowed", language))]
        shown = await overviews.overview(conversation, _event(conversation, person))
        blocks: list[Block] = []
        for kept in sorted(shown, key=lambda one: one.command is not None):
            blocks.append({"type": "header", "text": plain(kept.title)})
            blocks += self._rows(kept, language)
            if kept.command:
                texts = kept.command.question._asdict()
                confirm = {part: plain(text) for part, text in texts.items()} | {"style": "danger"}
                gives = button(kept.label, f"{PREFIX}{kept.action}", style="danger")
                blocks.append({"type": "actions", "elements": [gives | {"confirm": confirm}]})
        return blocks

    def _rows(self, kept: KeptSection, language: str) -> Iterator[Block]:
        """A row with a button for each item; before those of a channel, a line that names it."""
        if not kept.items:
            yield section(kept.empty)
        count, shown, place = 0, 0, ""
        for item in kept.items:
            channel = chat_of(item.place).channel
            is_named = channel[:1] in ("C", "G") and item.place != place
            count += 2 if is_named else 1
            if count > MOST_ROWS:
                break
            if is_named:
                where = f"{self._host.texts.get('slack_home.in_channel', language)} <#{channel}>"
                yield {"type": "context", "elements": [{"type": "mrkdwn", "text": where}]}
            delete = button(kept.label, f"{PREFIX}{kept.action}", item.key)
            yield section(item.text[:LONGEST]) | {"accessory": delete}
            shown, place = shown + 1, item.place
        if hidden := len(kept.items) - shown:
            values = {"count": hidden, "word": kept.word}
            yield context(self._host.texts.get("slack_home.more", language, **values))


def _event(conversation: str, person: Author) -> InboundEvent:
    """Stands for the person who opens or presses, where a person is asked for by their event."""
    return InboundEvent(Message(f"{conversation}:home", "user", (), 0, author=person))


class Forms:
    """Opens the forms of cards, for the asker and for APPROVERS: a button of the card's message
    does."""

    def __init__(self, client: Client, config: Config, host: Host, reader: Reader) -> None:
        self._client = client
        self._config = config
        self._reader = reader
        self._settings_of = host.settings_of
        self._kv = host.priority_kv
        self._texts = host.texts
        self._language = host.language

    async def open(self, pressed: Press) -> None:
        """Show the whole card, or say why not. Failures are only logged.

        Slack takes the press's trigger for three seconds, so nothing is looked up but the card.
        """
        conversation, key = pressed.actions[0].block_id, pressed.actions[0].value
        try:
            known = await read_open(conversation, self._kv)
        except StoreUnavailable as failure:
            log.warning("slack.modal_not_opened", cause=str(failure))
            return
        language = known.language if known else self._language
        if known is None or known.card.key != key or known.is_whole:
            await self._tell(pressed, "card.over", language)
        elif pressed.user.id not in self._deciders(conversation, known.card.asker_id):
            await self._tell(pressed, "card.not_yours", language)
        else:
            view = self._view(known, conversation, self._reader.address_of(pressed))
            if cause := await self._client.try_post(
                "views.open", trigger_id=pressed.trigger_id, view=view
            ):
                log.warning("slack.modal_not_opened", cause=cause)
                await self._tell(pressed, "slack.review_late", language)

    def _deciders(self, conversation: str, asker: str) -> Collection[str]:
        approvers = self._settings_of(conversation, asker).approvers
        return {asker, *(self._config.approvers if approvers is None else approvers)}

    def read_press(self, pressed: ViewPress) -> ReceivedEvent | None:
        """The event of a button in a form; None for a button that is not ours."""
        try:
            address = read_address(pressed.view.private_metadata)
        except UNREADABLE:
            return None
        return self._reader.read_press(pressed.actions[0], pressed.user, address)

    async def close(self, pressed: ViewPress, decided: ReceivedEvent) -> None:
        """Take the buttons off a form whose press is stored. Failures are only logged."""
        language = read_address(decided.event.address).language or self._language
        view = self._modal([section(self._texts.get("slack.review_taken", language))], language)
        if cause := await self._client.try_post("views.update", view_id=pressed.view.id, view=view):
            log.warning("slack.modal_not_closed", cause=cause)

    async def _tell(self, pressed: Press, key: str, language: str) -> None:
        """Say a sentence to the person who pressed, alone."""
        if self._config.is_slack_url(pressed.response_url):
            await self._client.try_respond(pressed.response_url, self._texts.get(key, language))

    def _view(self, known: OpenCard, conversation: str, below: Address) -> Block:
        """The whole card with its buttons. The metadata says where its message stands."""
        where = replace(below, private_url="", language=known.language)
        blocks = [
            waiting_block(known, self._texts, True),
            button_row(known.card.buttons, conversation, decides=True),
        ]
        return self._modal(blocks, known.language) | {"private_metadata": write_address(where)}

    def _modal(self, blocks: list[Block], language: str) -> Block:
        title = self._texts.get("slack.review_title", language)
        return modal(title, self._texts.get("slack.review_close", language), blocks)


def asks_for_form(pressed: Press, channel: str) -> bool:
    """Whether the button is the one that opens a form, of a card of this channel."""
    action = pressed.actions[0]
    is_ours = action.action_id == OPEN and is_conversation(action.block_id, channel)
    return is_ours and bool(pressed.trigger_id)
