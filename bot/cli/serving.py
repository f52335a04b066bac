"""``kaiwa run``, ``kaiwa worker`` and ``kaiwa mcp``: what serves until it is stopped."""

from __future__ import annotations

import signal
import sys

import uvloop
from pydantic import SecretStr

from bot import log
from bot.cli.prepare import all_secrets, prepare, print_report
from bot.ops.startup import start_report
from bot.ops.variable_names import check_variables
from bot.processes import serve, work
from bot.settings import Settings
from bot.web.console_token import load_or_create_token
from bot.web.port import Membership, inherited, listen


def run(*, worker: bool, processes: int = 1, membership: Membership | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C.

    Args:
        processes: how many share the port.
        membership: of this process, one of several.
    """
    config = prepare(processes=processes)
    # A port in use ends the start before a report of it.
    sock = inherited(membership.socket) if membership else listen(config.host, config.port)
    if membership is None or membership.is_first:
        _report_start(config)
    token = ""
    if config.makes_console_token:
        token = load_or_create_token(config.console_token_path)
        config = config.model_copy(update={"console_token": SecretStr(token)})
        log.configure(config.log_level, all_secrets(config))

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
    config = prepare()
    _report_start(config)
    uvloop.run(
        work(config, announce=lambda: print("The worker takes turns (Ctrl-C stops it)", flush=True))
    )


def serve_mcp() -> None:
    """Serve tools to the program that started this one, until it closes stdin."""
    # No other command waits for the SDK.
    from bot.mcp_server.server import serve_stdio  # noqa: PLC0415

    config = prepare()
    # A thread waits for stdin, and would go on waiting.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    uvloop.run(serve_stdio(config))


def _report_start(config: Settings) -> None:
    """Print what is on, and what is wrong without being an error."""
    print_report([*start_report(config), *check_variables(config)])
