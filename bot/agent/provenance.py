"""Where the addresses of a request come from, and which of them may be opened or shown.

While a request holds something private and something that a stranger may have written, text could
have the model put the one into an address of the other. Then an address must be given by the asker
or found in a result; every other one is composed. All is a function of the messages, so that it is
the same in another process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

from bot.agent.turn import Turn
from bot.safe_text.addresses import key_of, keys_in, may_be_opened, place_of, strings_in
from bot.safe_text.glyphs import invisible
from bot.safe_text.links import LinkFilter
from bot.transcript import (
    NOT_GROUNDED,
    Media,
    Message,
    ToolCall,
)
from toolset.tool import EVERY, ToolDefinition
from toolset.tool_map import ToolMap

MOST_OPENED = 3  # found addresses, of a turn
MOST_SHOWN = 5  # found addresses, of an answer
QUOTED = ">"  # begins a line that somebody else wrote


class Provenance:
    """The addresses of a turn, as far as it has come.

    Args:
        tools: those of the place.
    """

    def __init__(self, turn: Turn, tools: ToolMap) -> None:
        self._asker = turn.asker.id
        self._history = turn.history
        self._added: Sequence[Message] = tuple(turn.added)
        self._grounding = turn.grounding
        self._tools = tools

    @cached_property
    def is_judged(self) -> bool:
        """Whether addresses matter: the request holds something private, and something strange."""
        return self._is_private and self._is_strange

    @property
    def _is_private(self) -> bool:
        """Whether it holds more than the asker's newest message and results that are public."""
        if self._history:
            return True
        asked = [message for message in self._added if message.role == "user"]
        if len(asked) > 1 or any(
            one.quotes or one.is_scheduled or _has_quoted_lines(one) for one in asked
        ):
            return True
        results = (result for message in self._added for result in message.results)
        tools = (self._tools.get(result.name) for result in results)
        return not all(tool is not None and tool.definition.public for tool in tools)

    @property
    def _is_strange(self) -> bool:
        """Whether it holds what somebody else than the asker may have written, also by way of the
        model."""
        if self._grounding != NOT_GROUNDED:
            return True
        for message in (*self._history, *self._added):
            if message.results or message.footer:
                return True
            if message.role == "user" and (
                message.quotes
                or not self._is_askers(message)
                or any(isinstance(part, Media) for part in message.parts)
                or _has_quoted_lines(message)
            ):
                return True
        return False

    @cached_property
    def _given(self) -> frozenset[str]:
        """The keys of addresses in the asker's own lines."""
        own = (message for message in (*self._history, *self._added) if self._is_askers(message))
        lines = (
            line
            for message in own
            for line in message.text.splitlines()
            if not line.startswith(QUOTED)
        )
        return frozenset(key for line in lines for key in keys_in(line))

    @cached_property
    def _grounded(self) -> frozenset[str]:
        """The keys of pages that the vendor's own search has found."""
        return frozenset(key for source in self._grounding.sources for key in keys_in(source.url))

    @cached_property
    def _found(self) -> frozenset[str]:
        """The keys of addresses in results of this turn, and in a message that came at its time,
        which holds no composed one.

        What the model has written in a call before is not found in the result, which may repeat it.
        """
        found, written = set(self._grounded), self._written_before()
        for message in self._added:
            if message.is_scheduled:
                found.update(keys_in(message.text))
            written.update(key for key in _keys_of_calls(message) if key not in found)
            for result in message.results:
                found.update(key for key in _keys(result.response) if key not in written)
        return frozenset(found)

    def _written_before(self) -> set[str]:
        """The addresses that the model has composed in calls of earlier turns.

        A server may keep them, and name them in a result of this turn.
        """
        written = {key for message in self._history for key in _keys_of_calls(message)}
        known: set[str] = set(self._given) if written else set()
        composed: set[str] = set()
        for message in self._history if written else ():
            composed.update(key for key in _keys_of_calls(message) if key not in known)
            for result in message.results:
                known.update(key for key in _keys(result.response) if key not in composed)
        return composed

    def composed_in(self, call: ToolCall, tool: ToolDefinition) -> str:
        """The first address that the call would open and may not without a person; empty if there
        is none."""
        if not tool.addresses or not self.is_judged:
            return ""
        opened = self._opened_before(call)
        for address in _opened_by(call, tool):
            place = place_of(key_of(address))
            if place in self._given:
                continue
            if place in self._found:
                opened.add(place)
            if place not in self._found or len(opened) > MOST_OPENED:
                return address
        return ""

    def composed_to_keep(self, call: ToolCall, tool: ToolDefinition) -> str:
        """The first address that the call would store, and that is composed: later it would pass
        for found."""
        if not (tool.own and tool.writes) or not self.is_judged:
            return ""
        known = self._given | self._found
        return next((key for key in _stored_keys(call.arguments) if key not in known), "")

    def link_filter(self, withheld: str, *, searches: bool = False) -> LinkFilter | None:
        """What takes the composed links out of one answer, and those found beyond five; None where
        all are shown.

        Args:
            searches: the answer is being written, and the vendor may still search: then nothing is
                shown from the first composed link on, as only the answer's end tells whether it
                has.
        """
        if not (self.is_judged or (searches and self._is_private)):
            return None
        shown: set[str] = set()

        def allows(key: str) -> bool:
            if key in self._given or key in self._grounded or key in shown:
                return True
            if key not in self._found or len(shown) >= MOST_SHOWN:
                return False
            shown.add(key)
            return True

        return LinkFilter(allows, withheld, stops=not self.is_judged)

    def _opened_before(self, call: ToolCall) -> set[str]:
        """The found places that earlier calls of the turn open."""
        places: set[str] = set()
        calls = (other for message in self._added for other in message.calls)
        for other in takewhile(lambda other: other.id != call.id, calls):
            if (tool := self._tools.get(other.name)) is not None:
                opened = _opened_by(other, tool.definition)
                places.update(place_of(key_of(address)) for address in opened)
        return (places & self._found) - self._given

    def _is_askers(self, message: Message) -> bool:
        """Whether the asker has written the message; what comes at its time is the model's text."""
        if message.role != "user" or message.is_note or message.is_scheduled:
            return False
        author = message.author.id if message.author else ""
        return author == self._asker and bool(author or message in self._added)


def _has_quoted_lines(message: Message) -> bool:
    text = message.text
    return text.startswith(QUOTED) or f"\n{QUOTED}" in text


def _opened_by(call: ToolCall, tool: ToolDefinition) -> Iterable[str]:
    """The addresses that a call opens."""
    if tool.addresses == EVERY:
        return (text for text in strings_in(call.arguments) if may_be_opened(text))
    return (str(call.arguments[name]) for name in tool.addresses if name in call.arguments)


def _keys_of_calls(message: Message) -> Iterator[str]:
    for call in message.calls:
        yield from _keys(call.arguments)


def _stored_keys(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The keys of the addresses in arguments, also as the store keeps them: without what nobody
    sees."""
    for text in strings_in(arguments):
        yield from keys_in(text)
        hidden = invisible(text)
        yield from keys_in("".join(letter for at, letter in enumerate(text) if at not in hidden))


def _keys(value: Mapping[str, Any]) -> Iterator[str]:
    for text in strings_in(value):
        yield from keys_in(text)
