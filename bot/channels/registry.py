"""The channels Kaiwa knows: which are on, and how they are opened and checked.

A new channel is a package beside this file, one line in ``CHANNELS``, and its texts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from bot.channels import Channel, Host, line, slack
from bot.checks import CheckResult
from bot.settings import Settings, channel_config, refuse_auto_approval


class ChannelPackage(Protocol):
    """What the package of a channel exports; importing it must be light, ``open`` may load more."""

    @property
    def Config(self) -> Any:
        """The pydantic model of its variables, with a property ``is_on``."""

    def open(self, config: Any, host: Host) -> AbstractAsyncContextManager[Channel]:
        """The channel, while the context is open."""
        ...

    def checks(self, config: Any, host: Host) -> Awaitable[list[CheckResult]]:
        """What ``kaiwa doctor`` says of it; called only where it is on."""
        ...


class ChannelEntry(NamedTuple):
    """One channel.

    Attributes:
        name: the channel's own, the first word of its conversations' ids.
        label: in the doctor's report.
    """

    name: str
    label: str
    package: ChannelPackage


CHANNELS = (
    ChannelEntry("line", "LINE", line),
    ChannelEntry("slack", "Slack", slack),
)


@asynccontextmanager
async def open_channels(
    settings: Settings, host: Host, registry: Sequence[ChannelEntry] = CHANNELS
) -> AsyncIterator[Mapping[str, Channel]]:
    """Every channel that is on, by name.

    Raises:
        SettingsError: a channel's variable is wrong, or calls that act would run there without approval.
    """
    async with AsyncExitStack() as stack:
        channels: dict[str, Channel] = {}
        for entry in registry:
            config = channel_config(entry.package.Config, settings)
            if config.is_on:
                refuse_auto_approval(settings, entry.label)
                channels[entry.name] = await stack.enter_async_context(entry.package.open(config, host))
        yield MappingProxyType(channels)


def channel_checks(
    settings: Settings,
    open_host: Callable[[], AbstractAsyncContextManager[Host]],
    registry: Sequence[ChannelEntry] = CHANNELS,
) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """What checks each channel, by label."""

    async def check(entry: ChannelEntry) -> list[CheckResult]:
        config = channel_config(entry.package.Config, settings)
        if not config.is_on:
            return [CheckResult("off", entry.label, "off")]
        async with open_host() as host:
            return await entry.package.checks(config, host)

    return {entry.label: partial(check, entry) for entry in registry}
