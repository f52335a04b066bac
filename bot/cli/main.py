"""The command line: ``kaiwa setup | run | worker | chat | mcp | tools | outbox | eval | …``.

The commands import what they need when they run: it takes a second, and ``--help`` needs none of
it.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from bot import features
from bot.cli.outbox import outbox_cli
from bot.cli.tools import tools_cli
from bot.errors import BadInput, SettingsError, StoreUnavailable, TokenRefused

cli = typer.Typer(
    name="kaiwa", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
cli.add_typer(tools_cli, name="tools", invoke_without_command=True)
cli.add_typer(outbox_cli, name="outbox")

for _file in sorted(Path(features.__path__[0]).glob("*/cli.py")):
    for _command in import_module(f"{features.__name__}.{_file.parent.name}.cli").COMMANDS:
        cli.command()(_command)

NoWorker = Annotated[bool, typer.Option("--no-worker", help="Run no worker: kaiwa worker answers.")]


def main() -> None:
    """Run a command. An error that the operator can fix is one line on stderr; exit code 1 for the
    store and for what a platform refuses, else 2."""
    _open_missing()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # An undecodable byte or a terminal without ✓ must not end the command.
            stream.reconfigure(errors="replace")
    # What is loaded at the start stays; to look for garbage in it takes a sixth of the start.
    gc.disable()
    try:
        cli(prog_name="kaiwa", obj=_use_store)
    except (SettingsError, BadInput) as error:
        _give_up(str(error), 2)
    except TokenRefused as error:
        _give_up(str(error), 1)
    except StoreUnavailable as error:
        _give_up(f"REDIS_URL: the store does not answer ({error}); {error.fix}", 1)
    finally:
        gc.enable()


def _use_store(use: Any) -> Any:
    """What the command of a feature reads in the store."""
    from bot.cli.prepare import use_store

    return use_store(use)


def _open_missing() -> None:
    """Lead standard streams that were closed before the start nowhere: a socket with their number
    aborts uvloop."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Opening a file takes the lowest number that is free.
            os.open(os.devnull, os.O_RDWR)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The file stays open until the end.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _give_up(reason: str, code: int) -> NoReturn:
    from bot.cli.as_typed import as_typed

    typer.echo(f"kaiwa: {as_typed(reason)}", err=True)
    raise SystemExit(code)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kaiwa {version('kaiwa')}")
        raise typer.Exit


@cli.callback()
def kaiwa(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """An assistant people talk to in LINE and Slack. Settings are environment variables;
    .env.example lists them."""


@cli.command()
def run(
    no_worker: NoWorker = False,
    processes: Annotated[
        int | None,
        typer.Option(
            help="How many processes share port and work; by default KAIWA_PROCESSES.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run web server, page and worker in one process, or in several that share the port."""
    from bot import settings

    config = settings.load(processes)
    if config.kaiwa_processes > 1:
        from bot.web.port import listen, replace_by_supervisor

        options = [f"--processes={config.kaiwa_processes}"]
        if no_worker:
            options.append("--no-worker")
        replace_by_supervisor(listen(config.host, config.port), config.kaiwa_processes, options)
    from bot.cli import serving

    serving.run(worker=not no_worker)


@cli.command(hidden=True)
def member(
    socket: int,
    link: int,
    folder: str,
    is_first: bool,
    replaces: str,
    processes: int = 2,
    no_worker: NoWorker = False,
) -> None:
    """Run one of several processes that share a port; bot.supervisor starts it."""
    from bot.cli import serving
    from bot.web.port import Membership

    membership = Membership(socket, link, folder, is_first, replaces)
    serving.run(worker=not no_worker, processes=processes, membership=membership)


@cli.command()
def worker() -> None:
    """Run a worker without web server, beside kaiwa run --no-worker."""
    from bot.cli import serving

    serving.worker()


@cli.command()
def chat(
    new: Annotated[bool, typer.Option("--new", help="Start a new conversation.")] = False,
    show_prompt: Annotated[
        bool, typer.Option("--show-prompt", help="Print the system prompt and exit.")
    ] = False,
) -> None:
    """Talk in this terminal, or through a pipe: echo "weather in Tokyo" | kaiwa chat"""
    from bot.cli import talk

    if show_prompt:
        talk.show_prompt()
    else:
        raise typer.Exit(talk.chat(new=new))


@cli.command()
def mcp() -> None:
    """Serve the tools that only read to another program, by the Model Context Protocol on stdin and
    stdout."""
    from bot.cli import serving

    serving.serve_mcp()


@cli.command("eval")
def evaluate(
    model: Annotated[
        str, typer.Option(help="PROVIDER:MODEL or demo; by default the configured one.")
    ] = "",
    repeat: Annotated[
        int, typer.Option(min=1, max=20, help="How often each question is asked.")
    ] = 3,
    only: Annotated[
        list[str] | None,
        typer.Option(help="A category, en, ja, or how ids begin; then nothing is kept."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="File of earlier runs; by default in KAIWA_DATA_DIR.", show_default=False
        ),
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, max=32, help="Questions asked at once.")] = 4,
    timeout: Annotated[float, typer.Option(min=1, max=900, help="Seconds for an answer.")] = 60,
    by_search: Annotated[
        bool, typer.Option("--by-search", help="Declare no tool but find_tools.")
    ] = False,
) -> None:
    """Ask a model the questions of evals/ and count right answers, tokens, money and seconds."""
    from bot.cli import evals
    from bot.evals.runner import Limits

    raise typer.Exit(
        evals.evaluate(
            model, Limits(repeat, parallel, timeout), only or [], results, by_search=by_search
        )
    )


@cli.command()
def backup(
    file: Annotated[Path, typer.Argument(help="A new file, such as kaiwa.zip.")],
) -> None:
    """Copy what the bundled Valkey holds into a file, while Kaiwa runs or not."""
    from bot.cli.backup import backup as copy

    copy(file)


@cli.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What kaiwa backup has written.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete what the store holds now.")
    ] = False,
) -> None:
    """Put a backup into KAIWA_DATA_DIR, while no Kaiwa runs."""
    from bot.cli.backup import restore as put_back

    put_back(file, replace=replace)


@cli.command()
def setup(
    what: Annotated[
        str,
        typer.Argument(metavar="[line|slack|gemini]", help="Asked for if it is left out."),
    ] = "",
) -> None:
    """Set LINE, Slack or Gemini up: ask for the values, test each, write .env, answer a hello."""
    from bot.cli.setup import command

    raise typer.Exit(command.set_up(what))


@cli.command()
def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Set LINE's webhook to --url, and LINE's menu.")
    ] = False,
    url: Annotated[
        str, typer.Option(help="Kaiwa's public address, such as https://kaiwa.example.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check every part, and say how to fix what does not work; problems come first."""
    from bot.cli import doctor as examination

    if fix != bool(url):
        raise BadInput("--fix and --url belong together: kaiwa doctor --fix --url https://…")
    results = examination.set_webhook(url) if fix else examination.doctor()
    raise typer.Exit(examination.report(results, as_json=as_json))
