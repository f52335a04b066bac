"""``kaiwa chat`` on a real terminal: typed, drawn, interrupted, left and begun again."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.texts import load
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import ENTRY, kaiwa, left_behind
from tests.process.terminal import ARROW_UP, CTRL_C, CTRL_D, PROMPT, Terminal, piped
from tests.project import environment
from tests.waiting import until

WORDS = load().table("terminal", "en")


@pytest.fixture
def variables(tmp_path: Path, gemini: GeminiFake, wttr: WttrFake) -> dict[str, str]:
    """Gemini and the weather on this machine, data in the test's folder."""
    return environment(
        KAIWA_DATA_DIR=str(tmp_path / "data"),
        GEMINI_API_KEY=KEY,
        GOOGLE_GEMINI_BASE_URL=gemini.base_url,
        WTTR_BASE_URL=wttr.base_url,
        WEATHER_TIMEOUT_S="1",
        TERM="xterm-256color",
        LANG="C.UTF-8",
    )


@pytest.fixture
def nothing_left_behind(tmp_path: Path) -> Iterator[None]:
    """Whatever happened at the terminal, no process stays."""
    yield
    assert left_behind(tmp_path) == []


Open = Callable[..., Terminal]


@pytest.fixture
def opened(nothing_left_behind: None, variables: dict[str, str]) -> Iterator[Open]:
    """Opens terminals, each at its prompt, and closes them whatever happens."""
    terminals: list[Terminal] = []

    def open_terminal(*arguments: str, ignores_interrupts: bool = False, **other: str) -> Terminal:
        terminals.append(
            Terminal(variables | other, *arguments, ignores_interrupts=ignores_interrupts)
        )
        terminals[-1].see(PROMPT)
        return terminals[-1]

    yield open_terminal
    for terminal in terminals:
        terminal.close()


def test_an_answer_with_a_tool_call(
    opened: Open, variables: dict[str, str], gemini: GeminiFake, wttr: WttrFake
) -> None:
    """The model that answers, the call with its arguments, result and time, the words; and the
    prompt is no secret."""
    wttr.place("Tokyo", temp=21)
    gemini.call("get_weather", {"location": "Tokyo"})
    gemini.say("It is 21 °C", " in **Tokyo**.")
    terminal = opened()
    assert terminal.text == f"Kaiwa · gemini:gemini-flash-latest\n{WORDS['hint']}\n\n›"
    question, _, call, result, *answer = terminal.say("How warm is it in Tokyo?").split("\n")
    assert question == "How warm is it in Tokyo?"
    assert re.fullmatch(r'✓ Weather · location="Tokyo"  \d+ ms', call)
    assert result.startswith('  {"location":"Tokyo, Japan"')
    assert answer[:4] == ["", "It is 21 °C in Tokyo.", "", "Tokyo, Japan"]  # a card follows
    assert terminal.leave() == 0
    prompt = [sys.executable, "-c", ENTRY, "chat", "--show-prompt"]
    shown = subprocess.run(prompt, env=variables, capture_output=True, text=True, check=True).stdout
    assert gemini.requests[0].body["systemInstruction"] == {
        "parts": [{"text": shown.removesuffix("\n")}]
    }


def test_a_conversation_goes_on_after_a_restart(opened: Open, gemini: GeminiFake) -> None:
    """The last exchange is shown, the model remembers, the arrow keys too; --new starts without a
    memory."""
    for text in ("Hello Hanako", "Hanako", "Again: Hanako", "Who knows?"):
        gemini.say(text)
    terminal = opened()
    terminal.say("I am Hanako")
    assert terminal.leave(CTRL_C) == 0
    terminal = opened()
    assert terminal.text.endswith("\n\n› I am Hanako\n\nHello Hanako\n\n›")
    assert terminal.say("Who am I?") == "Who am I?\n\nHanako\n\n"
    assert terminal.say(ARROW_UP) == "Who am I?\n\nAgain: Hanako\n\n"
    assert terminal.leave() == 0
    terminal = opened("--new")
    assert "Hanako" not in terminal.text
    terminal.say("Who am I?")
    terminal.type("/exit\r")
    assert terminal.ended() == 0
    assert [len(request.body["contents"]) for request in gemini.requests] == [1, 3, 5, 1]


def answering(opened: Open, gemini: GeminiFake, wttr: WttrFake, answer: str) -> Terminal:
    """A terminal whose question waits for the weather, and then for an answer."""
    wttr.fail("stalled")
    gemini.call("get_weather", {"location": "Tokyo"})
    gemini.say(answer)
    terminal = opened()
    terminal.type("Weather?\r")
    terminal.see("Weather · ")
    return terminal


