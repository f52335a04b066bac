"""The intake, the channels and the turns of a process, connected: the only module that knows all
these."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from bot.app.console import make_console
from bot.app.services import ProcessServices
from bot.channels import Accept, Channel, Host, Listens
from bot.channels.access import Access
from bot.channels.console.channel import Console
from bot.channels.registry import CHANNELS, ChannelEntry, open_channels, open_to_everybody
from bot.clock import Days
from bot.errors import SettingsError
from bot.features.registry import load_features
from bot.pipeline.accept import Intake, Refusals
from bot.pipeline.runner import ConversationRunner
from bot.pipeline.services import (
    NO_LIMITS,
    ConversationSettings,
    Defaults,
    Start,
    make_services,
)
from bot.pipeline.services import Services as ConversationServices
from bot.settings import Settings, config_beside
from bot.tasks import hold_lock
from bot.web.files import SignedFiles

LISTENS_POLL_S = 0.5  # until another process takes over a connection to a platform


@dataclass(frozen=True, slots=True)
class Runtime:
    """The intake, the channels and the turns of one process.

    Attributes:
        files: of tool calls.
        access: whether the platforms take our secrets.
    """

    intake: Intake
    refusals: Refusals
    console: Console
    channels: Mapping[str, Channel]
    conversations: ConversationRunner
    files: SignedFiles
    access: Access


@asynccontextmanager
async def open_runtime(
    services: ProcessServices,
    start: Start,
    *,
    only_console: bool = False,
    listens: bool = False,
    is_start: bool = False,
    works: bool = True,
    registry: Sequence[ChannelEntry] = CHANNELS,
) -> AsyncIterator[Runtime]:
    """Open the channels and connect intake, channels and turns.

    Args:
        start: tells this process's worker of a conversation that is due.
        only_console: open no other channel.
        listens: this process accepts messages, also through Slack's Socket Mode.
        is_start: Kaiwa starts with this process, which ends if a platform refuses its secrets.
        works: this process runs turns.
        registry: all channels that exist.

    Raises:
        TokenRefused: a platform refuses a secret, and ``is_start``.
    """
    settings, store, texts = services.settings, services.store, services.texts
    channels: dict[str, Channel] = {}
    signed = SignedFiles(store.files, settings.secret_key, settings.public_url)
    conversations = make_services(
        store,
        services.agent,
        MappingProxyType(channels),
        texts,
        services.metrics,
        _options(settings),
        models=services.models,
        other_models=services.other_models,
        start=start,
        features=load_features(partial(config_beside, settings=settings)),
    )
    runner = ConversationRunner(conversations, services.agent)
    if not only_console:
        check_limits(settings, registry, admits=conversations.features.limits is not NO_LIMITS)
    intake, alerts = Intake(conversations), conversations.alerts
    refusals = Refusals(intake, services.metrics, partial(alerts.notice, "webhooks_refused"))
    access = Access(alerts.notice, ends=is_start)
    console = make_console(services, refusals, signed, conversations.features)
    channels[console.name] = console
    async with AsyncExitStack() as stack:
        await conversations.features.open()
        if not only_console:
            host = _host(
                services, refusals, signed, conversations, listens=listens, is_start=is_start
            )
            opened = await stack.enter_async_context(open_channels(settings, host, registry))
            channels |= opened
            alerts.connect(channels)
            await stack.enter_async_context(access.check(opened))
        await stack.enter_async_context(aclosing(conversations.features))
        if works:
            await stack.enter_async_context(runner.interrupts.listen())
        yield Runtime(intake, refusals, console, channels, runner, signed, access)


def _options(settings: Settings) -> ConversationSettings:
    zone = settings.timezone
    defaults = Defaults(settings.language, zone, settings.bot_name, settings.history_days)
    return ConversationSettings(defaults, settings.history_tokens, Days(zone), settings.alert_to)


def _host(
    services: ProcessServices,
    accept: Accept,
    signed: SignedFiles,
    conversations: ConversationServices,
    *,
    listens: bool,
    is_start: bool,
) -> Host:
    settings, store = services.settings, services.store
    listening: Listens = partial(_hold, services.shared) if services.shared else nullcontext
    return Host(
        accept,
        store.kv,
        store.priority_kv,
        texts=services.texts,
        language=settings.language,
        bot_name=settings.bot_name,
        notify=conversations.alerts.notice,
        tool_commands=services.tools.commands,
        listens=listening if listens else None,
        is_start=is_start,
        files=signed,
        clock=store.clock,
        days=settings.history_days,
        overviews=conversations.features,
        find_conversation=store.inbox.find_conversation,
        may_use=conversations.features.limits.may_use,
        settings_of=conversations.settings_of,
    )


def _hold(shared: Path, channel: str) -> AbstractAsyncContextManager[None]:
    """Hold a channel's lock among the processes that share a port."""
    return hold_lock(shared / f"listens-{channel}.lock", LISTENS_POLL_S)


def check_limits(
    settings: Settings, registry: Sequence[ChannelEntry] = CHANNELS, *, admits: bool
) -> None:
    """Check that a feature limits what strangers may use, if they can write.

    Args:
        admits: one does.

    Raises:
        SettingsError: none does.
    """
    if not admits and (labels := open_to_everybody(settings, registry)):
        where = f"on {' and '.join(labels)} strangers may use as much as they like"
        fix = "add limits to bot/features/registry.py, or name here who may write"
        raise SettingsError("ALLOWED_USERS", f"{where}; {fix}")
