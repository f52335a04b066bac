"""The log: JSON off a terminal, readable on one, ids on every line, secrets on none."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import structlog

from bot import log

pytestmark = pytest.mark.usefixtures("restored_logging")


def ours() -> Any:
    """A logger as our modules have."""
    return structlog.stdlib.get_logger("bot.x")


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What has been logged since the last look."""
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_lines_are_json_with_the_turns_ids(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours and the standard library's lines look alike, and both carry what is bound to the
    turn."""
    log.configure("INFO", [])
    with structlog.contextvars.bound_contextvars(conversation="console:a", turn="t1"):
        ours().info("model.called", ms=12)
        logging.getLogger("toolset.x").error("tool.crashed", extra={"tool": "echo"})
    first, second = lines_of(capsys)
    bound = {"conversation": "console:a", "turn": "t1"}
    assert first.items() >= {"event": "model.called", "ms": 12, **bound}.items()
    assert (
        second.items()
        >= {"event": "tool.crashed", "tool": "echo", "level": "error", **bound}.items()
    )


def test_a_secret_is_struck_out_wherever_it_turns_up(capsys: pytest.CaptureFixture[str]) -> None:
    """In fields, texts and tracebacks; JSON writes one with quotes differently."""
    log.configure("INFO", ['pa"ssword'])
    ours().error("failed", reason='pa"ssword')
    assert lines_of(capsys)[0]["reason"] == "[secret]"
    log.configure("INFO", ["hush-key", ""])
    try:
        raise RuntimeError("refused: hush-key")
    except RuntimeError:
        ours().exception("failed", url="https://x?key=hush-key")
    printed = capsys.readouterr().err
    assert "hush-key" not in printed
    assert "[secret]" in printed
    assert "RuntimeError" in printed


def test_a_secret_that_is_known_later_is_struck_out_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Tools bring theirs when they are built; the next configuration begins anew."""
    log.configure("INFO", [])
    log.hide(["tool-key"])
    ours().error("failed", reason="tool-key")
    log.configure("INFO", [])
    ours().error("failed", reason="tool-key")
    assert [line["reason"] for line in lines_of(capsys)] == [
        "[secret]",
        "tool-key",
    ]


def test_a_terminals_traceback_shows_no_variables(capsys: pytest.CaptureFixture[str]) -> None:
    """Local variables hold users' words."""
    log.configure("INFO", [], terminal=True)
    words = "what the user said"
    try:
        raise RuntimeError(len(words))
    except RuntimeError:
        ours().exception("turn crashed")
    printed = capsys.readouterr().err
    assert "RuntimeError" in printed
    assert words not in printed


def test_a_terminal_gets_readable_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Not JSON, but the same content."""
    log.configure("INFO", [], terminal=True)
    ours().info("model.called", ms=12)
    printed = capsys.readouterr().err
    assert "model.called" in printed
    assert not printed.startswith("{")


def test_libraries_keep_quiet_below_warning(capsys: pytest.CaptureFixture[str]) -> None:
    """Their INFO lines may hold URLs and bodies."""
    log.configure("DEBUG", [])
    for library in (
        "httpx",
        "httpx2",
        "openai._base_client",
        "anthropic._base_client",
        "httpcore2.connection",
    ):
        logging.getLogger(library).info("GET https://wttr.in/Tokyo")
    logging.getLogger("redis").warning("Redis is away")
    assert [line["event"] for line in lines_of(capsys)] == ["Redis is away"]


def test_a_file_takes_the_lines_in_place_of_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The terminal chat keeps its screen clean."""
    log.configure("INFO", [], file=tmp_path / "kaiwa.log")
    ours().info("turn.answered")
    assert capsys.readouterr().err == ""
    assert json.loads((tmp_path / "kaiwa.log").read_text())["event"] == "turn.answered"


def test_a_line_below_the_level_is_not_made(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody asks what its values look like."""

    class Unspeakable:
        def __repr__(self) -> str:
            raise AssertionError("somebody asked")

    log.configure("INFO", [])
    ours().debug("lease.renewed", holder=Unspeakable())
    assert capsys.readouterr().err == ""


def test_a_file_that_is_full_is_put_aside(tmp_path: Path) -> None:
    """Our lines and those of others count alike; no line is lost."""
    log.configure("INFO", [], file=tmp_path / "kaiwa.log")
    for number in range(30):
        ours().info("turn.answered", number=number, padding="x" * 40_000)
        logging.getLogger("toolset.x").warning("tool.slow", extra={"number": number})
    texts = ((tmp_path / name).read_text() for name in ("kaiwa.log.1", "kaiwa.log"))
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    assert [(line["event"], line["number"]) for line in lines] == [
        (event, number) for number in range(30) for event in ("turn.answered", "tool.slow")
    ]


def test_a_logger_follows_when_logs_are_set_up_anew(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The page's token is a secret that is known only after the first lines."""
    logger = ours()
    log.configure("INFO", [])
    logger.info("first", token="hush-token")
    log.configure("INFO", ["hush-token"])
    logger.info("second", token="hush-token")
    assert [line["token"] for line in lines_of(capsys)] == [
        "hush-token",
        "[secret]",
    ]
    log.configure("INFO", ["hush-token"], file=tmp_path / "kaiwa.log")
    logger.info("third", token="hush-token")
    assert json.loads((tmp_path / "kaiwa.log").read_text())["token"] == "[secret]"
    assert capsys.readouterr().err == ""
