"""The questions of ``evals/`` and of features, and the tools' fixed results."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from hashlib import blake2s
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct, ValidationError, convert, field
from msgspec.json import encode
from msgspec.structs import replace

import evals
from bot import features
from bot.errors import BadInput

Category = Literal["one_tool", "several", "no_tool", "follow_up", "refusal", "injection"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
Response = dict[str, Any]


class Predicate(Struct, frozen=True, forbid_unknown_fields=True):
    """What an argument must be; all that is given must hold. Texts are compared without regard to
    case and width.

    Attributes:
        equals: the value.
        contains: texts that all occur in the value; of a list, in its items.
        any_of: texts of which one occurs.
        absent: the argument is left out.
    """

    equals: bool | int | float | str | list[Any] | None = None
    contains: list[str] = []
    any_of: list[str] = []
    absent: bool = False


class ExpectedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that must be made.

    Attributes:
        tool: its name, or several of which one is called.
        where: predicates by argument; of a list of these, one must hold.
    """

    tool: str | list[str]
    where: dict[str, Predicate] | list[dict[str, Predicate]] = {}

    @property
    def tools(self) -> list[str]:
        return [self.tool] if isinstance(self.tool, str) else self.tool

    @property
    def choices(self) -> list[dict[str, Predicate]]:
        """Each allows the call."""
        return self.where if isinstance(self.where, list) else [self.where]


class Exchange(Struct, frozen=True, forbid_unknown_fields=True):
    """What was said earlier in the conversation."""

    user: str
    answer: str


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """One question.

    Attributes:
        before: earlier exchanges, oldest first.
        notes: texts that features put before the question, such as what they know of the person.
        calls: calls that must be made, in any order; of other tools than these and ``may`` none is
            made.
        may: tools that may be called or not.
        says: texts that must occur in the answer; of a list, one.
        never: texts that must not occur in the answer, nor in an argument.
        results: responses of tools to this question, in place of the shared ones; ``{error = "…"}``
            fails the call.
    """

    id: str
    category: Category
    language: Literal["en", "ja"]
    ask: str
    time_zone: str = "Asia/Tokyo"
    before: list[Exchange] = []
    notes: list[str] = []
    calls: list[ExpectedCall] = []
    may: list[str] = []
    says: list[str | list[str]] = []
    never: list[str] = []
    results: dict[str, Response] = {}

    @property
    def digest(self) -> str:
        """The same as long as the question is the same."""
        return blake2s(encode(self), digest_size=8).hexdigest()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of questions; ``may`` holds for all of them, the results of tools for all that there
    are."""

    may: list[str] = []
    results: dict[str, Response] = {}
    questions: list[Question] = field(name="question", default_factory=list)


def load_questions(folder: Path | None = None) -> list[Question]:
    """All questions, by file.

    Args:
        folder: where the files are; by default ``evals/questions``, and ``evals.toml`` of features.

    Raises:
        BadInput: a file is not in this form.
    """
    paths = _paths() if folder is None else sorted(folder.glob("*.toml"))
    questions: list[Question] = []
    for path in paths:
        content = _read(path)
        for question in content.questions:
            questions.append(replace(question, may=[*question.may, *content.may]))
    return questions


def load_results() -> dict[str, Response]:
    """The responses of tools that no question has a response of its own for."""
    results: dict[str, Response] = {}
    for path in _paths():
        results |= _read(path).results
    return results


def _paths() -> list[Path]:
    of_features = sorted(Path(features.__path__[0]).glob("*/evals.toml"))
    return [*sorted(Path(evals.__path__[0]).rglob("*.toml")), *of_features]


def choose(questions: Sequence[Question], words: Sequence[str]) -> list[Question]:
    """The questions that one of the words means: by category, language or the beginning of the id;
    without words all.

    Raises:
        BadInput: there is none.
    """
    chosen = list(questions)
    if words:
        chosen = [one for one in questions if any(_is_meant(one, word) for word in words)]
    if not chosen:
        raise BadInput(
            f"--only: no question has such an id, category ({', '.join(CATEGORIES)}) or language"
        )
    return chosen


def _is_meant(question: Question, word: str) -> bool:
    return word in (question.category, question.language) or question.id.startswith(word)


def _read(path: Path) -> _File:
    try:
        return convert(tomllib.loads(path.read_text("utf-8")), _File)
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadInput(f"{path.name}: {error}") from error
