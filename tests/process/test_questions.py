"""A tool that acts, asked for at a terminal; and turns that are stopped there."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.texts import load
from tests.fakes.gemini import KEY, GeminiFake
from tests.process.kaiwa_process import left_behind
from tests.process.terminal import CTRL_C, PROMPT, Terminal, piped
from tests.process.test_restarts import write_acting_tool
from tests.project import environment
from tests.waiting import until

WORDS = load().table("terminal", "en")


@pytest.fixture
def variables(tmp_path: Path, gemini: GeminiFake) -> dict[str, str]:
    """A tool of the operator's that acts: it writes down each call."""
    write_acting_tool(tmp_path / "tools", tmp_path / "done")
    return environment(
        KAIWA_DATA_DIR=str(tmp_path / "data"),
        TOOLS_DIR=str(tmp_path / "tools"),
        GEMINI_API_KEY=KEY,
        GOOGLE_GEMINI_BASE_URL=gemini.base_url,
        TERM="xterm-256color",
        LANG="C.UTF-8",
    )


@pytest.fixture
def terminal(tmp_path: Path, variables: dict[str, str]) -> Iterator[Terminal]:
    """A terminal at its prompt; whatever happens there, no process stays."""
    terminal = Terminal(variables)
    terminal.see(PROMPT)
    yield terminal
    terminal.close()
    assert left_behind(tmp_path) == []


def test_the_next_line_at_the_terminal_decides(
    terminal: Terminal, tmp_path: Path, gemini: GeminiFake
) -> None:
    """The prompt is back after the question; a no is read by the model with the words, a yes makes
    the call."""
    for text in ("hello", "bye"):
        gemini.call("shout", {"text": text})
        gemini.say(f"Answer to {text}.")
    drawn = terminal.say("shout hello")
    assert drawn.startswith("shout hello\n\n? shout\n  ▸ text: hello\n  May I do this?")
    terminal.say("not so loud")
    assert "Answer to hello." in terminal.newest
    assert "rejected by the user" in terminal.newest
    assert not (tmp_path / "done").exists()
    terminal.say("shout bye")
    assert "Answer to bye." in terminal.say("yes")
    assert (tmp_path / "done").read_text("utf-8") == "bye"
    assert terminal.leave() == 0


def test_a_question_is_asked_again_by_the_next_run(
    terminal: Terminal, tmp_path: Path, variables: dict[str, str], gemini: GeminiFake
) -> None:
    """Until when it can be answered is told on leaving; nothing typed before it could be read
    answers it."""
    gemini.call("shout", {"text": "hello"})
    gemini.say("Done.")
    terminal.say("shout hello")
    assert terminal.leave() == 0
    assert "The question stays open until" in terminal.text
    again = Terminal(variables)
    again.see("May I do this")
    again.see(PROMPT)
    assert "Done." in again.say("yes")
    assert again.leave() == 0
    assert (tmp_path / "done").read_text("utf-8") == "hello"


def test_what_was_typed_ahead_does_not_decide(
    terminal: Terminal, tmp_path: Path, gemini: GeminiFake
) -> None:
    """Whoever typed it had not read the question."""
    gemini.call("shout", {"text": "hello"})
    gemini.say("As you like.")
    terminal.type("shout hello\ryes\r")
    terminal.see("May I do this")
    terminal.see(PROMPT)
    assert "As you like." in terminal.say("no")
    assert not (tmp_path / "done").exists()
    assert terminal.leave() == 0


async def test_a_pipe_answers_with_its_next_line(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake
) -> None:
    """Without one the question stays open, which is told beside the answers and by the exit
    code."""
    gemini.call("shout", {"text": "hello"})
    gemini.say("Done.")
    chat = await piped(variables)
    out, err = await chat.communicate(b"shout hello\n")
    assert (chat.returncode, out) == (1, b"")
    assert "? shout\n  ▸ text: hello\n" in err.decode()
    assert "The question stays open until" in err.decode()
    chat = await piped(variables)
    out, _ = await chat.communicate(b"yes\n")
    assert (chat.returncode, out) == (0, b"Done.\n")
    assert (tmp_path / "done").read_text("utf-8") == "hello"


def test_stop_at_the_prompt_ends_the_answer_that_was_left(
    terminal: Terminal, gemini: GeminiFake
) -> None:
    """Ctrl-C goes back to the prompt, /stop ends what goes on behind it; it is said once."""
    gemini.stall()
    gemini.say("Here I am.")
    terminal.type("tell me a story\r")
    asyncio.run(until(lambda: bool(gemini.requests), 20))
    terminal.type(CTRL_C)
    terminal.see(PROMPT)
    assert terminal.say("/stop") == "/stop\n\nStopped.\n\n"
    assert terminal.say("are you there?") == "are you there?\n\nHere I am.\n\n"
    assert terminal.kill(signal.SIGTERM) == 0
