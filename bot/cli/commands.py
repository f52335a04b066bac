"""The commands of ``kaiwa``; those that can fail return their exit code."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import uvloop
from msgspec.json import encode
from pydantic import SecretStr

from bot import app, log, settings, texts
from bot.agent.hooks import Hooks
from bot.channels.registry import channel_secrets, check_channels
from bot.checks import CheckResult
from bot.cli.add_api import steps_for_api, write_api
from bot.cli.as_typed import as_typed
from bot.cli.new_tool import next_steps, own_folder, write_tool
from bot.commands import SpokenCommands
from bot.errors import BadInput, TurnFailed
from bot.features.registry import load_configs
from bot.ops import dead_letters
from bot.ops.call_tool import call_by_hand
from bot.ops.doctor import Openers, run_checks
from bot.ops.mcp_servers import accept, wait_for
from bot.ops.startup import start_report
from bot.ops.variable_names import check_names
from bot.plugins import load_hooks, mcp_servers, open_mcp, open_tools
from bot.processes import open_chat, serve, work
from bot.providers.registry import check_models, model_secrets, open_model
from bot.reports import print_checks, print_table
from bot.settings import Settings, config_beside, secrets_in
from bot.store import Store
from bot.store.private import private_folder
from bot.web.console_token import load_or_create_token
from bot.web.port import Membership, inherited, listen
from toolset.tool import ToolDefinition, ToolOutcome
from toolset.tool_map import ToolMap

T = TypeVar("T")
JSON_EXAMPLE = """write one, such as '{"location": "Tokyo"}'"""
LEAVE = (signal.SIGTERM, signal.SIGHUP)
WHAT_NEXT = "A running worker takes them up within a second or two; without one they wait."


def run(*, worker: bool, processes: int = 1, membership: Membership | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C.

    Args:
        processes: how many share the port.
        membership: of this process, one of several.
    """
    config = _prepare(processes=processes)
    # A port in use ends the start before a report of it.
    sock = inherited(membership.socket) if membership else listen(config.host, config.port)
    if membership is None or membership.is_first:
        _report_start(config)
    token = ""
    if config.makes_console_token:
        token = load_or_create_token(config.console_token_path)
        config = config.model_copy(update={"console_token": SecretStr(token)})
        log.configure(config.log_level, _secrets(config))

    def announce(number: int) -> None:
        # The address is only compared.
        host = "127.0.0.1" if config.host in ("0.0.0.0", "::") else config.host  # noqa: S104
        address = f"[{host}]:{number}" if ":" in host else f"{host}:{number}"
        print(f"{config.bot_name} answers at http://{address}/ (Ctrl-C stops it)", flush=True)
        if token and sys.stdout.isatty():
            print(f"Sign in at http://{address}/signin#{token}", flush=True)
        elif token:
            print(f"The page asks for the token in {config.console_token_path}", flush=True)

    uvloop.run(serve(config, sock, membership, worker=worker, announce=announce))


def worker() -> None:
    """Process conversations until SIGTERM or Ctrl-C."""
    config = _prepare()
    _report_start(config)
    uvloop.run(
        work(config, announce=lambda: print("The worker takes turns (Ctrl-C stops it)", flush=True))
    )


def show_prompt() -> None:
    """Print the system prompt."""
    print(app.console_prompt(_settings()))


def chat(*, new: bool) -> int:
    """Chat in the terminal or a pipe; in a pipe, exit code 1 means that the last message was not
    answered."""
    config = _settings()
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


def serve_mcp() -> None:
    """Serve tools to the program that started this one, until it closes stdin."""
    # No other command waits for the SDK.
    from bot.mcp_server.server import serve_stdio  # noqa: PLC0415

    config = _prepare()
    # A thread waits for stdin, and would go on waiting.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    uvloop.run(serve_stdio(config))


def list_tools() -> None:
    """Print every tool with its risk, parameters, origin and description."""

    async def load() -> ToolMap:
        config = _prepare("CRITICAL")
        async with open_tools(config) as tools, open_mcp(config, tools, None) as servers:
            await wait_for(servers)
            return tools

    rows = []
    for name, tool in uvloop.run(load()).items():
        declared = tool.definition
        parameters = _parameters(declared)
        rows.append((name, declared.risk, parameters, tool.origin, declared.description))
    print_table(("tool", "risk", "parameters", "from", "description"), rows)


