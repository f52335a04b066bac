"""The package as a registry sees it: its configuration, manifest, how it is opened and
checked, and that it is light; and the client that it calls Slack with."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr
from structlog.testing import capture_logs

from bot import texts
from bot.channels import Host, slack
from bot.channels.slack.client import WAIT_S, BackgroundTasks, Client
from bot.channels.slack.doctor import SCOPES
from bot.channels.slack.manifest import manifest
from bot.channels.slack.shortcuts import ASK, SUMMARISE
from bot.checks import CheckResult
from bot.errors import DeliverLater
from bot.tasks import run_beside
from tests.bot.channels.slack.rig import Inbox, Rig, open_rig, slack_config
from tests.fakes.kv import LocalKeyValue
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, SlackFake
from tests.fakes.slack_events import (
    as_json,
)
from tests.fakes.slack_rules import METHODS
from tests.waiting import until
from toolset.web.decoding import MOST_BYTES

QUIET = "last webhook not noted, last delivery not noted, bad signatures: none"
TOKEN_FIX = (
    "copy the Bot User OAuth Token of OAuth & Permissions again; is Slack reachable from here?"
)
SOCKET_FIX = "it needs the scope connections:write, and the app Socket Mode switched on"
METHOD, CONNECT = "auth.test", "apps.connections.open"
ROOT = Path(__file__).parents[4]
NAMES = ("slack_manifest.yaml", "slack_manifest.socket.yaml")
EVENTS_OF_SCOPES = {
    "agent_session_stopped": "assistant:write",
    "app_context_changed": "assistant:write",
    "app_mention": "app_mentions:read",
    "member_joined_channel": "channels:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
}


def host(kv: LocalKeyValue | None = None) -> Host:
    """A process that takes no messages in, as kaiwa doctor is."""
    kv = kv or LocalKeyValue()
    return Host(Inbox(), kv, kv, texts.load())


@pytest.mark.parametrize(("name", "address"), [*zip(NAMES, ("https://a.example", ""), strict=True)])
def test_a_manifest_is_filled_in(name: str, address: str) -> None:
    """With the address, or without one for Socket Mode: it says what the one to be read says."""
    text = (ROOT / name).read_text("utf-8").replace("https://example.com", "https://a.example")
    assert yaml.safe_load(manifest("Kaiwa", address)) == yaml.safe_load(text)
    named = yaml.safe_load(manifest('A "star": ' + "x" * 40, address))
    assert named["display_information"]["name"] == 'A "star": ' + "x" * 25
    assert named["features"]["bot_user"]["display_name"] == 'A "star": ' + "x" * 25


async def test_an_open_channel_has_its_webhook_and_its_socket(fake: SlackFake) -> None:
    """Socket Mode only in a process that takes messages in."""
    config = slack_config(fake.api_base_url, slack_app_token=SecretStr(APP_TOKEN))
    async with slack.open(config, replace(host(), listens=nullcontext)) as (channel,):
        assert [getattr(route, "path", "") for route in channel.routes()] == ["/webhooks/slack"]
        await channel.check_access()
        await until(lambda: bool(fake.called(CONNECT)))
    asked = len(fake.called(CONNECT))
    async with slack.open(config, host()) as (channel,):
        await channel.check_access()
    assert len(fake.called(CONNECT)) == asked


@pytest.mark.process
def test_importing_the_package_imports_no_vendor() -> None:
    """A registry names every channel, and most are off."""
    code = "import sys, bot.channels.slack; print(*sys.modules)"
    imported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "bot.channels.slack" in imported
    assert [name for name in imported if name.startswith(("slack_", "aiohttp"))] == []


async def found(
    fake: SlackFake, kv: LocalKeyValue | None = None, **changes: Any
) -> dict[str, CheckResult]:
    """The report, by what was checked."""
    results = await slack.checks(slack_config(fake.api_base_url, **changes), host(kv))
    return {result.name.removeprefix("Slack "): result for result in results}


async def test_a_channel_in_order(fake: SlackFake) -> None:
    """With both ways in; a connection is asked for, and not opened."""
    assert [*(await found(fake, slack_app_token=APP_TOKEN)).values()] == [
        CheckResult("ok", "Slack token", "works for kaiwa in Test"),
        CheckResult("ok", "Slack scopes", "all that the manifest asks for"),
        CheckResult("ok", "Slack socket", "events come by Socket Mode"),
        CheckResult("ok", "Slack webhook", "events may come to /webhooks/slack"),
        CheckResult("ok", "Slack traffic", QUIET),
    ]
    assert fake.connected == 0


async def test_a_way_in_that_is_off_is_not_checked(fake: SlackFake) -> None:
    """A signing secret is for the webhook, an app token for the socket."""
    by_socket = await found(fake, slack_app_token=APP_TOKEN, slack_signing_secret="")
    assert [*by_socket][2:] == ["socket", "traffic"]
    assert [*(await found(fake))][2:] == ["webhook", "traffic"]


async def test_missing_scopes_are_named(fake: SlackFake) -> None:
    """An app made by hand."""
    fake.scopes = [scope for scope in fake.scopes if scope not in ("files:read", "commands")]
    fix = "add them under OAuth & Permissions, then install the app again"
    missing = "missing: commands, files:read"
    assert (await found(fake))["scopes"] == CheckResult("warning", "Slack scopes", missing, fix)


async def test_a_refused_token_is_a_failure(fake: SlackFake) -> None:
    """Its scopes cannot be known then."""
    findings = await found(fake, slack_bot_token="xoxb-another", slack_app_token="xapp-another")
    assert [*findings] == ["token", "socket", "webhook", "traffic"]
    refused = "was refused (invalid_auth)"
    assert [findings["token"], findings["socket"]] == [
        CheckResult("failure", "Slack token", f"SLACK_BOT_TOKEN {refused}", TOKEN_FIX),
        CheckResult("failure", "Slack socket", f"SLACK_APP_TOKEN {refused}", SOCKET_FIX),
    ]
    assert "-another" not in repr(findings)


async def test_a_slack_that_does_not_answer_is_a_failure(fake: SlackFake) -> None:
    """Each question says so; the store may be away meanwhile."""
    kv = LocalKeyValue()
    kv.away = True
    for method in (METHOD, CONNECT):
        fake.break_down(method)
    findings = await found(fake, kv, slack_app_token=APP_TOKEN)
    problem = "Slack does not answer ({}: status 503)"
    assert [(one.result, one.detail) for one in findings.values() if one.result != "ok"] == [
        ("failure", problem.format(METHOD)),
        ("failure", problem.format(CONNECT)),
        ("warning", "not known: the store does not answer"),
    ]


async def test_a_wrong_secret_shows_in_the_traffic(fake: SlackFake, rig: Rig) -> None:
    """Nothing but bad signatures has come."""
    assert (await rig.post(as_json({}), {})).status_code == 401
    await until(lambda: "slack:bad_signatures" in rig.kv.stored)
    traffic = (await found(fake, rig.kv))["traffic"]
    assert (traffic.result, traffic.fix) == ("warning", "SLACK_SIGNING_SECRET is probably wrong")
    assert traffic.detail.endswith("bad signatures: 1")


async def test_who_the_bot_is_is_asked_until_slack_tells(fake: SlackFake) -> None:
    """The log says once that it does not, and once that it does."""
    fake.break_down("auth.test")
    fake.fail("auth.test", "invalid_auth")
    with capture_logs() as logged:
        async with open_rig(fake) as rig:
            assert rig.slack.identity.is_ours("U0000000B", None)
            assert rig.slack.identity.is_ours(None, "B0000000B")
            assert not rig.slack.identity.is_ours("U00000001", "B9")
            assert not rig.slack.identity.is_ours(None, None)
    assert [line["event"] for line in logged] == [
        "platform.away",
        "platform.back",
    ]


def test_secrets_stay_out_of_sight(fake: SlackFake) -> None:
    """Also where somebody prints the settings."""
    shown = repr(
        slack_config(fake.api_base_url, slack_signing_secret="made-up", slack_app_token=APP_TOKEN)
    )
    assert "xoxb" not in shown
    assert APP_TOKEN not in shown
    assert "made-up" not in shown


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('{"ok": tr', "application/json"),
        ("[]", "application/json"),
        ("{}", "application/json"),
        ("[" * 100_000, "application/json"),
        ("bad gateway", "text/plain"),
        ("<html>", "text/html"),
        ("{}", "application/gzip"),
    ],
)
async def test_what_is_no_answer_of_slacks_is_an_outage(
    fake: SlackFake, body: str, content_type: str
) -> None:
    """Cut off on the way, or words of a proxy's."""
    fake.garble(METHOD, body, content_type)
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        with pytest.raises(DeliverLater, match=METHOD):
            await client.post(METHOD)


