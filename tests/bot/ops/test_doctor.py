"""The doctor: every part with its state and its fix, nothing raised, nothing waited for too
long."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from unittest.mock import ANY

import pytest
from aiohttp import web
from pydantic import SecretStr

from bot.checks import CheckResult
from bot.errors import SettingsError, StoreUnavailable
from bot.ops.doctor import run_checks
from bot.plugins import open_tools
from bot.settings import Settings
from bot.store import Store
from tests.bot.ops.examining import found, openers
from tests.fakes import line_events, slack_events
from tests.fakes.gemini import KEY, gemini_fake
from tests.fakes.line import LineFake, line_fake
from tests.fakes.serving import serving
from tests.fakes.slack import BOT_TOKEN, SlackFake, slack_fake
from tests.fakes.tools import Echo, tool_map
from tests.fakes.wttr import WttrFake, place_of
from tests.toolset.names import ALWAYS_ON
from toolset.offer.rules import Rule
from toolset.tool_map import ToolMap

WEBHOOK = {"slack_bot_token": SecretStr("xoxb-1"), "slack_signing_secret": SecretStr("x")}


async def test_a_healthy_installation(settings: Settings, wttr: WttrFake) -> None:
    """Every part, in a fixed order; what is off says which variable turns it on."""
    wttr.place("Tokyo", temp=21)
    real = openers(settings, tools=lambda: open_tools(settings))
    findings = await run_checks(settings, real)
    version = findings[1].detail.removeprefix("your Redis: ")
    assert version.startswith("Valkey ")
    percent = findings[3].detail.partition("%")[0]
    assert 0 < int(percent) < 80
    assert findings == [
        CheckResult(
            "warning",
            "model",
            "demo model: simple rules, no real language model",
            "set GEMINI_API_KEY for Gemini",
        ),
        CheckResult("ok", "store", f"your Redis: {version}"),
        CheckResult(
            "ok", "memory", "noeviction: a full store refuses new messages and deletes nothing"
        ),
        CheckResult("ok", "memory use", f"{percent}% of 64 MiB used"),
        CheckResult("ok", "disk", "appendonly: what was accepted outlives a crash of the store"),
        CheckResult("ok", "work", "conversations due: 0"),
        CheckResult("ok", "dead letters", "none"),
        CheckResult(
            "ok",
            "tools",
            f"all tools: {', '.join(ALWAYS_ON)}",
            "set READ_ONLY=1 to offer low-risk ones only",
        ),
        CheckResult("ok", "weather", "answers for Tokyo"),
        CheckResult("ok", "Open-Meteo", "your own server", "set OPEN_METEO=0 to ask wttr.in alone"),
        CheckResult(
            "off",
            "images",
            "none are made",
            "set IMAGE_MODEL=gemini-3.1-flash-image, which costs money",
        ),
        CheckResult(
            "off",
            "LINE",
            "off",
            "set LINE_CHANNEL_SECRET and LINE_CHANNEL_ACCESS_TOKEN to turn it on",
        ),
        CheckResult(
            "off",
            "Slack",
            "off",
            "set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET or SLACK_APP_TOKEN to turn it on",
        ),
        CheckResult("ok", "port", "any free one"),
        CheckResult(
            "ok", "page", "open to this machine only", "set CONSOLE_TOKEN to open it to others"
        ),
    ]
    assert [place_of(request) for request in wttr.requests] == ["Tokyo"]


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        (
            {"console_token": SecretStr("x" * 16)},
            CheckResult("ok", "page", "open to whoever has the token"),
        ),
        (
            {**WEBHOOK, "kaiwa_data_dir": Path("data")},
            CheckResult(
                "ok",
                "page",
                "open to whoever has the token in data/console_token",
                "set CONSOLE_TOKEN to choose another",
            ),
        ),
        (
            {**WEBHOOK, "dyno": "web.1"},
            CheckResult(
                "off", "page", "closed, and so is /metrics", "set CONSOLE_TOKEN to open them"
            ),
        ),
    ],
)
async def test_who_may_see_the_page(
    settings: Settings, changes: dict[str, Any], finding: CheckResult
) -> None:
    """How the page is protected."""
    changed = settings.model_copy(update=changes)
    assert (
        await found(changed, finding.name, channels=dict.fromkeys(("LINE", "Slack"), nothing))
        == finding
    )


async def nothing() -> list[CheckResult]:
    return []


@pytest.mark.parametrize(("mode", "is_reported"), [(0o644, True), (0o640, True), (0o600, False)])
async def test_an_env_file_that_others_may_read_is_told(
    settings: Settings, tmp_path: Path, mode: int, is_reported: bool
) -> None:
    """It holds every secret; closed to them, it is not worth a line."""
    (tmp_path / ".env").touch(mode)
    (tmp_path / ".env").chmod(mode)
    reported = CheckResult(
        "warning", ".env", "other users of this machine may read its secrets", "chmod 600 .env"
    )
    assert (reported in await run_checks(settings, openers(settings))) is is_reported


@pytest.mark.long
async def test_a_part_that_never_answers_is_not_waited_for(settings: Settings) -> None:
    """The doctor ends in any case."""

    @asynccontextmanager
    async def store() -> AsyncIterator[Store]:
        await asyncio.Event().wait()
        yield cast(Store, None)

    findings = await run_checks(settings, openers(settings, store=store), patience_s=0.5)
    assert findings[1] == CheckResult(
        "failure", "store", "no answer within 0.5 s", "check that it is reachable from here"
    )


async def test_a_wrong_setting_of_a_part_is_its_failure(settings: Settings) -> None:
    """A tool's own variable, for one: it does not stop the doctor."""

    @asynccontextmanager
    async def tools() -> AsyncIterator[Any]:
        raise SettingsError("WEATHER_TIMEOUT_S", "write a number")
        yield

    assert await found(settings, "tools", tools=tools) == CheckResult(
        "failure", "tools", "WEATHER_TIMEOUT_S", "write a number"
    )


