"""The file of earlier runs, the last one of each model; and that of a run under way: every answer
as it comes, so that an interrupted run goes on where it was."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2s
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, decode, encode, format

from bot.agent.loop import Agent
from bot.errors import BadInput
from bot.evals.questions import Question
from bot.evals.report import Run
from bot.evals.runner import Attempt
from bot.transcript import UNREADABLE


class Runs(Struct, frozen=True):
    """The last run of each model."""

    runs: dict[str, Run] = {}


def read_runs(path: Path) -> Runs:
    """The runs of a file; none if there is no file.

    Raises:
        BadInput: the file holds something else.
    """
    try:
        return decode(path.read_bytes(), type=Runs)
    except FileNotFoundError:
        return Runs()
    except (DecodeError, ValidationError, OSError) as error:
        raise BadInput(
            f"--results: {path} cannot be read as results of earlier runs; name another file"
        ) from error


def keep_run(path: Path, run: Run) -> None:
    """Write a run in the place of the earlier one of its model.

    Raises:
        BadInput: it cannot be written.
    """
    runs = Runs({**read_runs(path).runs, run.model: run})
    write_file(path, format(encode(runs), indent=1) + b"\n")


def write_file(path: Path, content: bytes) -> None:
    """Replace a file as a whole, for its owner only.

    Raises:
        BadInput: it cannot be written.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        draft.touch(0o600)
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        raise BadInput(f"--results: {path} cannot be written: {error.strerror}") from error


class Head(Struct, frozen=True):
    """The first line of the file.

    Attributes:
        setup: digest of what all answers of the run have in common.
        at: when the run began, ISO 8601.
    """

    setup: str
    at: str


class Line(Struct, frozen=True):
    """An answer, with the digest of its question."""

    digest: str
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What is known of a run before it goes on.

    Attributes:
        answers: to questions that are still the same.
    """

    path: Path
    head: Head
    answers: list[Attempt]


_head = Decoder(Head).decode
_line = Decoder(Line).decode


def setup_of(name: str, agent: Agent) -> str:
    """The digest of a run's name, the system prompt and the tools."""
    tools = [
        (tool.name, tool.description, dict(tool.parameters)) for tool in agent.tools.definitions
    ]
    return blake2s(encode((name, agent.system, tools)), digest_size=8).hexdigest()


def read_unfinished(
    path: Path, head: Head, questions: Sequence[Question], repeat: int
) -> Unfinished:
    """The run in the file, if it has the same setup; else one that begins now.

    Args:
        head: of a run that begins now.
        repeat: answers to a question; more of them are left out.

    Raises:
        BadInput: the file cannot be read.
    """
    try:
        first, *lines = path.read_bytes().splitlines() or [b""]
    except FileNotFoundError:
        return Unfinished(path, head, [])
    except OSError as error:
        raise BadInput(f"--results: {path} cannot be read: {error.strerror}") from error
    with suppress(*UNREADABLE):
        found = _head(first)
        if found.setup == head.setup:
            return Unfinished(path, found, list(_answers(lines, _digests(questions), repeat)))
    return Unfinished(path, head, [])


@contextmanager
def keeping(run: Unfinished, questions: Sequence[Question]) -> Iterator[Callable[[Attempt], None]]:
    """A function that adds an answer to the file. An attempt without an answer is not kept, but
    made again.

    Raises:
        BadInput: the file cannot be written.
    """
    digests = _digests(questions)

    def line(attempt: Attempt) -> bytes:
        return encode(Line(digests[attempt.question], attempt)) + b"\n"

    # Written anew, as the last line of a killed run may be half.
    write_file(run.path, b"".join((encode(run.head) + b"\n", *map(line, run.answers))))
    with run.path.open("ab", buffering=0) as file:

        def keep(attempt: Attempt) -> None:
            with suppress(OSError):
                # A full disk takes no answer from this run.
                if not attempt.error:
                    file.write(line(attempt))

        yield keep


def _digests(questions: Sequence[Question]) -> Mapping[str, str]:
    return {question.id: question.digest for question in questions}


def _answers(lines: Sequence[bytes], digests: Mapping[str, str], repeat: int) -> Iterator[Attempt]:
    number: Counter[str] = Counter()
    for data in lines:
        with suppress(*UNREADABLE):
            line = _line(data)
            name = line.attempt.question
            if digests.get(name) == line.digest and number[name] < repeat:
                number[name] += 1
                yield line.attempt
