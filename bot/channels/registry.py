"""The channels Kaiwa knows: which are on, and how they are described, opened and checked.

A new channel is a package beside this file, one line in ``CHANNELS``, and its texts.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from bot.channels import Channel, Host, Recipient, line, slack
from bot.checks import CheckResult
from bot.errors import SettingsError
from bot.settings import Settings, config_beside, secrets_in


class ChannelPackage(Protocol):
    """What the package of a channel exports. Importing it must be light; ``open`` and ``checks``
    may import more."""

    @property
    def Config(self) -> Any:
        """The pydantic model of its variables, with a property ``is_on``."""

    @property
    def RECIPIENT(self) -> Recipient:
        """Whom ALERT_TO may name on this channel."""

    def describe(self, config: Any) -> CheckResult:
        """The channel's line of the start report: ``ok`` where it is on, else ``off``."""
        ...

    def open(self, config: Any, host: Host) -> AbstractAsyncContextManager[Channel]:
        """The channel, while the context is open."""
        ...

    def checks(self, config: Any, host: Host) -> Awaitable[list[CheckResult]]:
        """The channel's part of ``kaiwa doctor``; called only where the channel is on."""
        ...


class ChannelEntry(NamedTuple):
    """One channel.

    Attributes:
        name: the channel's own, the first word of its conversations' ids.
        label: the name people read.
    """

    name: str
    label: str
    package: ChannelPackage


Registry = Sequence[ChannelEntry]

CHANNELS: Registry = (
    ChannelEntry("line", "LINE", line),
    ChannelEntry("slack", "Slack", slack),
)


def _configs(settings: Settings, registry: Registry) -> Iterator[tuple[ChannelEntry, Any]]:
    return ((entry, config_beside(entry.package.Config, settings)) for entry in registry)


def check_channels(settings: Settings, registry: Registry = CHANNELS) -> None:
    """Check every channel's variables, and that ALERT_TO names somebody on a channel that is on.

    Raises:
        SettingsError: naming the variable, and the fix.
    """
    configs = {entry.name: config for entry, config in _configs(settings, registry)}
    if not settings.alert_to:
        return
    name, _, recipient = settings.alert_to.partition(":")
    known = {entry.name: entry.package.RECIPIENT for entry in registry}
    if name not in known or not re.fullmatch(known[name].pattern, recipient):
        raise SettingsError(
            "ALERT_TO", f"write {' or '.join(each.example for each in known.values())}"
        )
    if not configs[name].is_on:
        raise SettingsError(
            "ALERT_TO", "that platform is off; set its secrets, or leave this empty"
        )


def channel_secrets(settings: Settings, registry: Registry = CHANNELS) -> list[str]:
    """The secrets of all channels, for the log to strike out; it raises like ``check_channels``."""
    return [secret for _, config in _configs(settings, registry) for secret in secrets_in(config)]


def describe_channels(settings: Settings, registry: Registry = CHANNELS) -> list[CheckResult]:
    """Each channel's line of the start report; it raises like ``check_channels``."""
    return [entry.package.describe(config) for entry, config in _configs(settings, registry)]


def open_to_everybody(settings: Settings, registry: Registry = CHANNELS) -> list[str]:
    """The labels of the channels that are on, and where ALLOWED_USERS names nobody."""
    return [
        entry.label
        for entry, config in _configs(settings, registry)
        if config.is_on and not getattr(config, "allowed_users", ())
    ]


def ways_in(settings: Settings, registry: Registry = CHANNELS) -> list[str]:
    """How others can reach Kaiwa: the labels of the channels that are on, and addresses that are
    open to other machines."""
    labels = [entry.label for entry, config in _configs(settings, registry) if config.is_on]
    return [*labels, *settings.addresses_of_others]


@asynccontextmanager
async def open_channels(
    settings: Settings, host: Host, registry: Registry = CHANNELS
) -> AsyncIterator[Mapping[str, Channel]]:
    """Every channel that is on, by name.

    Raises:
        SettingsError: a channel's variable is wrong.
    """
    async with AsyncExitStack() as stack:
        channels: dict[str, Channel] = {}
        for entry, config in _configs(settings, registry):
            if config.is_on:
                channels[entry.name] = await stack.enter_async_context(
                    entry.package.open(config, host)
                )
        yield MappingProxyType(channels)


def channel_checks(
    settings: Settings,
    open_host: Callable[[], AbstractAsyncContextManager[Host]],
    registry: Registry = CHANNELS,
) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """By label, what checks each channel: the line of the start report, and where the channel is on
    its checks."""

    async def check(entry: ChannelEntry) -> list[CheckResult]:
        config = config_beside(entry.package.Config, settings)
        state = entry.package.describe(config)
        if not config.is_on:
            return [state]
        async with open_host() as host:
            return [state, *await entry.package.checks(config, host)]

    return {entry.label: partial(check, entry) for entry in registry}