@pytest.mark.parametrize(
    ("named", "finding"),
    [
        ("bot.agent.hooks:Hook", CheckResult("ok", "hooks", "Hook")),
        ("bot.agent.hooks:Nobody", CheckResult("failure", "hooks", "HOOKS", ANY)),
    ],
)
async def test_hooks_are_loaded(settings: Settings, named: str, finding: CheckResult) -> None:
    """One that cannot be would stop the start."""
    assert await found(settings.model_copy(update={"hooks": (named,)}), "hooks") == finding


async def test_weather_that_does_not_come_is_a_warning(settings: Settings, wttr: WttrFake) -> None:
    """The bot can work without."""
    wttr.fail("capacity")
    weather = await found(settings, "weather", tools=lambda: open_tools(settings))
    assert weather.result == "warning"
    assert weather.detail.startswith("API error: status 503")
    assert "WTTR_BASE_URL" in weather.fix


async def test_without_a_weather_tool_nobody_is_asked(settings: Settings, wttr: WttrFake) -> None:
    """Somebody may have taken the tool away."""
    findings = await run_checks(settings, openers(settings))
    assert "weather" not in [finding.name for finding in findings]
    assert wttr.requests == []


async def test_rules_for_tools_are_looked_at(settings: Settings) -> None:
    """Names that no tool has, and tools that act without a question."""

    @asynccontextmanager
    async def tools() -> AsyncIterator[ToolMap]:
        rule = Rule(tools=("ehco",), risk={"echo": "low"})
        yield ToolMap(tool_map(Echo()).values(), (rule,))

    findings = await run_checks(settings, openers(settings, tools=tools))
    assert [(one.result, one.detail) for one in findings if one.name == "tool rules"] == [
        ("warning", "rules for tools that there are not: ehco"),
        ("warning", "nobody is asked about calls of: echo"),
    ]


async def test_rules_for_the_tools_of_servers_are_no_mistake(
    settings: Settings, tmp_path: Path
) -> None:
    """A server is asked apart from the other tools."""
    servers = tmp_path / "servers.json"
    servers.write_text('{"mcpServers": {"gh": {"url": "http://127.0.0.1:1/mcp"}}}', "utf-8")
    settings = settings.model_copy(update={"mcp_servers": servers})

    @asynccontextmanager
    async def tools() -> AsyncIterator[ToolMap]:
        yield ToolMap(tool_map(Echo()).values(), (Rule(tools=("gh_search", "hg_search"), risk={}),))

    findings = await run_checks(settings, openers(settings, tools=tools))
    assert [one.detail for one in findings if one.name == "tool rules"] == [
        "rules for tools that there are not: hg_search"
    ]


