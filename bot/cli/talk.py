"""``kaiwa chat``: the terminal, or a pipe."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import NoReturn

from bot import log, texts
from bot.agent.loop import system_prompt
from bot.channels.console.channel import Console
from bot.cli.as_typed import as_typed
from bot.cli.prepare import all_secrets, load_settings
from bot.commands import SpokenCommands
from bot.processes import open_chat
from bot.prompts import persona
from bot.settings import Settings
from bot.store.private import private_folder
from bot.terminal.chat import Chat
from bot.terminal.keyboard import Keyboard, read_piped_line
from bot.terminal.machine import conversation_id
from bot.terminal.screen import Screen

LEAVE = (signal.SIGTERM, signal.SIGHUP)


def show_prompt() -> None:
    """Print the whole system prompt of page and terminal."""
    print(system_prompt(persona(load_settings()), Console.style))


def chat(*, new: bool) -> int:
    """Chat in the terminal or a pipe; in a pipe, exit code 1 means that the last message was not
    answered."""
    config = load_settings()
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    answered = True
    signals: tuple[signal.Signals, ...] = LEAVE
    if interactive:
        # Ctrl-C ends the wait for an answer, even if the parent process ignores SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    else:
        # In a pipe Ctrl-C ends the process.
        signals = (*LEAVE, signal.SIGINT)
    with _ended_by(*signals), suppress(KeyboardInterrupt):
        answered = asyncio.run(_talk(config, new=new, interactive=interactive))
    return 0 if answered or interactive else 1


async def _talk(config: Settings, *, new: bool, interactive: bool) -> bool:
    """Chat; returns whether the last message was answered."""
    folder = private_folder(config.kaiwa_data_dir)
    conversation = conversation_id(folder, new=new)
    log.configure(config.log_level, all_secrets(config), file=config.kaiwa_data_dir / "kaiwa.log")
    catalogue = texts.load()
    table = catalogue.table("terminal", config.language)
    labels = {key: as_typed(text) for key, text in table.items()}
    helps = catalogue.table("help", config.language).values()
    labels["help"] = "\n".join((labels["help"], *helps))
    keyboard = Keyboard() if interactive else None
    screen = Screen(labels, keyboard)
    who = labels["demo" if config.chosen_model == "demo" else "model"]
    greeting = who.format(bot_name=config.bot_name, model=config.chosen_model)
    screen.notice(f"{greeting}\n{labels['hint']}" if interactive else greeting)
    async with open_chat(config, conversation) as runtime:
        chat = Chat(runtime.console, conversation, screen, SpokenCommands(catalogue))
        if keyboard is None:
            return await chat.run(read_piped_line)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, chat.interrupt)
        with closing(keyboard):
            keyboard.remember(await chat.resume())
            return await chat.run(keyboard.read_line)


@contextmanager
def _ended_by(*signals: signal.Signals) -> Iterator[None]:
    """Exit through the context managers on these signals: a closed terminal must not leave the
    store running."""

    def leave(number: int, _frame: object) -> NoReturn:
        raise SystemExit(0 if number in LEAVE else 128 + number)

    before = {number: signal.signal(number, leave) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
