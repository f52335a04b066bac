"""The values that a set-up asks for: from the environment, the keyboard or standard input, never
from arguments, which other users of the machine can read."""

from __future__ import annotations

import re
import sys
import termios
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import uvloop

from bot.checks import CheckResult
from bot.cli.as_typed import as_typed
from bot.cli.prepare import print_report
from bot.cli.setup.env_file import write_values
from bot.settings import env_file_values, environment_value

LONGEST = 2_000  # characters of a value
# What values are made of: letters, digits, and signs that no form of a file gives a meaning.
VALUE = re.compile(r"[A-Za-z0-9_.:/+=~@%,-]+")
NAMED = re.compile(r"(?:export )?\s*([A-Z][A-Z0-9_]*)\s*=\s*(.*)")
QUOTES = "\"'"


class GivenUp(Exception):
    """The set-up ends; what is wrong has been said."""


@dataclass(frozen=True, slots=True)
class Question:
    """A value that is asked for.

    Attributes:
        variables: one of them takes it.
        test: what the platform says of it; a failure has it asked for again.
        is_secret: what is typed is not shown.
    """

    variables: tuple[str, ...]
    test: Callable[[str], Coroutine[Any, Any, Sequence[CheckResult]]]
    is_secret: bool = True

    @property
    def name(self) -> str:
        """The variables as people read them."""
        return " or ".join(self.variables)


def say(text: str = "") -> None:
    """Print something for the operator, its commands as they can be typed here."""
    print(as_typed(text), flush=True)


class Answers:
    """Asks, and writes what its tests have taken.

    Attributes:
        is_terminal: somebody is there who can answer again.
    """

    def __init__(self) -> None:
        self.is_terminal = sys.stdin.isatty()
        self._in_file = env_file_values()
        self._given: dict[str, str] = {}  # on standard input, before it was asked for

    def knows(self, *variables: str) -> bool:
        """Whether the environment or ``.env`` has one of these."""
        return any(environment_value(name) or self._in_file.get(name) for name in variables)

    def ask(self, question: Question) -> str:
        """A value that its test has taken. The environment comes first, for it wins over ``.env``;
        of ``.env`` a value is offered.

        Raises:
            GivenUp: the value is wrong or missing, and nobody is there to give another.
            EOFError: the keyboard has said no more.
        """
        for name in question.variables:
            if value := environment_value(name):
                say(f"{name} is set in the environment.")
                if _takes(question, value):
                    return value
                say(f"The environment wins over .env: correct {name} there, or unset it.")
                raise GivenUp
        in_file = [self._in_file[name] for name in question.variables if name in self._in_file]
        known = in_file[0] if in_file else ""
        what = "Enter keeps the one in .env"
        while True:
            typed = self._read(question, what if known else "")
            known, what = typed or known, "Enter tries the same again"
            if known and _takes(question, known):
                return known
            if not known:
                _say_missing(question)
            if not self.is_terminal:
                raise GivenUp

    def choose(self, prompt: str) -> str:
        """A word or nothing, from the keyboard."""
        return self._read_line(prompt).strip()

    def write(self, values: Mapping[str, str]) -> None:
        """Write values into ``.env``.

        Raises:
            SettingsError: the file cannot be written.
        """
        write_values(values)
        self._in_file |= values
        is_one = len(values) == 1
        written = f"{', '.join(values)} {'is' if is_one else 'are'} written, for your eyes only"
        print_report([CheckResult("ok", ".env", written)])

    def _read(self, question: Question, offer: str) -> str:
        """What is typed or piped; empty for nothing."""
        if not self.is_terminal:
            return self._read_pipe(question)
        details = [*(["not shown"] if question.is_secret else []), *([offer] if offer else [])]
        hint = f" ({'; '.join(details)})" if details else ""
        with _hidden() if question.is_secret else nullcontext():
            typed = self._read_line(f"{question.name}{hint}: ")
        return _value_in(typed, question.variables)

    def _read_line(self, prompt: str) -> str:
        print(prompt, end="", flush=True)
        line = sys.stdin.readline(LONGEST * 2)
        if not line.endswith("\n"):
            raise EOFError
        return line

    def _read_pipe(self, question: Question) -> str:
        """The next line, or one that has named the variable; lines with other names are kept."""
        while not self._given.keys() & set(question.variables):
            line = sys.stdin.readline(LONGEST * 2)
            if not line:
                return ""
            if line.startswith("#"):
                continue
            if match := NAMED.fullmatch(line.strip()):
                self._given[match[1]] = match[2].strip(QUOTES)
                continue
            return line.strip()
        return next(self._given[name] for name in question.variables if name in self._given)


def _takes(question: Question, value: str) -> bool:
    if len(value) > LONGEST or not VALUE.fullmatch(value):
        detail = "has a blank or a sign that cannot be part of it"
        if len(value) > LONGEST:
            detail = f"has more than {LONGEST:,} characters"
        return not print_report([CheckResult("failure", question.name, detail, "copy it again")])
    return not print_report(uvloop.run(question.test(value)))


def _say_missing(question: Question) -> None:
    fix = f"type it, give it on standard input ({question.variables[0]}=…), or in the environment"
    print_report([CheckResult("failure", question.name, "is missing", fix)])


def _value_in(typed: str, variables: Sequence[str]) -> str:
    """The value of a line, which may name it as ``.env`` does."""
    match = NAMED.fullmatch(typed.strip())
    if match and match[1] in variables:
        return match[2].strip(QUOTES)
    return typed.strip()


@contextmanager
def _hidden() -> Iterator[None]:
    """The terminal shows nothing of what is typed."""
    before = termios.tcgetattr(sys.stdin)
    silent = termios.tcgetattr(sys.stdin)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        print(flush=True)