def call_tool(name: str, arguments: str) -> int:
    """Call a tool, hooks included, and print its result; exit code 1 for an error.

    What the tool has raised is on stderr, with its message: whoever calls it here is looking for
    the mistake.
    """
    given = _object(arguments)
    config = _prepare("ERROR", messages=True)
    hooks = Hooks(load_hooks(config))

    async def call() -> ToolOutcome:
        async with open_tools(config) as tools, open_mcp(config, tools, None) as servers:
            await wait_for([] if name in tools else servers)
            try:
                return await call_by_hand(tools, name, given, config, hooks)
            except TurnFailed as error:
                return ToolOutcome.error(f"a hook ends the turn: {error.cause}")

    outcome = uvloop.run(call())
    print(json.dumps(outcome.response, ensure_ascii=False, indent=2))
    return 1 if outcome.is_error else 0


def accept_tools(server: str) -> None:
    """Pin the tools of an MCP server as they are now, and print them."""

    async def pin() -> list[tuple[str, str, str]]:
        config = _prepare("ERROR")
        async with app.open_store_of(config) as store:
            return await accept(config, server, store.tool_pins)

    print_table(("tool", "", "description"), uvloop.run(pin()))
    print("Running processes know it within half a minute.", file=sys.stderr)


def list_outbox(limit: int, *, as_json: bool) -> None:
    """Print the newest dead letters and the number of conversations due."""

    async def read() -> tuple[dead_letters.Overview, int]:
        async with app.open_store_of(_prepare("ERROR")) as store:
            return await dead_letters.overview(store, limit), await store.now_ms()

    overview, now = uvloop.run(read())
    if as_json:
        print(encode(overview).decode())
        return
    letters = overview.dead_letters
    if letters:
        print_table(
            ("id", "when", "conversation", "what", "why"),
            dead_letters.rows(letters, now),
            elastic=2,
        )
    number = str(overview.count or "none")
    if len(letters) < overview.count:
        number += f" ({len(letters)} shown)"
    waiting = f"conversations due: {overview.conversations_waiting}"
    print(f"dead letters: {number}, {waiting}", file=sys.stderr)


def retry(ids: Sequence[str] | None) -> int:
    """Put dead letters back, without ids all of them; exit code 1 if one could not be."""

    async def put_back() -> list[CheckResult]:
        async with app.open_store_of(_prepare("ERROR")) as store:
            letters = store.dead_letters
            if ids is None:
                chosen = await letters.read()
            else:
                chosen = await dead_letters.find(letters, ids)
            return await dead_letters.put_back(letters, chosen)

    results = uvloop.run(put_back())
    code = _report(results)
    if not results:
        print("there are no dead letters", file=sys.stderr)
    elif any(result.result == "ok" for result in results):
        print(WHAT_NEXT, file=sys.stderr)
    return code


def discard(ids: Sequence[str]) -> int:
    """Delete dead letters; exit code 1 if one no longer existed."""

    async def delete() -> list[CheckResult]:
        async with app.open_store_of(_prepare("ERROR")) as store:
            letters = store.dead_letters
            return await dead_letters.discard(letters, await dead_letters.find(letters, ids))

    return _report(uvloop.run(delete()))


def new_tool(name: str, folder: Path | None) -> None:
    """Write a new tool and print the next steps.

    Args:
        folder: by default TOOLS_DIR, else ``toolset/`` of a checkout.

    Raises:
        BadInput: it cannot be written.
    """
    tools_dir = _settings().tools_dir
    chosen = folder or tools_dir or own_folder()
    if chosen is None:
        raise BadInput("--dir: say where, or set TOOLS_DIR to a folder of yours")
    print(as_typed(next_steps(write_tool(name, chosen), tools_dir)))


