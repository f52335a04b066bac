"""Reads expressions of PromQL: whether they are well-formed, and which metrics and labels they
name. What docs/monitoring does not use is refused.

https://prometheus.io/docs/prometheus/latest/querying/basics/
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"\s*(?:(?P<duration>\d+[smhdw])\b|(?P<number>\d+(?:\.\d+)?)|(?P<name>[a-zA-Z_]\w*)"
    r'|(?P<string>"[^"\\]*")|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/<>=(){}\[\],]))'
)
OPERATORS = ("or", "unless", "and", "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/")
AGGREGATIONS = ("sum", "max", "count")
OF_RANGES = ("rate", "increase", "changes", "last_over_time")  # what reads values of some time
MATCHERS = ("=", "=~", "!=", "!~")


class Malformed(Exception):
    """An expression is none."""


@dataclass
class Expression:
    """An expression that is well-formed.

    Attributes:
        labels: of each metric, those that the expression selects or groups it by.
    """

    text: str
    labels: dict[str, set[str]] = field(default_factory=dict)
    _tokens: list[tuple[str, str]] = field(default_factory=list)
    _grouping: list[set[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rest = self.text.rstrip()
        while rest:
            found = TOKEN.match(rest)
            if not found or not found.lastgroup:
                raise Malformed(rest)
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            rest = rest[found.end() :]
        self._read_operands()
        if self._tokens:
            raise Malformed(f"more follows: {self._tokens}")

    def _next(self) -> str:
        return self._tokens[0][1] if self._tokens else ""

    def _take(self, *wanted: str) -> str:
        """The next token, which is one of these words, or of these kinds."""
        if not self._tokens or not set(wanted) & set(self._tokens[0]):
            raise Malformed(f"{wanted} is missing before {self._tokens}")
        return self._tokens.pop(0)[1]

    def _read_operands(self) -> None:
        self._read_operand()
        while self._next() in OPERATORS:
            self._take(*OPERATORS)
            self._read_operand()

    def _read_operand(self) -> None:
        if self._next() == "(":
            self._read_in_brackets()
        elif self._tokens and self._tokens[0][0] == "number":
            self._take("number")
        else:
            self._read_named(self._take("name"))

    def _read_in_brackets(self) -> None:
        self._take("(")
        self._read_operands()
        self._take(")")

    def _read_named(self, name: str) -> None:
        if name in AGGREGATIONS:
            labels = set[str]()
            if self._next() == "by":
                self._take("by")
                labels = self._read_labels()
            self._grouping.append(labels)
            self._read_in_brackets()
            self._grouping.pop()
        elif name in OF_RANGES:
            self._take("(")
            self._read_selector(self._take("name"), is_range=True)
            self._take(")")
        elif name == "histogram_quantile":
            self._take("(")
            self._take("number")
            self._take(",")
            self._read_operands()
            self._take(")")
        elif name == "vector":
            self._read_in_brackets()
        elif self._next() == "(":
            raise Malformed(f"{name} is no function that is known here")
        else:
            self._read_selector(name, is_range=False)

    def _read_labels(self) -> set[str]:
        self._take("(")
        labels = {self._take("name")}
        while self._next() == ",":
            self._take(",")
            labels.add(self._take("name"))
        self._take(")")
        return labels

    def _read_matcher(self) -> str:
        label = self._take("name")
        self._take(*MATCHERS)
        self._take("string")
        return label

    def _read_selector(self, metric: str, *, is_range: bool) -> None:
        labels = self.labels.setdefault(metric, set())
        labels.update(*self._grouping)
        if self._next() == "{":
            self._take("{")
            labels.add(self._read_matcher())
            while self._next() == ",":
                self._take(",")
                labels.add(self._read_matcher())
            self._take("}")
        if is_range:
            self._take("[")
            self._take("duration")
            self._take("]")
        if self._next() == "offset":
            self._take("offset")
            self._take("duration")
