"""A channel is a package and a line of the registry: nothing else names it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
from pydantic import BaseModel, SecretStr

from bot.app import site
from bot.app.runtime import open_runtime
from bot.app.services import open_services
from bot.channels import Channel, Host, InboundEvent, Recipient
from bot.channels.registry import (
    CHANNELS,
    ChannelEntry,
    channel_checks,
    channel_secrets,
    check_channels,
    open_channels,
    ways_in,
)
from bot.checks import CheckResult
from bot.errors import SettingsError
from bot.ops.startup import start_report
from bot.settings import Settings, load
from bot.worker import ChatWorker
from tests.bot.channels.post_box import ROOM, PostBox
from tests.bot.harness import texts
from tests.fakes.kv import LocalKeyValue
from tests.waiting import until

OFF = CheckResult("off", "Post box", "off", "set POSTBOX_TOKEN to turn it on")


class PostBoxPackage:
    """What the package of that channel exports."""

    class Config(BaseModel):
        """What an operator sets for it."""

        postbox_token: SecretStr = SecretStr("")
        language: str = ""

        @property
        def is_on(self) -> bool:
            return bool(self.postbox_token.get_secret_value())

    RECIPIENT = Recipient("room-[0-9]+", "postbox:room-… (a room's id)")

    def __init__(self) -> None:
        self.opened: list[PostBox] = []

    def accounts(self, config: Config, account: str) -> list[str]:
        return [account]

    def describe(self, config: Config, account: str) -> CheckResult:
        return CheckResult("ok", "Post box", "takes letters") if config.is_on else OFF

    @asynccontextmanager
    async def open(self, config: Config, host: Host) -> AsyncIterator[list[Channel]]:
        box = PostBox(host)
        self.opened.append(box)
        yield [box]
        self.opened.remove(box)

    async def checks(self, config: Config, host: Host) -> list[CheckResult]:
        return [CheckResult("ok", "Post box", f"speaks {config.language}, as {host.bot_name}")]


@pytest.fixture
def package() -> PostBoxPackage:
    return PostBoxPackage()


@pytest.fixture
def registry(package: PostBoxPackage) -> tuple[ChannelEntry, ...]:
    """The channels there are, and one line more."""
    return (*CHANNELS, ChannelEntry("postbox", "Post box", package))


async def no_inbox(conversation: str, arrival: InboundEvent) -> bool:
    return True


def host() -> Host:
    notes = LocalKeyValue()
    return Host(no_inbox, notes, notes, texts())


@asynccontextmanager
async def open_host() -> AsyncIterator[Host]:
    yield host()


async def test_a_channel_that_the_registry_alone_names_answers(
    settings: Settings,
    package: PostBoxPackage,
    registry: tuple[ChannelEntry, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From its webhook through a turn to its delivery."""
    monkeypatch.setenv("POSTBOX_TOKEN", "token")
    worker = ChatWorker(ROOM)
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_services(settings, settings.store_url))
        runtime = await stack.enter_async_context(
            open_runtime(services, worker.add, registry=registry)
        )
        await stack.enter_async_context(worker.run(runtime.conversations.process))
        transport = httpx.ASGITransport(site.asgi(services, runtime, None))
        web = await stack.enter_async_context(
            httpx.AsyncClient(transport=transport, base_url="http://kaiwa")
        )
        assert (await web.post("/webhooks/postbox", content="what is 6*7?")).status_code == 200
        [box] = package.opened
        await until(lambda: bool(box.delivered))
        assert "42" in box.texts[0]
        assert (await web.get("/metrics")).status_code == 403
    assert package.opened == []


async def test_what_is_off_is_not_opened(
    settings: Settings, registry: tuple[ChannelEntry, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the mapping of what is on cannot be changed."""
    async with open_channels(settings, host(), registry) as none:
        assert list(none) == []
    monkeypatch.setenv("LINE_CHANNEL_ACCESS_TOKEN", "t")
    line_on = settings.model_copy(update={"line_channel_secret": SecretStr("s")})
    async with open_channels(line_on, host(), registry) as one:
        assert list(one) == ["line"]
        with pytest.raises(TypeError):
            one["line"] = one["line"]  # type: ignore[index]  # mypy refuses it too


async def test_the_doctor_checks_it(
    settings: Settings, registry: tuple[ChannelEntry, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is on is its Config's matter; what Settings has too comes from there."""
    japanese = settings.model_copy(update={"language": "ja"})
    checks = channel_checks(japanese, open_host, registry)
    assert list(checks) == ["LINE", "Slack", "Post box"]
    assert await checks["Post box"]() == [OFF]
    monkeypatch.setenv("POSTBOX_TOKEN", "token")
    checks = channel_checks(japanese, open_host, registry)
    assert [check.detail for check in await checks["Post box"]()] == [
        "takes letters",
        "speaks ja, as Kaiwa",
    ]


def test_the_start_report_lists_it(
    settings: Settings, registry: tuple[ChannelEntry, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside LINE and Slack, on or off."""
    assert [part.name for part in start_report(settings, registry)][1:4] == [
        "LINE",
        "Slack",
        "Post box",
    ]
    assert OFF in start_report(settings, registry)
    monkeypatch.setenv("POSTBOX_TOKEN", "token")
    assert CheckResult("ok", "Post box", "takes letters") in start_report(settings, registry)


def test_the_log_strikes_out_its_secrets(
    settings: Settings, registry: tuple[ChannelEntry, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings do not know them."""
    monkeypatch.setenv("POSTBOX_TOKEN", "token")
    assert "token" in channel_secrets(settings, registry)
    assert "token" not in settings.secrets


def test_alerts_may_go_there(
    registry: tuple[ChannelEntry, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the channel is on and the id has the channel's form."""
    monkeypatch.setenv("ALERT_TO", "postbox:room-1")
    with pytest.raises(SettingsError, match=r"^ALERT_TO: that platform is off"):
        check_channels(load(), registry)
    monkeypatch.setenv("POSTBOX_TOKEN", "token")
    check_channels(load(), registry)
    monkeypatch.setenv("ALERT_TO", "postbox:hall")
    with pytest.raises(SettingsError, match=r"^ALERT_TO: write .*postbox:room-… \(a room's id\)$"):
        check_channels(load(), registry)


@pytest.mark.parametrize(
    "recipient", ["C0123456789", "line:C0123456789", "slack:#general", "console:U1"]
)
def test_a_recipient_of_no_channel_is_refused(
    monkeypatch: pytest.MonkeyPatch, recipient: str
) -> None:
    """One line with the fix, without the value, which may be a secret in the wrong place."""
    monkeypatch.setenv("ALERT_TO", recipient)
    with pytest.raises(
        SettingsError, match=r"^ALERT_TO: write line:U… .* or slack:C… [^\n]*$"
    ) as refused:
        check_channels(load())
    assert refused.value.variable == "ALERT_TO"
    assert recipient not in str(refused.value)


def test_others_reach_kaiwa_there(
    settings: Settings, registry: tuple[ChannelEntry, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on LINE and Slack: calls that act are not made there unasked."""
    assert ways_in(settings, registry) == []
    monkeypatch.setenv("POSTBOX_TOKEN", "token")
    assert ways_in(settings, registry) == ["Post box"]
