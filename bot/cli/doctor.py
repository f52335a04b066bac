"""``kaiwa doctor``: checks every part, or sets LINE's webhook and menu."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import uvloop
from msgspec.json import encode

from bot.app.storage import connect, open_store_of
from bot.channels import Host, InboundEvent
from bot.channels.line.doctor import set_up
from bot.channels.registry import accounts_of, channel_checks
from bot.checks import CheckResult
from bot.cli.prepare import checks_of_features, prepare, print_report
from bot.errors import SettingsError
from bot.ops.doctor import Openers, run_checks
from bot.ops.mcp_servers import check_servers, mcp_servers
from bot.plugins import open_tools
from bot.providers.registry import open_model
from bot.settings import Settings
from bot.store.embedded import ValkeyServer
from bot.texts import load

ORDER = {"failure": 0, "warning": 1}


def doctor() -> list[CheckResult]:
    """Run all checks; problems come first."""
    config = prepare("CRITICAL")
    results = uvloop.run(run_checks(config, openers_of(config)))
    return sorted(results, key=lambda one: ORDER.get(one.result, len(ORDER)))


def set_webhook(url: str) -> list[CheckResult]:
    """Set LINE's webhook to this address, and the menu."""
    return uvloop.run(set_up_line(prepare("CRITICAL"), url))


def report(results: Sequence[CheckResult], *, as_json: bool) -> int:
    """Print the results; exit code 1 if one is a failure."""
    if not as_json:
        return print_report(results)
    has_failed = any(one.result == "failure" for one in results)
    print(encode({"ok": not has_failed, "checks": results}).decode())
    return 1 if has_failed else 0


def openers_of(settings: Settings) -> Openers:
    """How the doctor opens the parts of this installation."""
    return Openers(
        store=lambda: open_store_of(settings),
        tools=lambda: open_tools(settings),
        model=partial(open_model, settings),
        channels=checks_of_channels(settings),
        mcp={**checks_of_mcp(settings), **checks_of_features(settings, open_tools, open_model)},
    )


async def _accept_nothing(conversation: str, event: InboundEvent) -> bool:
    """Stands for the intake (``bot.channels.Accept``) in checks, where no channel accepts
    messages."""
    raise NotImplementedError


def checks_of_channels(settings: Settings) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """The checks of ``kaiwa doctor`` for each channel, by the channel's name in the report."""

    @asynccontextmanager
    async def open_host() -> AsyncIterator[Host]:
        # Most checks need no store, and may come before the first start.
        url = settings.store_url or ValkeyServer(settings.kaiwa_data_dir.resolve()).url
        async with connect(url, settings) as store:
            yield Host(
                _accept_nothing,
                store.kv,
                store.priority_kv,
                texts=load(),
                language=settings.language,
                bot_name=settings.bot_name,
            )

    return channel_checks(settings, open_host)


def checks_of_mcp(settings: Settings) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """The check of ``kaiwa doctor`` for MCP servers; none where MCP_SERVERS is empty.

    Raises:
        SettingsError: MCP_SERVERS or MCP_TRUST is wrong.
    """

    async def check() -> list[CheckResult]:
        async with open_store_of(settings) as store:
            return await check_servers(settings, store.tool_pins)

    return {"mcp": check} if mcp_servers(settings) else {}


async def set_up_line(settings: Settings, url: str) -> list[CheckResult]:
    """Set the webhook URL and the menu at LINE, for each account.

    Raises:
        SettingsError: LINE is off.
        BadInput: LINE cannot use this URL.
    """
    results: list[CheckResult] = []
    for account in accounts_of("line", settings):
        found = await set_up(account.config, url, load(), settings.language, account.name)
        results += map(account.renamed, found)
    if not results:
        raise SettingsError(
            "LINE_CHANNEL_ACCESS_TOKEN", "LINE is off; set this and LINE_CHANNEL_SECRET first"
        )
    return results
