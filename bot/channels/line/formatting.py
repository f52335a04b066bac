"""Text for LINE: a reply as messages, with its buttons."""

from __future__ import annotations

from msgspec.structs import replace

from bot.channels import Reply
from bot.channels.line.approvals import approval_messages
from bot.channels.line.polls import poll_card, poll_counts
from bot.channels.line.text import LIMIT, MAX_MESSAGES, plain_text, split, split_messages
from bot.channels.line.types import Button, Chat, LineMessage
from bot.errors import DeliveryRefused
from bot.texts import Texts, language_of

# UTF-16 code units that are formatted: without its marks, so long a text still fills the messages.
MOST = (MAX_MESSAGES + 2) * LIMIT
OFFERS = {"greeting": ("weather", "time", "sum", "help"), "help": ("weather", "time", "sum")}


class Formatter:
    """Formats replies.

    Args:
        language: of catalogue sentences, where the reply's text shows none.
    """

    def __init__(self, texts: Texts, language: str) -> None:
        self._texts = texts
        self._language = language

    def messages(self, reply: Reply, chat: Chat) -> list[LineMessage]:
        """The reply as at most three messages; a longer reply is cut and offers to go on.

        Raises:
            DeliveryRefused: the reply is empty.
        """
        if reply.poll and reply.settles:
            return [poll_counts(reply.poll, self._texts)]
        if reply.poll:
            card = poll_card(reply.poll, self._texts)
            if reply.text == reply.poll.question:
                return [card]
            *above, last = self.messages(replace(reply, poll=None), chat)
            # LINE shows the buttons of the last message alone.
            return [*above, last._replace(quick=()), card._replace(quick=last.quick)]
        whole = reply.text.strip()
        written = next(split(whole, MOST))
        text = plain_text(written) or written
        if reply.question:
            # The first line is ours; the arguments below it may be in any language.
            language = language_of(text.partition("\n")[0], self._language)
            return approval_messages(text, reply.question, self._texts, language, is_group=chat.is_group)
        language = language_of(text, self._language)
        more = self._texts.get("line.more", language)
        pieces = split_messages(text, more, goes_on=len(written) < len(whole))
        if not pieces:
            raise DeliveryRefused("there are no words in it")
        offers = ("more",) if pieces[-1].endswith(more) else OFFERS.get(reply.kind, ())
        # A button's text comes back without a mention, so in a group nobody would answer it.
        quick = () if chat.is_group else tuple(self._button(name, language) for name in offers)
        return [*map(LineMessage, pieces[:-1]), LineMessage(pieces[-1], quick=quick)]

    def _button(self, name: str, language: str) -> Button:
        label = self._texts.get(f"line.label_{name}", language)
        return Button(label, self._texts.get(f"line.say_{name}", language))