async def test_refusals_say_what_they_are(fake: SlackFake) -> None:
    """An error has its name, too many calls the seconds to wait."""
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        fake.fail(METHOD, "token_revoked")
        assert (await client.post(METHOD)).error == "token_revoked"
        fake.limit(METHOD, 7)
        assert (await client.post(METHOD)).retry_after == 7
        fake.fail(METHOD, "ratelimited")
        assert (await client.post(METHOD)).retry_after == WAIT_S


async def test_an_answer_names_the_tokens_scopes(fake: SlackFake) -> None:
    """They are in a header."""
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        answer = await client.post(METHOD)
    assert (answer.ok, answer.scopes.split(",")[0]) == (True, fake.scopes[0])


async def test_a_call_whose_line_is_cut_is_an_outage(fake: SlackFake) -> None:
    """Slack may have done what was asked."""
    fake.hang_up(METHOD, after=True)
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        with pytest.raises(DeliverLater, match=METHOD):
            await client.post(METHOD)


async def test_an_answer_without_end_is_an_outage(fake: SlackFake) -> None:
    """Only its beginning is read."""
    fake.garble(METHOD, '{"ok": true}'.rjust(MOST_BYTES + 20), "application/json")
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        with pytest.raises(DeliverLater, match=METHOD):
            await client.post(METHOD)


