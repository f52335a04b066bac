"""The form of a reply in LINE: plain bubbles, and the buttons that go with them."""

from __future__ import annotations

from bot.channels import Reply
from bot.channels.line.address import Place
from bot.channels.line.approvals import asked
from bot.channels.line.bubble import Bubble, Button
from bot.channels.line.markdown import plain
from bot.channels.line.splitting import BUBBLES, LIMIT, bubbles, split
from bot.errors import DeliveryRefused
from bot.texts import Texts, language_of

MOST = (
    BUBBLES + 2
) * LIMIT  # UTF-16 code units that are given a form: with their marks gone they still fill the bubbles
OFFERS = {"greeting": ("weather", "time", "sum", "help"), "help": ("weather", "time", "sum")}


class Form:
    """Gives replies their form.

    Args:
        language: of our own words, where those around them have none.
    """

    def __init__(self, texts: Texts, language: str) -> None:
        self._texts = texts
        self._language = language

    def of(self, reply: Reply, place: Place) -> list[Bubble]:
        """The reply as at most five messages; of a very long one the beginning.

        Raises:
            DeliveryRefused: it has no words.
        """
        whole = reply.text.strip()
        written = next(split(whole, MOST))
        text = plain(written) or written
        is_group = place.kind != "user"
        if reply.question:
            # The first line is ours; the arguments below it may be in any language.
            language = language_of(text.partition("\n")[0], self._language)
            return asked(text, reply.question, self._texts, language, is_group=is_group)
        language = language_of(text, self._language)
        more = self._texts.get("line.more", language)
        pieces = bubbles(text, more, goes_on=len(written) < len(whole))
        if not pieces:
            raise DeliveryRefused("there are no words in it")
        offers = ("more",) if pieces[-1].endswith(more) else OFFERS.get(reply.kind, ())
        # What a button says comes without a mention, and so is not heard where several talk.
        quick = () if is_group else tuple(self._button(name, language) for name in offers)
        return [*map(Bubble, pieces[:-1]), Bubble(pieces[-1], quick=quick)]

    def _button(self, name: str, language: str) -> Button:
        label = self._texts.get(f"line.label_{name}", language)
        return Button(label, self._texts.get(f"line.say_{name}", language))