def test_ctrl_c_leaves_an_answer_which_is_kept(
    opened: Open, gemini: GeminiFake, wttr: WttrFake
) -> None:
    """Back at the prompt at once; the answer is shown above it as soon as it is there."""
    terminal = answering(opened, gemini, wttr, "No weather today.")
    terminal.type(CTRL_C)
    terminal.see(PROMPT)
    assert WORDS["left"] in terminal.newest.replace("\n", " ")
    terminal.see("No weather today.")
    terminal.see(PROMPT)
    assert terminal.text.endswith(f"\n{WORDS['earlier']}\n\nNo weather today.\n\n›")
    assert terminal.leave() == 0


def test_a_reminder_comes_above_what_is_typed(opened: Open, gemini: GeminiFake) -> None:
    """At its time, with no key pressed; the line that was begun is not lost, and is sent whole."""
    gemini.call("set_reminder", {"text": "drink water", "in": "PT2S"})
    gemini.say("Set.")
    gemini.say("Hello Hanako.")
    terminal = opened()
    terminal.say("Remind me to drink water in two seconds")
    terminal.type("I am Ha")
    terminal.see("⏰ drink water")
    terminal.see(f"{PROMPT}I am Ha")
    assert terminal.text.endswith("\n\n⏰ drink water\n\n› I am Ha")
    assert terminal.say("nako") == "I am Hanako\n\nHello Hanako.\n\n"
    assert terminal.leave() == 0


def test_keys_pressed_during_an_answer_wait_for_the_prompt(
    opened: Open, gemini: GeminiFake, wttr: WttrFake
) -> None:
    """They do not get into the drawing, and are not lost."""
    terminal = answering(opened, gemini, wttr, "Done.")
    terminal.type("/he")
    terminal.see(PROMPT)
    assert "/he" not in terminal.newest
    terminal.see("/he")
    assert terminal.say("lp").startswith("/help\n\nType a message and press Enter.")
    assert terminal.leave("\x15" + CTRL_D) == 0


def test_leaving_during_an_answer_waits_for_the_prompt(
    opened: Open, gemini: GeminiFake, wttr: WttrFake
) -> None:
    """Ctrl-D is a key like any other, and not lost."""
    terminal = answering(opened, gemini, wttr, "Done.")
    assert terminal.leave() == 0
    assert terminal.text.endswith("Done.\n\n›")


def test_ctrl_c_is_heard_also_where_it_was_ignored_before(opened: Open) -> None:
    """As in a terminal that a script opens in the background."""
    assert opened(ignores_interrupts=True).leave(CTRL_C) == 0


def test_a_failure_shows_cause_and_fix(opened: Open) -> None:
    """Who sits at the terminal is the operator."""
    terminal = opened(GEMINI_API_KEY="wrong-key")
    drawn = terminal.say("hello")
    assert "I cannot reach my language model" in drawn
    assert "GEMINI_API_KEY" in drawn
    assert "wrong-key" not in drawn
    assert terminal.leave() == 0


def test_japanese_is_typed_and_answered(opened: Open, wttr: WttrFake) -> None:
    """With the demo, which says what it is; a character deleted is deleted whole."""
    wttr.place("東京", temp=21)
    terminal = opened(GEMINI_API_KEY="", LANGUAGE="ja")
    assert "デモモデル" in terminal.text
    drawn = terminal.say("東京の天気はは\x7f？")
    assert drawn.startswith("東京の天気は？\n")
    assert '天気 · location="東京"' in drawn
    assert "21" in drawn
    assert terminal.leave() == 0


def test_a_closed_window_leaves_nothing_behind(opened: Open) -> None:
    """No store runs on."""
    assert opened().kill(signal.SIGHUP) == 0


async def test_a_chat_beside_a_running_kaiwa(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake
) -> None:
    """It uses the store that runs, and leaves it running."""
    gemini.say("Here I am")
    gemini.say("Still here")
    async with kaiwa(tmp_path, "run", **variables) as running:
        chat = await piped(variables)
        out, _ = await chat.communicate("誰かいますか？\n".encode())
        assert (chat.returncode, out.decode()) == (0, "Here I am\n")
        await running.say("conversation-1", "And you?")
        assert await running.answers("conversation-1", 1) == ["Still here"]


async def test_ctrl_c_ends_a_pipe(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake
) -> None:
    """Nobody is at a prompt to go back to; the lines that follow are not said."""
    gemini.stall()
    chat = await piped(variables)
    assert chat.stdin is not None
    chat.stdin.write(b"one\ntwo\n")
    await until(lambda: bool(gemini.requests))
    chat.send_signal(signal.SIGINT)
    out, _ = await chat.communicate()
    assert (chat.returncode, out) == (128 + signal.SIGINT, b"")
    assert len(gemini.requests) == 1
    assert left_behind(tmp_path) == []