async def test_a_key_is_tried_without_generating_anything(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it works, its model is named; if it is refused, its variable is, and the key is not."""
    with gemini_fake() as gemini:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        ours = settings.model_copy(update={"gemini_api_key": SecretStr(KEY)})
        model = await found(ours, "model")
        wrong = settings.model_copy(update={"gemini_api_key": SecretStr("wrong-key")})
        refused = await found(wrong, "model")
    assert model == CheckResult("ok", "model", "Gemini Flash Latest answers, with google_search")
    assert {request.action for request in gemini.requests} == {"get"}
    assert refused.result == "failure"
    assert "GEMINI_API_KEY" in refused.fix
    assert "wrong-key" not in repr(refused)


async def test_the_image_model_is_checked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that does not exist would be seen by people alone."""
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    with gemini_fake() as gemini:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        settings = settings.model_copy(update={"gemini_api_key": SecretStr(KEY)})
        monkeypatch.setenv("IMAGE_MODEL", "gemini-3.1-flash-image")
        reported = CheckResult("ok", "images", "Gemini 3.1 Flash Image answers")
        assert await found(settings, "images") == reported
        monkeypatch.setenv("IMAGE_MODEL", "gemini-0-image")
        missing = await found(settings, "images")
    assert (missing.result, missing.detail) == ("failure", "gemini:gemini-0-image cannot be used")
    assert missing.fix == "IMAGE_MODEL: gemini-0-image is not known there (404); name another"


async def test_every_fallback_is_checked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in for a model must work before it is needed; one that does not hides no
    other."""
    with gemini_fake() as gemini:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        ours = settings.model_copy(
            update={
                "gemini_api_key": SecretStr(KEY),
                "fallback_models": ("gemini:gemini-0", "gemini:gemini-2.5-pro", "demo"),
            }
        )
        findings = await run_checks(ours, openers(ours))
    assert findings[:4] == [
        CheckResult("ok", "model", "Gemini Flash Latest answers, with google_search"),
        CheckResult(
            "failure",
            "fallback",
            "gemini:gemini-0 cannot be used",
            "FALLBACK_MODELS: gemini-0 is not known there (404); name another",
        ),
        CheckResult("ok", "fallback", "Gemini 2.5 Pro answers"),
        CheckResult("ok", "fallback", "demo model: simple rules, no real language model"),
    ]


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[LineFake]:
    """LINE on, at a stand-in."""
    with line_fake() as fake:
        monkeypatch.setenv("LINE_CHANNEL_SECRET", line_events.SECRET)
        monkeypatch.setenv("LINE_CHANNEL_ACCESS_TOKEN", line_events.TOKEN)
        monkeypatch.setenv("LINE_API_BASE_URL", fake.base_url)
        yield fake


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackFake]:
    """Slack on, at a stand-in."""
    with slack_fake() as fake:
        monkeypatch.setenv("SLACK_SIGNING_SECRET", slack_events.SECRET)
        monkeypatch.setenv("SLACK_BOT_TOKEN", BOT_TOKEN)
        monkeypatch.setenv("SLACK_API_BASE_URL", fake.api_base_url)
        yield fake


@pytest.mark.usefixtures("line", "slack")
async def test_channels_that_are_on_are_examined(settings: Settings) -> None:
    """Each after its own line, one after the other."""
    findings = await run_checks(settings, openers(settings))
    channels = [finding for finding in findings if finding.name.startswith(("LINE", "Slack"))]
    line = ("", " token", " chat", " webhook", " messages", " menu", " redelivery", " traffic")
    slack = ("", " token", " scopes", " webhook", " traffic")
    assert [finding.name for finding in channels] == [
        *(f"LINE{part}" for part in line),
        *(f"Slack{part}" for part in slack),
    ]
    not_ok = [finding.name for finding in channels if finding.result != "ok"]
    assert not_ok == ["LINE webhook"]
    assert channels[0].detail == (
        "answers everybody at /webhooks/line; late answers are pushed while the month's quota "
        "lasts, "
        "then fetched by a button (LINE_PUSH=auto)"
    )


@pytest.mark.long
@pytest.mark.usefixtures("slack")
async def test_a_line_that_never_answers_is_not_waited_for(
    line: LineFake, settings: Settings
) -> None:
    """The others have said what they know."""
    line.trouble("info", "stalled")
    findings = await run_checks(settings, openers(settings), patience_s=4)
    results = {finding.name: finding for finding in findings}
    assert results["LINE"] == CheckResult(
        "failure", "LINE", "no answer within 4 s", "check that it is reachable from here"
    )
    assert results["Slack token"].result == "ok"


@pytest.mark.usefixtures("line")
async def test_a_channel_whose_notes_cannot_be_reached_is_a_failure(settings: Settings) -> None:
    """A store that does not even open."""

    async def away() -> list[CheckResult]:
        raise StoreUnavailable("away")

    line = await found(settings, "LINE", channels={"LINE": away})
    assert line == CheckResult(
        "failure", "LINE", "the store does not answer: away", "check REDIS_URL, and that Redis runs"
    )


async def test_a_free_port_is_fine(settings: Settings) -> None:
    """Then nothing runs here yet; an address of the newer kind is written as it stands in a URL."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    # not listened on
    settings = settings.model_copy(update={"port": port, "host": "0.0.0.0"})  # noqa: S104
    assert await found(settings, "port") == CheckResult(
        "ok", "port", f"nothing listens on 127.0.0.1:{port} yet", "kaiwa run does"
    )
    newer = await found(settings.model_copy(update={"port": 1, "host": "::1"}), "port")
    assert newer.detail == "nothing listens on [::1]:1 yet"


@pytest.mark.parametrize(
    ("status", "body", "result", "words"),
    [
        (200, {"ready": True, "reason": None}, "ok", "Kaiwa runs on 127.0.0.1:"),
        (503, {"ready": False, "reason": "store: away"}, "warning", "and is not ready"),
        (200, {"something": "else"}, "warning", "something else listens"),
        (200, ["nothing of ours"], "warning", "something else listens"),
    ],
)
async def test_whoever_listens_on_the_port_is_asked_who_they_are(
    settings: Settings, status: int, body: object, result: str, words: str
) -> None:
    """Kaiwa itself, ready or not, or another program."""

    async def readyz(_request: web.Request) -> web.Response:
        return web.json_response(body, status=status)

    application = web.Application()
    application.router.add_get("/readyz", readyz)
    with serving(application) as url:
        port = await found(
            settings.model_copy(update={"port": int(url.rpartition(":")[2])}), "port"
        )
    assert port.result == result
    assert words in port.detail
    assert bool(port.fix) == (result == "warning")


@pytest.mark.parametrize(
    ("line", "url", "result", "words"),
    [
        ("", "", "", ""),
        ("secret", "", "off", "PUBLIC_URL is not set: LINE shows figures in place of pictures"),
        (
            "secret",
            "https://127.0.0.1:1",
            "warning",
            "https://127.0.0.1:1 does not answer (ConnectError)",
        ),
        ("", "http://127.0.0.1:1", "warning", "http://127.0.0.1:1 does not answer (ConnectError)"),
    ],
)
async def test_where_others_load_pictures_from(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    url: str,
    result: str,
    words: str,
) -> None:
    """LINE needs a public address of https; nothing is said where nobody misses it."""
    monkeypatch.setenv("LINE_CHANNEL_ACCESS_TOKEN", line)
    changes = {"line_channel_secret": SecretStr(line), "public_url": url}
    checks = await run_checks(
        changed := settings.model_copy(update=changes), openers(changed, channels={})
    )
    public = [check for check in checks if check.name == "public address"]
    assert [check.result for check in public] == ([result] if result else [])
    assert all(check.detail.startswith(words) and check.fix for check in public)


@pytest.mark.parametrize(
    ("body", "result", "words"),
    [
        ({"ready": True, "reason": None}, "ok", "leads to Kaiwa"),
        ("hello", "warning", "something else answers at http://"),
    ],
)
async def test_whoever_answers_at_the_public_address_is_asked_who_they_are(
    settings: Settings, body: object, result: str, words: str
) -> None:
    """A proxy may lead elsewhere."""

    async def readyz(_request: web.Request) -> web.Response:
        return web.json_response(body)

    application = web.Application()
    application.router.add_get("/readyz", readyz)
    with serving(application) as url:
        public = await found(settings.model_copy(update={"public_url": url}), "public address")
    assert (public.result, words in public.detail) == (result, True)
    assert bool(public.fix) == (result == "warning")
