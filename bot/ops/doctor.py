"""``kaiwa doctor``: checks every part and names the fix. No check raises, and each has a time
limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

import httpx

from bot.checks import CheckResult, ago
from bot.errors import ModelError, SettingsError, StoreUnavailable
from bot.http import tls_context
from bot.ops.call_tool import call_by_hand
from bot.ops.mcp_servers import mcp_servers
from bot.ops.startup import DEMO, GET_GEMINI, start_report
from bot.ops.variable_names import check_variables
from bot.plugins import load_hooks
from bot.providers import Provider
from bot.settings import Settings, env_file_is_open, tool_config
from bot.store import DeadLetter, MemoryUse, ServerFacts, Store
from toolset.create_image import CreateImageConfig
from toolset.mcp.catalog import tool_name
from toolset.offer import rules
from toolset.tool_map import ToolMap

CHECK_S = 15.0
PORT_S = 3.0
OLDEST_REDIS = 7
MIB = 1 << 20
BIG_CITY = "Tokyo"
PUBLIC = "public address"
SET_PUBLIC_URL = "set PUBLIC_URL to the https address of this server"
# What reading an answer without Kaiwa's fields raises.
NOT_KAIWA = (ValueError, KeyError, TypeError)
# Addresses to look at, not to listen on.
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104

OpenModel = Callable[[str], AbstractAsyncContextManager[Provider]]


@dataclass(frozen=True, slots=True)
class Openers:
    """How the doctor opens the parts it checks.

    Attributes:
        model: opens a model by its name.
        channels: what checks each channel, by its label in the report.
        mcp: what checks the MCP servers, likewise.
    """

    store: Callable[[], AbstractAsyncContextManager[Store]]
    tools: Callable[[], AbstractAsyncContextManager[ToolMap]]
    model: OpenModel
    channels: Mapping[str, Callable[[], Awaitable[list[CheckResult]]]] = field(default_factory=dict)
    mcp: Mapping[str, Callable[[], Awaitable[list[CheckResult]]]] = field(default_factory=dict)


async def run_checks(
    settings: Settings, openers: Openers, *, patience_s: float = CHECK_S
) -> list[CheckResult]:
    """Run all checks concurrently; the results come in a fixed order.

    Args:
        patience_s: time limit of each check.
    """
    report = {part.name: part for part in start_report(settings)}

    async def within(name: str, check: Awaitable[list[CheckResult]]) -> list[CheckResult]:
        try:
            async with asyncio.timeout(patience_s):
                return await check
        except TimeoutError:
            detail = f"no answer within {patience_s:g} s"
            return [CheckResult("failure", name, detail, "check that it is reachable from here")]
        except SettingsError as error:
            return [CheckResult("failure", name, error.variable, error.fix)]
        except StoreUnavailable as error:
            return [CheckResult("failure", name, f"the store does not answer: {error}", error.fix)]

    chosen, *fallbacks = settings.models
    checks = [within("model", check_model("model", chosen, openers.model))]
    for name in fallbacks:
        checks.append(within("fallback", check_model("fallback", name, openers.model)))
    for name in dict.fromkeys(settings.reviewers):
        checks.append(within("reviewer", check_model("reviewer", name, openers.model)))
    tools = _check_tools(report["tools"], report["Open-Meteo"], settings, openers)
    checks.append(within("store", _check_store(report["store"], openers)))
    checks.append(within("tools", tools))
    checks.append(within("images", _check_images(report["images"], openers)))
    checks.append(within("hooks", _check_hooks(settings)))
    for name, check in (*openers.mcp.items(), *openers.channels.items()):
        checks.append(within(name, check()))
    checks.append(within("port", _check_port(settings)))
    checks.append(within(PUBLIC, _check_public_address(settings)))
    results: list[CheckResult] = []
    for group in await asyncio.gather(*checks):
        results += group
    return [*results, report["page"], *check_variables(settings), *_check_env_file()]


def _check_env_file() -> list[CheckResult]:
    """Check the permissions of ``.env``."""
    if not env_file_is_open():
        return []
    detail = "other users of this machine may read its secrets"
    return [CheckResult("warning", ".env", detail, "chmod 600 .env")]


async def check_model(part: str, name: str, open_model: OpenModel) -> list[CheckResult]:
    """Check that a model answers."""
    if name == "demo":
        if part == "model":
            return [CheckResult("warning", part, DEMO, GET_GEMINI)]
        return [CheckResult("ok", part, DEMO)]
    try:
        async with open_model(name) as provider:
            return [CheckResult("ok", part, await provider.check())]
    except ModelError as error:
        return [CheckResult("failure", part, f"{name} cannot be used", error.cause)]


async def _check_store(part: CheckResult, openers: Openers) -> list[CheckResult]:
    try:
        async with openers.store() as store:
            facts = await store.facts()
            depths = await store.depths()
            memory = await store.memory.measure()
            newest = await store.dead_letters.read(1)
            now = await store.now_ms()
    except StoreUnavailable as error:
        return [CheckResult("failure", part.name, f"{part.detail}: {error}", error.fix)]
    server = CheckResult("ok", part.name, f"{part.detail}: {facts.server}", part.fix)
    if facts.redis_version < OLDEST_REDIS:
        server = replace(server, result="failure", fix="Redis 7 or newer, or Valkey, is needed")
    return [
        server,
        _check_policy(facts),
        _check_memory(memory),
        _check_persistence(facts),
        CheckResult("ok", "work", f"conversations due: {depths.due}"),
        _check_dead_letters(depths.dead_letters, newest, now),
    ]


def _check_policy(facts: ServerFacts) -> CheckResult:
    policy = facts.memory_policy
    if policy == "noeviction":
        return CheckResult(
            "ok", "memory", f"{policy}: a full store refuses new messages and deletes nothing"
        )
    return CheckResult(
        "warning",
        "memory",
        f"{policy}: a full store deletes conversations",
        "set its maxmemory-policy to noeviction",
    )


def _check_memory(memory: MemoryUse) -> CheckResult:
    if not memory.limit:
        return CheckResult("ok", "memory use", f"{memory.used / MIB:.1f} MiB used, no limit set")
    used = f"{memory.ratio:.0%} of {memory.limit / MIB:.0f} MiB used"
    fix = "raise its maxmemory, or lower HISTORY_DAYS"
    if memory.ratio >= 1:
        return CheckResult("failure", "memory use", f"{used}: new messages are refused", fix)
    if memory.is_tight:
        return CheckResult(
            "warning", "memory use", f"{used}: histories above their share are shortened", fix
        )
    return CheckResult("ok", "memory use", used)


def _check_persistence(facts: ServerFacts) -> CheckResult:
    if facts.append_only:
        return CheckResult(
            "ok", "disk", "appendonly: what was accepted outlives a crash of the store"
        )
    return CheckResult(
        "warning",
        "disk",
        "a crash of the store loses what it had accepted",
        "set its appendonly to yes",
    )


def _check_dead_letters(count: int, newest: Sequence[DeadLetter], now: int) -> CheckResult:
    if not newest:
        return CheckResult("ok", "dead letters", "none")
    last = f"{count}, the newest {ago(newest[0].at, now)}: {newest[0].reason or 'no reason given'}"
    return CheckResult(
        "warning",
        "dead letters",
        last,
        "kaiwa outbox list shows them, kaiwa outbox retry puts them back",
    )


async def _check_tools(
    part: CheckResult, open_meteo: CheckResult, settings: Settings, openers: Openers
) -> list[CheckResult]:
    async with openers.tools() as tools:
        names = [one.name for one in tools.definitions]
        found = [
            CheckResult("ok", part.name, f"{part.detail}: {', '.join(names)}", part.fix),
            *_check_rules(tools, settings),
        ]
        if "get_weather" in tools:
            found += [await _check_weather(tools, settings), open_meteo]
    return found


async def _check_weather(tools: ToolMap, settings: Settings) -> CheckResult:
    outcome = await call_by_hand(tools, "get_weather", {"location": BIG_CITY}, settings)
    if not outcome.is_error:
        return CheckResult("ok", "weather", f"answers for {BIG_CITY}")
    fix = "check WTTR_BASE_URL and OPEN_METEO_BASE_URL, and that they are reachable from here"
    return CheckResult("warning", "weather", str(outcome.response["error"]), fix)


async def _check_images(part: CheckResult, openers: Openers) -> list[CheckResult]:
    """Check that the image model exists."""
    model = tool_config(CreateImageConfig).image_model
    if not model:
        return [part]
    return await check_model(part.name, f"gemini:{model}", openers.model)


async def _check_hooks(settings: Settings) -> list[CheckResult]:
    """A line if there are hooks."""
    names = [type(hook).__name__ for hook in load_hooks(settings)]
    if not names:
        return []
    return [CheckResult("ok", "hooks", ", ".join(names))]


def _check_rules(tools: ToolMap, settings: Settings) -> list[CheckResult]:
    """What the rules of TOOLS_ALLOW name but nobody has, tools of MCP servers apart, and what they
    let run unasked."""
    found = []
    of_servers = tuple(tool_name(server.name, "") for server in mcp_servers(settings))
    if unknown := [
        name for name in rules.unknown(tools.rules, tools) if not name.startswith(of_servers)
    ]:
        detail = f"rules for tools that there are not: {', '.join(unknown)}"
        fix = "correct the names in TOOLS_ALLOW"
        found.append(CheckResult("warning", "tool rules", detail, fix))
    if lowered := rules.lowered(tools.rules):
        detail = f"nobody is asked about calls of: {', '.join(lowered)}"
        fix = "take their risk out of TOOLS_ALLOW to be asked"
        found.append(CheckResult("warning", "tool rules", detail, fix))
    return found


async def _check_port(settings: Settings) -> list[CheckResult]:
    """Check the port; if something listens, ``/readyz`` shows whether it is Kaiwa."""
    if not settings.port:
        return [CheckResult("ok", "port", "any free one")]
    host = EVERYWHERE.get(settings.host, settings.host)
    address = f"[{host}]:{settings.port}" if ":" in host else f"{host}:{settings.port}"
    try:
        reason = await _reason_not_ready(f"http://{address}", is_local=True)
    except httpx.ConnectError:
        return [CheckResult("ok", "port", f"nothing listens on {address} yet", "kaiwa run does")]
    except (httpx.HTTPError, *NOT_KAIWA):
        return [
            CheckResult(
                "warning", "port", f"something else listens on {address}", "choose another PORT"
            )
        ]
    if not reason:
        return [CheckResult("ok", "port", f"Kaiwa runs on {address}")]
    return [CheckResult("warning", "port", f"Kaiwa runs on {address} and is not ready", reason)]


async def _check_public_address(settings: Settings) -> list[CheckResult]:
    """Only LINE misses PUBLIC_URL where it is not set."""
    if settings.public_url:
        return [await check_address(settings.public_url)]
    if not (settings.line_on or settings.has_accounts):
        return []
    detail = "PUBLIC_URL is not set: LINE shows figures in place of pictures"
    return [CheckResult("off", PUBLIC, detail, SET_PUBLIC_URL)]


async def check_address(url: str) -> CheckResult:
    """Check whether Kaiwa answers at a public address."""
    try:
        await _reason_not_ready(url, is_local=False)
    except httpx.HTTPError as error:
        detail = f"{url} does not answer ({type(error).__name__}): nobody can load pictures from it"
        fix = "start kaiwa run, and lead PUBLIC_URL to its port"
        return CheckResult("warning", PUBLIC, detail, fix)
    except NOT_KAIWA:
        detail = f"something else answers at {url}: nobody can load pictures from it"
        fix = "lead PUBLIC_URL, /files and /readyz included, to the port of kaiwa run"
        return CheckResult("warning", PUBLIC, detail, fix)
    return CheckResult("ok", PUBLIC, f"{url} leads to Kaiwa")


async def _reason_not_ready(url: str, *, is_local: bool) -> str:
    """What Kaiwa says at ``/readyz``; empty if it is ready.

    Args:
        is_local: no proxy stands between.

    Raises:
        httpx.HTTPError: nobody answers.
        ValueError, KeyError, TypeError: something else does.
    """
    async with httpx.AsyncClient(
        timeout=PORT_S, trust_env=not is_local, verify=tls_context()
    ) as client:
        answer = (await client.get(f"{url}/readyz")).json()
    return "" if answer["ready"] else str(answer["reason"])
