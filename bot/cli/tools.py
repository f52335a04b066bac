"""``kaiwa tools``: lists the tools, calls one, accepts those of an MCP server, writes new ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.errors import BadInput, TurnFailed

if TYPE_CHECKING:
    from bot.settings import Settings
    from bot.store import Store
    from toolset.tool import ToolDefinition, ToolOutcome
    from toolset.tool_map import ToolMap

JSON_EXAMPLE = """write one, such as '{"location": "Tokyo"}'"""
WHERE = "--dir: say where, or set TOOLS_DIR to a folder of yours"

tools_cli = typer.Typer()
add_cli = typer.Typer(no_args_is_help=True)
tools_cli.add_typer(add_cli, name="add")


@tools_cli.callback()
def tools(context: typer.Context) -> None:
    """List the tools that the model may call, call one, or write a new one."""
    if context.invoked_subcommand is None:
        _list()


def _list() -> None:
    """Print every tool with its risk, parameters, origin and description."""
    import uvloop

    from bot.cli.prepare import prepare
    from bot.ops.mcp_servers import open_mcp, wait_for
    from bot.plugins import open_tools
    from bot.reports import print_table

    async def load() -> ToolMap:
        config = prepare("CRITICAL")
        async with open_tools(config) as tools, open_mcp(config, tools, None) as servers:
            await wait_for(servers)
            return tools

    rows = []
    for name, tool in uvloop.run(load()).items():
        declared = tool.definition
        parameters = _parameters(declared)
        rows.append((name, declared.risk, parameters, tool.origin, declared.description))
    print_table(("tool", "risk", "parameters", "from", "description"), rows)


@tools_cli.command()
def call(
    name: Annotated[str, typer.Argument(help="Name of the tool, such as get_weather.")],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="Its arguments, as a JSON object.")
    ] = "{}",
) -> None:
    """Call a tool and print its result: kaiwa tools call get_weather '{"location": "Tokyo"}'"""
    import uvloop

    from bot.agent.hooks import Hooks
    from bot.cli.prepare import prepare
    from bot.ops.call_tool import call_by_hand
    from bot.ops.mcp_servers import open_mcp, wait_for
    from bot.plugins import load_hooks, open_tools
    from toolset.tool import ToolOutcome

    given = _object(arguments)
    # What the tool has raised is on stderr, with its message: whoever calls it here is looking for
    # the mistake.
    config = prepare("ERROR", messages=True)
    hooks = Hooks(load_hooks(config))

    async def called() -> ToolOutcome:
        async with open_tools(config) as tools, open_mcp(config, tools, None) as servers:
            await wait_for([] if name in tools else servers)
            try:
                return await call_by_hand(tools, name, given, config, hooks)
            except TurnFailed as error:
                return ToolOutcome.error(f"a hook ends the turn: {error.cause}")

    outcome = uvloop.run(called())
    print(json.dumps(outcome.response, ensure_ascii=False, indent=2))
    raise typer.Exit(outcome.is_error)


@tools_cli.command("accept")
def accept_tools(
    server: Annotated[str, typer.Argument(help="Name of the server in MCP_SERVERS.")],
) -> None:
    """Accept the tools of an MCP server as they are now, after one has changed its description."""
    from bot.cli.prepare import use_store
    from bot.ops.mcp_servers import accept
    from bot.reports import print_table

    async def pin(settings: Settings, store: Store) -> list[tuple[str, str, str]]:
        return await accept(settings, server, store.tool_pins)

    print_table(("tool", "", "description"), use_store(pin))
    print("Running processes know it within half a minute.", file=sys.stderr)


@tools_cli.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the tool, such as roll_dice.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", help="Folder; by default TOOLS_DIR, else toolset/.", show_default=False
        ),
    ] = None,
    as_class: Annotated[
        bool, typer.Option("--class", help="A class with two schemas, in place of a function.")
    ] = False,
) -> None:
    """Write a new tool that works as it is, a function, and its test."""
    from bot.cli.as_typed import as_typed
    from bot.cli.new_tool import next_steps, own_folder, write_tool
    from bot.cli.prepare import load_settings

    tools_dir = load_settings().tools_dir
    chosen = folder or tools_dir or own_folder()
    if chosen is None:
        raise BadInput(WHERE)
    written = write_tool(name, chosen, as_function=not as_class)
    print(as_typed(next_steps(written, tools_dir)))


@add_cli.callback()
def add() -> None:
    """Add tools that others have described."""


@add_cli.command()
def openapi(
    source: Annotated[
        str, typer.Argument(metavar="FILE-or-URL", help="An OpenAPI document, 3.0 or 3.1, in JSON.")
    ],
    only: Annotated[
        list[str],
        typer.Option(
            metavar="OPERATION", help="Id of an operation; again, or with commas, for more."
        ),
    ] = [],  # noqa: B006 -- Typer reads the default and never changes it
    name: Annotated[
        str, typer.Option(help="Begins the tools' names; by default the document's title.")
    ] = "",
    server: Annotated[
        str, typer.Option(help="The API's address, in place of the document's.")
    ] = "",
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Folder; by default TOOLS_DIR.", show_default=False)
    ] = None,
) -> None:
    """Add operations of an HTTP API as tools: those that read are low risk, all others ask before
    each call."""
    from bot.cli.add_api import steps_for_api, write_api
    from bot.cli.as_typed import as_typed
    from bot.cli.prepare import load_settings

    tools_dir = load_settings().tools_dir
    chosen = folder or tools_dir
    if chosen is None:
        raise BadInput(WHERE)
    ids = [one.strip() for text in only for one in text.split(",") if one.strip()]
    path, api = write_api(source, ids, name=name, server=server, folder=chosen)
    print(as_typed(steps_for_api(path, api, tools_dir)))


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
