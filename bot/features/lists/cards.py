"""A list as people see it: a card below an answer, and one whose items can be ticked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.channels import Button, ButtonCard
from bot.features.lists.store import StoredItem
from bot.store.keys import digest_of
from bot.texts import language_of
from bot.transcript import Message
from toolset.shown import MOST_ROWS, Card
from toolset.titles import words_in

TICK = "list.tick"  # the action of all buttons
PREFIX = "list_"  # of keys
MORE = {"en": "{more} more", "ja": "ほか{more}件"}


def list_card(title: str, items: Sequence[StoredItem], locale: str) -> Card | None:
    """A list, open items first where it is too long for a card; None for an empty one."""
    shown = _first(items)
    rows = tuple((str(item.number), _words(item)) for item in shown)
    note = _note(len(items) - len(shown), locale)
    return Card(title, rows, note, key_of(items[0].list_name)) if rows else None


def ticking_card(title: str, items: Sequence[StoredItem], language: str) -> ButtonCard:
    """A list of some items, each with a button that ticks it or opens it again."""
    shown, key = _first(items), key_of(items[0].list_name)
    buttons: list[Button] = []
    for item in shown:
        value = f"{key}:{item.number}:{int(not item.is_ticked)}"
        button = Button(_words(item), TICK, value, style="done" if item.is_ticked else "open")
        buttons.append(button)
    rows = tuple((button.label, "") for button in buttons)
    note = _note(len(items) - len(shown), language_of(title, language))
    return ButtonCard(title, rows, note, key, buttons=tuple(buttons))


def shown_in(messages: Iterable[Message]) -> dict[str, str]:
    """The lists that calls in these messages have shown: their titles by key."""
    titles = dict[str, str]()
    for message in messages:
        for result in message.results:
            if result.card and result.card.key.startswith(PREFIX):
                titles[result.card.key] = result.card.title
    return titles


def key_of(list_name: str) -> str:
    """The key of a list's cards."""
    return f"{PREFIX}{digest_of(list_name)}"


def _first(items: Sequence[StoredItem]) -> Sequence[StoredItem]:
    """Those that a card has room for, the open ones first where it lacks room."""
    if len(items) <= MOST_ROWS:
        return items
    return sorted(items, key=lambda item: item.is_ticked)[:MOST_ROWS]


def _words(item: StoredItem) -> str:
    return f"{'☑' if item.is_ticked else '☐'} {item.text}"


def _note(more: int, language: str) -> str:
    return words_in(language, MORE).format(more=more) if more else ""