async def test_half_a_character_is_replaced(fake: SlackFake) -> None:
    """Nothing could store or send it."""
    fake.garble(METHOD, r'{"ok": true, "user": "Hana\ud83d"}', "application/json")
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        assert (await client.post(METHOD)).data["user"] == "Hana\N{REPLACEMENT CHARACTER}"


async def test_a_failure_is_logged_and_nothing_else() -> None:
    """Decoration must not take anything down with it."""

    async def fails() -> None:
        raise RuntimeError

    work = BackgroundTasks()
    with capture_logs() as logged:
        work.start(fails())
        await work.join()
        await work.close()
    assert [(line["event"], line["cause"]) for line in logged] == [
        ("slack.task_failed", "RuntimeError")
    ]


async def test_what_takes_too_long_is_ended_with_the_channel() -> None:
    """A shutdown does not wait for Slack."""
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    work = BackgroundTasks(grace_s=0.0)
    work.start(waits())
    await asyncio.sleep(0)
    await work.close()
    async with run_beside(waits()):
        await asyncio.sleep(0)
    assert ended == ["work", "work"]


def read(name: str) -> dict[str, Any]:
    manifest: dict[str, Any] = yaml.safe_load((ROOT / name).read_text("utf-8"))
    return manifest


def flat(value: object, path: str = "") -> dict[str, object]:
    if isinstance(value, dict):
        return {
            where: leaf
            for key, part in value.items()
            for where, leaf in flat(part, f"{path}/{key}").items()
        }
    if isinstance(value, list):
        return {
            where: leaf
            for n, part in enumerate(value)
            for where, leaf in flat(part, f"{path}/{n}").items()
        }
    return {path: value}


@pytest.mark.parametrize("name", NAMES)
def test_every_scope_the_code_needs_is_asked_for(name: str) -> None:
    """The doctor compares what was granted with the same list, and every method called has its
    scope."""
    scopes = read(name)["oauth_config"]["scopes"]["bot"]
    assert tuple(scopes) == SCOPES == tuple(sorted(SCOPES))
    needed = [method["scopes"] for method in METHODS.values()]
    assert all(not scopes or set(scopes) & set(SCOPES) for scopes in needed)


@pytest.mark.parametrize("name", NAMES)
def test_every_event_has_its_scope_and_the_app_is_reachable(name: str) -> None:
    """Slack refuses a manifest that asks for events without their scopes; 1:1 messages need their
    tab."""
    manifest = read(name)
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    assert set(events) == {*EVENTS_OF_SCOPES, "app_home_opened"}
    assert {EVENTS_OF_SCOPES[event] for event in events if event in EVENTS_OF_SCOPES} <= set(SCOPES)
    assert manifest["settings"]["interactivity"]["is_enabled"] is True
    assert [command["command"] for command in manifest["features"]["slash_commands"]] == ["/kaiwa"]
    shortcuts = manifest["features"]["shortcuts"]
    assert [(one["callback_id"], one["type"]) for one in shortcuts] == [
        (ASK, "message"),
        (SUMMARISE, "message"),
    ]
    assert all(len(one["name"]) <= 24 and len(one["description"]) <= 150 for one in shortcuts)
    home = manifest["features"]["app_home"]
    assert (home["messages_tab_enabled"], home["messages_tab_read_only_enabled"]) == (True, False)
    assert home["home_tab_enabled"] is True
    assert "assistant_view" not in manifest["features"]
    assert len(manifest["features"]["agent_view"]["agent_description"]) <= 300
    assert len(manifest["display_information"]["description"]) <= 140


def test_socket_mode_has_no_addresses_and_nothing_else_differs() -> None:
    """Two files that drift apart would be two apps."""
    by_webhook, by_socket = (flat(read(name)) for name in NAMES)
    assert by_webhook.keys() ^ by_socket.keys() == {
        "/features/slash_commands/0/url",
        "/settings/event_subscriptions/request_url",
        "/settings/interactivity/request_url",
    }
    different = {
        path for path in by_webhook.keys() & by_socket.keys() if by_webhook[path] != by_socket[path]
    }
    assert different == {"/settings/socket_mode_enabled"}
    assert by_socket["/settings/socket_mode_enabled"] is True
    assert {address for path, address in by_webhook.items() if path.endswith("url")} == {
        "https://example.com/webhooks/slack"
    }
