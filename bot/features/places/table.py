"""One ``[[place]]``: whom it matches, how narrowly, and what it sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bot.settings.types import ModelName, TimeZone, names_of
from bot.store.keys import digest_of
from bot.transcript import account_of, platform_of
from toolset.tool import Risk

WILD = re.compile(r"\[[^\]]*\]|[*?]")
SLACK_THREAD = re.compile(r"(slack[^:]*:[^:]*:[^:]+):[^:]+")
WHERE = ("platform", "account", "conversation", "person")
LONGEST_PERSONA = 64 * 1024


def _patterns(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Pattern = Annotated[str, Field(max_length=200)]  # a longer one may take minutes
Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(_patterns), Field(max_length=100)]
Models = Annotated[tuple[ModelName, ...], BeforeValidator(names_of)]
Ids = Annotated[tuple[Pattern, ...], BeforeValidator(names_of), Field(max_length=1_000)]


class Whom(NamedTuple):
    """A conversation, and a person there, as patterns name them.

    Attributes:
        account: its name, also without the workspace of a Slack app that is in several.
        conversation: its id, and that of the Slack channel of a thread.
        person: empty where nobody is known.
    """

    platform: tuple[str, ...]
    account: tuple[str, ...]
    conversation: tuple[str, ...]
    person: tuple[str, ...]


def whom(conversation: str, person: str) -> Whom:
    """Whom patterns are compared with."""
    thread = SLACK_THREAD.fullmatch(conversation)
    ids = (conversation, thread[1]) if thread else (conversation,)
    people = (person,) if person else ()
    account = account_of(conversation)
    accounts = account, account.partition(".")[0]
    return Whom((platform_of(conversation),), accounts, ids, people)


class Rank(NamedTuple):
    """How narrowly a table matches; the lowest counts.

    Attributes:
        scope: person and conversation, conversation, person, account, platform, everybody.
        is_pattern: the id itself stands before a pattern.
        literals: the characters of the pattern that stand for themselves, negative.
        number: of the table in the file.
    """

    scope: int
    is_pattern: bool
    literals: int
    number: int


# By scope, what of a table says how narrow it is.
SCOPES = (("person", "conversation"), ("conversation",), ("person",), ("account",), ("platform",))


class Place(BaseModel):
    """The fields of a table; what is not set is that of a wider table, or as everywhere."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    platform: Patterns | None = None
    account: Patterns | None = None
    conversation: Patterns | None = None
    person: Patterns | None = None
    persona: str | None = Field(default=None, max_length=LONGEST_PERSONA)
    persona_file: str | None = None
    persona_mode: Literal["add", "replace"] | None = None
    model: ModelName | None = None
    fallbacks: Models | None = None
    tools: Ids | None = None
    risk: dict[str, Risk] | None = None
    speak: Literal["mention", "thread", "all", "never"] | None = None
    bots: Ids | None = None
    language: Literal["en", "ja"] | None = None
    time_zone: TimeZone | None = None
    tokens: int | None = Field(default=None, ge=1)
    dollars: float | None = Field(default=None, ge=0.01, le=1_000_000)
    reviewers: Annotated[Models, Field(max_length=5)] | None = None
    approvers: Ids | None = None

    @property
    def key(self) -> str:
        """Names those whom the table matches."""
        return digest_of(repr([getattr(self, name) for name in WHERE]))

    def rank(self, asked: Whom, number: int) -> Rank | None:
        """How narrowly it matches; None if it does not."""
        found: dict[str, tuple[bool, int]] = {}
        for name in WHERE:
            if (patterns := getattr(self, name)) is None:
                continue
            matching = list(_matching(patterns, getattr(asked, name)))
            if not matching:
                return None
            found[name] = min(matching)
        for scope, names in enumerate(SCOPES):
            if all(name in found for name in names):
                pairs = [found[name] for name in names]
                literals = sum(literals for _, literals in pairs)
                return Rank(scope, any(wild for wild, _ in pairs), literals, number)
        return Rank(len(SCOPES), False, 0, number)

    def patterns(self) -> Iterator[tuple[str, str]]:
        """Each pattern with what it is compared with."""
        for name in WHERE:
            for pattern in getattr(self, name) or ():
                yield name, pattern


def _matching(patterns: Sequence[str], values: Sequence[str]) -> Iterator[tuple[bool, int]]:
    """Of each pattern that matches one of the values, whether it is one, and its literals."""
    for pattern in patterns:
        # An id needs no regular expression, of which thousands would be made.
        is_wild = WILD.search(pattern) is not None
        if any(fnmatchcase(one, pattern) for one in values) if is_wild else pattern in values:
            yield is_wild, -len(WILD.sub("", pattern))


class Set(NamedTuple):
    """A value and the table that sets it, by its number in the file, from 0."""

    value: Any
    number: int


def resolve(places: Sequence[Place], conversation: str, person: str) -> dict[str, Set]:
    """By field, the value of the narrowest table that sets it."""
    asked = whom(conversation, person)
    ranks = [place.rank(asked, number) for number, place in enumerate(places)]
    found: dict[str, Set] = {}
    for rank in sorted(filter(None, ranks)):
        for name, value in places[rank.number]:
            if value is not None and name not in WHERE:
                found.setdefault(name, Set(value, rank.number))
    return found
