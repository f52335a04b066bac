"""What is typed where Python has no line editing; with it, whole terminals are tested
(tests/process/test_chat.py)."""

from __future__ import annotations

import os
import sys
import termios

import pytest

from bot.terminal.keyboard import LOCAL_MODES, discard_typeahead, read_lines


def test_lines_are_read_without_readline(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plain prompt for each, until Ctrl-D; while a line is answered the terminal does not
    echo."""
    monkeypatch.setitem(sys.modules, "readline", None)
    screen, keyboard = os.openpty()
    os.write(screen, b"hello\nworld\n\x04")
    echoed = []
    with os.fdopen(keyboard) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        lines = read_lines(["before"])
        for line in lines:
            echoed.append((line, bool(termios.tcgetattr(terminal)[LOCAL_MODES] & termios.ECHO)))
        assert termios.tcgetattr(terminal)[LOCAL_MODES] & termios.ECHO
    os.close(screen)
    assert echoed == [("hello", False), ("world", False)]
    assert capsys.readouterr().out == "› › › \n"


def test_what_was_typed_ahead_can_be_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line typed before a question could be read must not answer it."""
    monkeypatch.setitem(sys.modules, "readline", None)
    screen, keyboard = os.openpty()
    with os.fdopen(keyboard) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        os.write(screen, b"yes\n")
        discard_typeahead()
        os.write(screen, b"no\n\x04")
        assert list(read_lines([])) == ["no"]
    os.close(screen)
