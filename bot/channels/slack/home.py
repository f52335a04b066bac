"""The home tab: usage of the day, what is kept for the person who opens it, with deleting buttons,
and privacy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import structlog

from bot.channels import Host, InboundEvent, KeptItem, KeptSection, Overviews
from bot.channels.slack import Config
from bot.channels.slack.blocks import Block, actions, button, context, header, plain, section
from bot.channels.slack.client import Client
from bot.channels.slack.lookups import People
from bot.channels.slack.tasks import BackgroundTasks
from bot.channels.slack.types import Address, Chat, Envelope, ViewPress, chat_of, ms, write_address
from bot.errors import StoreUnavailable
from bot.texts import preferred_language
from bot.transcript import Author, Message, Text

log = structlog.stdlib.get_logger(__name__)

PREFIX = "kaiwa_home_"  # before the action of a section
FORGET = f"{PREFIX}forget"
DIRECT = re.compile(r"slack(?:@[^:]+)?:[A-Z0-9]*:D[A-Z0-9]+")
MOST_ROWS = 40  # of a section; a view takes 100 blocks
LONGEST = 600  # characters of an item
CONFLICT = "hash_conflict"


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

    async def open(self, envelope: Envelope) -> None:
        """Publish the tab that somebody opens. Failures are only logged."""
        user, channel = envelope.event.user, envelope.event.channel
        if user and channel:
            await self._publish(Chat(envelope.team, channel).conversation, user)

    async def press(self, pressed: ViewPress) -> None:
        """Delete what a button names, then publish the tab anew in the background.

        Raises:
            StoreUnavailable: nothing was deleted.
        """
        action, user, conversation = (
            pressed.actions[0],
            pressed.user.id,
            pressed.view.private_metadata,
        )
        overviews = self._host.overviews
        if (
            overviews is None
            or not DIRECT.fullmatch(conversation)
            or not self._config.allows_user(user)
        ):
            return
        if action.action_id == FORGET:
            if await self._host.accept(conversation, self._forget_me(conversation, pressed)):
                self._tasks.start(self._publish_notice(conversation, user))
            return
        event = _event(conversation, Author(user))
        kept = action.action_id.removeprefix(PREFIX)
        await overviews.delete_kept(conversation, event, kept, action.value)
        self._tasks.start(self._publish(conversation, user, pressed.view.hash))

    def _forget_me(self, conversation: str, pressed: ViewPress) -> InboundEvent:
        """The command in the person's 1:1, where its answer goes."""
        chat, at = chat_of(conversation), pressed.actions[0].action_ts
        words = Text(self._host.texts.get("words.forgets.forget", "en").partition(",")[0])
        message = Message(
            chat.message_id(f"{at}:home"), "user", (words,), ms(at), author=pressed.user.author
        )
        address = Address(chat.channel, user=pressed.user.id, team=chat.team)
        return InboundEvent(message, write_address(address))

    async def _publish(self, conversation: str, user: str, view_hash: str | None = None) -> None:
        """Publish the tab as it stands; where another press was faster, as it stands then."""
        overviews = self._host.overviews
        if overviews is None:
            return
        person = (await self._people.find([user]))[user]
        cause = CONFLICT
        try:
            for known_hash in (view_hash, None):
                if cause == CONFLICT:
                    blocks = await self._blocks(overviews, conversation, person)
                    cause = await self._send(conversation, user, blocks, known_hash)
        except StoreUnavailable as failure:
            cause = str(failure)
        if cause:
            log.warning("slack.home_not_published", cause=cause)

    async def _publish_notice(self, conversation: str, user: str) -> None:
        """Take everything off the tab of somebody who is being forgotten: Slack keeps the last
        view."""
        language = await self._people.find_language(user)
        if cause := await self._send(
            conversation, user, [section(self._text("forgetting", language))]
        ):
            log.warning("slack.home_not_published", cause=cause)

    async def _send(
        self, conversation: str, user: str, blocks: Sequence[Block], view_hash: str | None = None
    ) -> str:
        """Publish these blocks; the cause if that failed."""
        view = {"type": "home", "private_metadata": conversation, "blocks": list(blocks)}
        return await self._client.try_post("views.publish", user_id=user, view=view, hash=view_hash)

    async def _blocks(self, overviews: Overviews, conversation: str, person: Author) -> list[Block]:
        language = preferred_language(person.locale, self._host.language)
        if not self._config.allows_user(person.id):
            return [section(self._host.texts.get("slack.not_allowed", language))]
        shown = await overviews.overview(conversation, _event(conversation, person))
        return list(self._tab(shown, language))

    def _tab(self, shown: Sequence[KeptSection], language: str) -> Iterator[Block]:
        for kept in shown:
            yield header(kept.title)
            yield from self._rows(kept, language)
        yield header(self._text("privacy", language))
        yield section(self._text("kept", language, days=self._host.days))
        yield actions([self._forget_button(language)])

    def _rows(self, kept: KeptSection, language: str) -> Iterator[Block]:
        """A row with a button for each item; before those of a channel, a line that names it."""
        if not kept.items:
            yield section(kept.empty)
        rows, shown, place = list[Block](), 0, ""
        for item in kept.items:
            row = self._row(item, place, kept, language)
            if len(rows) + len(row) > MOST_ROWS:
                break
            rows, shown, place = [*rows, *row], shown + 1, item.place
        yield from rows
        if hidden := len(kept.items) - shown:
            yield context(self._text("more", language, count=hidden))

    def _row(self, item: KeptItem, before: str, kept: KeptSection, language: str) -> list[Block]:
        channel = chat_of(item.place).channel
        is_named = channel[:1] in ("C", "G") and item.place != before
        place = {"type": "mrkdwn", "text": f"{self._text('in_channel', language)} <#{channel}>"}
        named = [{"type": "context", "elements": [place]}] if is_named else []
        delete = button(kept.label, f"{PREFIX}{kept.action}", item.key)
        return [*named, section(item.text[:LONGEST]) | {"accessory": delete}]

    def _forget_button(self, language: str) -> Block:
        parts = ("title", "text", "confirm", "deny")
        confirm = {part: plain(self._text(f"forget_{part}", language)) for part in parts} | {
            "style": "danger"
        }
        return button(self._text("forget", language), FORGET, style="danger") | {"confirm": confirm}

    def _text(self, key: str, language: str, **values: object) -> str:
        return self._host.texts.get(f"slack_home.{key}", language, **values)


def _event(conversation: str, person: Author) -> InboundEvent:
    """Stands for the person who opens or presses, where a person is asked for by their event."""
    return InboundEvent(Message(f"{conversation}:home", "user", (), 0, author=person))