def add_openapi(
    source: str, only: Sequence[str], *, name: str, server: str, folder: Path | None
) -> None:
    """Write an API's file and print the next steps.

    Args:
        folder: by default TOOLS_DIR.

    Raises:
        BadInput: it cannot be written.
    """
    tools_dir = _settings().tools_dir
    chosen = folder or tools_dir
    if chosen is None:
        raise BadInput("--dir: say where, or set TOOLS_DIR to a folder of yours")
    ids = [one.strip() for text in only for one in text.split(",") if one.strip()]
    path, api = write_api(source, ids, name=name, server=server, folder=chosen)
    print(as_typed(steps_for_api(path, api, tools_dir)))


def read_store(read: Callable[[Settings, Store], Awaitable[T]]) -> T:
    """Open the store for the command of a feature, and return what it reads there."""
    config = _prepare("ERROR")

    async def opened() -> T:
        async with app.open_store_of(config) as store:
            return await read(config, store)

    return uvloop.run(opened())


def doctor() -> int:
    """Run all checks and print the results; exit code 1 if one failed."""
    config = _prepare("CRITICAL")
    openers = Openers(
        store=lambda: app.open_store_of(config),
        tools=lambda: open_tools(config),
        model=partial(open_model, config),
        channels=app.checks_of_channels(config),
        mcp=app.checks_of_mcp(config),
    )
    return _report(uvloop.run(run_checks(config, openers)))


def set_webhook(url: str) -> int:
    """Set LINE's webhook to this address, and the menu; print the result; exit code 1 if it does
    not work."""
    return _report(uvloop.run(app.set_up_line(_prepare("CRITICAL"), url)))


def _report(results: Sequence[CheckResult]) -> int:
    print_checks(
        replace(result, detail=as_typed(result.detail), fix=as_typed(result.fix))
        for result in results
    )
    return 1 if any(result.result == "failure" for result in results) else 0


def _settings(processes: int | None = None) -> Settings:
    """The settings; what every model and every channel needs is set."""
    config = settings.load(processes)
    check_models(config)
    check_channels(config)
    for feature in load_configs().values():
        config_beside(feature, config)
    return config


def _secrets(config: Settings) -> list[str]:
    secrets = [*config.secrets, *model_secrets(config), *channel_secrets(config)]
    for feature in load_configs().values():
        secrets += secrets_in(config_beside(feature, config))
    for server in mcp_servers(config):
        secrets += server.secrets
    return secrets


def _prepare(
    log_level: str = "", processes: int | None = None, *, messages: bool = False
) -> Settings:
    """The settings, after configuring the log."""
    config = _settings(processes)
    log.configure(log_level or config.log_level, _secrets(config), messages=messages)
    return config


def _report_start(config: Settings) -> None:
    """Print what is on, and what is wrong without being an error."""
    _report([*start_report(config), *check_names(config)])


async def _talk(config: Settings, *, new: bool, interactive: bool) -> bool:
    """Chat; returns whether the last message was answered."""
    # The command kaiwa run needs none of its Markdown.
    from bot.terminal.chat import Chat  # noqa: PLC0415
    from bot.terminal.keyboard import Keyboard, read_piped_line  # noqa: PLC0415
    from bot.terminal.machine import conversation_id  # noqa: PLC0415
    from bot.terminal.screen import Screen  # noqa: PLC0415

    folder = private_folder(config.kaiwa_data_dir)
    conversation = conversation_id(folder, new=new)
    log.configure(config.log_level, _secrets(config), file=config.kaiwa_data_dir / "kaiwa.log")
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


def _parameters(tool: ToolDefinition) -> str:
    """The names of a tool's parameters; optional ones with a question mark."""
    required = tool.parameters.get("required", ())
    names: list[str] = []
    for name in tool.parameters.get("properties", {}):
        names.append(name if name in required else f"{name}?")
    return ", ".join(names)


def _object(text: str) -> dict[str, Any]:
    """Parse the arguments of a tool call.

    Raises:
        BadInput: not a JSON object.
    """
    try:
        given = json.loads(text)
    except ValueError as error:
        raise BadInput(f"JSON: {error}; {JSON_EXAMPLE}") from error
    if not isinstance(given, dict):
        raise BadInput(f"JSON: not an object; {JSON_EXAMPLE}")
    return given


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
