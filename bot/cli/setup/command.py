"""What ``kaiwa setup`` runs, and how it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from pydantic import SecretStr

from bot import log, settings
from bot.cli.setup import gemini, line, slack
from bot.cli.setup.answers import Answers, GivenUp, say
from bot.errors import BadInput, SettingsError
from bot.settings import Settings

SETUPS: dict[str, Callable[[Answers, Settings], None]] = {
    "line": line.set_up,
    "slack": slack.set_up,
    "gemini": gemini.set_up,
}
LEAVE = (signal.SIGTERM, signal.SIGHUP)
CHOICE = "line, slack or gemini"
# What a set-up asks for may be wrong as yet.
ASKED = {
    "gemini_api_key": SecretStr(""),
    "line_channel_secret": SecretStr(""),
    "slack_bot_token": SecretStr(""),
    "slack_signing_secret": SecretStr(""),
    "public_url": "",
}


def set_up(what: str) -> int:
    """Set one of ``SETUPS`` up; the exit code.

    Args:
        what: empty: the operator is asked.

    Raises:
        BadInput: there is no such set-up.
        SettingsError: a variable that no set-up asks for is wrong, or ``.env`` cannot be written.
    """
    config = settings.load(known=ASKED)
    if config.dyno:
        fix = "this platform forgets .env; set the variables there, and run kaiwa doctor"
        raise SettingsError("DYNO", fix)
    log.configure("CRITICAL", [])
    answers = Answers()
    try:
        with _left_by_signals():
            SETUPS[_chosen(what, answers)](answers, config)
    except GivenUp:
        return 1
    except (KeyboardInterrupt, EOFError):
        say("\nStopped; .env has what is said to be written above, and is else as it was.")
        return 130
    return 0


def _chosen(what: str, answers: Answers) -> str:
    while not what and answers.is_terminal:
        typed = answers.choose(f"What is to be set up, {CHOICE}? ").lower()
        what = typed if typed in SETUPS else ""
    if what not in SETUPS:
        # It is not repeated: somebody may have typed a secret.
        raise BadInput(f"setup: write {CHOICE} behind it; values are asked for")
    return what


@contextmanager
def _left_by_signals() -> Iterator[None]:
    """Exit through the context managers: the terminal shows again what is typed, and Kaiwa ends."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    handlers = {signal.SIGINT: signal.default_int_handler, **dict.fromkeys(LEAVE, leave)}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
