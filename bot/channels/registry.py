"""The channels Kaiwa knows: which are on, and how they are described, opened and checked.

A new channel is a package beside this file, one line in ``CHANNELS``, and its texts.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from bot.channels import Channel, Host, Recipient, line, slack
from bot.channels.accounts import keep_accounts, named_conversations, read_accounts
from bot.checks import CheckResult
from bot.errors import SettingsError
from bot.settings import Settings, config_beside, secrets_in
from bot.transcript import channel_named, platform_of


class ChannelPackage(Protocol):
    """What the package of a channel exports. Importing it must be light; ``open`` and ``checks``
    may import more."""

    @property
    def Config(self) -> Any:
        """The pydantic model of its variables, with a property ``is_on``."""

    @property
    def RECIPIENT(self) -> Recipient:
        """Whom ALERT_TO may name on this channel."""

    def accounts(self, config: Any, account: str) -> Sequence[str]:
        """The accounts of the channels that ``open`` opens."""
        ...

    def describe(self, config: Any, account: str) -> CheckResult:
        """The channel's line of the start report: ``ok`` where it is on, else ``off``."""
        ...

    def open(self, config: Any, host: Host) -> AbstractAsyncContextManager[Sequence[Channel]]:
        """The channels of the host's account, while the context is open."""
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


class Account(NamedTuple):
    """One account of a platform; the only one, whose variables are ``Config``'s, has no name."""

    entry: ChannelEntry
    name: str
    config: Any

    @property
    def label(self) -> str:
        """The name people read."""
        return f"{self.entry.label} {self.name}".rstrip()

    @property
    def channels(self) -> list[str]:
        """The names of its channels."""
        accounts = self.entry.package.accounts(self.config, self.name)
        return [channel_named(self.entry.name, account) for account in accounts]

    def described(self) -> CheckResult:
        """Its line of the start report."""
        return self.renamed(self.entry.package.describe(self.config, self.name))

    def renamed(self, result: CheckResult) -> CheckResult:
        """A result of its package, which knows the platform's label alone."""
        return replace(result, name=result.name.replace(self.entry.label, self.label, 1))


def _accounts(settings: Settings, registry: Registry) -> list[Account]:
    """All accounts; a platform that is off stands for itself if it has none in the file.

    Raises:
        SettingsError: a variable, or a table of PLACES, is wrong.
    """
    entries = {entry.name: entry for entry in registry}
    of_tables = {name: account_config(entry.package) for name, entry in entries.items()}
    named = [
        Account(entries[platform], name, config)
        for platform, name, config in read_accounts(settings, of_tables)
    ]
    used = {one.entry.name for one in named}
    found: list[Account] = []
    for entry in registry:
        config = config_beside(entry.package.Config, settings)
        if config.is_on or entry.name not in used:
            found.append(Account(entry, "", config))
    return [*found, *named]


def accounts_of(platform: str, settings: Settings) -> list[Account]:
    """The accounts of one platform that are on; it raises like ``check_channels``."""
    accounts = _accounts(settings, CHANNELS)
    return [one for one in accounts if one.entry.name == platform and one.config.is_on]


def account_config(package: ChannelPackage) -> Any:
    """The model of an ``[[account]]`` table, which may have more fields than the variables."""
    return getattr(package, "AppConfig", package.Config)


def check_channels(settings: Settings, registry: Registry = CHANNELS) -> None:
    """Check every channel's variables and tables, and that ALERT_TO names somebody on a channel
    that is on.

    Raises:
        SettingsError: naming the variable, and the fix.
    """
    accounts = _accounts(settings, registry)
    if not settings.alert_to:
        return
    name, _, recipient = settings.alert_to.partition(":")
    known = {entry.name: entry.package.RECIPIENT for entry in registry}
    platform = platform_of(name)
    if platform not in known or not re.fullmatch(known[platform].pattern, recipient):
        raise SettingsError(
            "ALERT_TO", f"write {' or '.join(each.example for each in known.values())}"
        )
    on = [channel for one in accounts if one.config.is_on for channel in one.channels]
    if name not in on:
        fix = "that platform is off; set its secrets, or leave this empty"
        if any("@" in channel for channel in on):
            fix = f"no such account; begin with one of {', '.join(on)}"
        raise SettingsError("ALERT_TO", fix)


def channel_secrets(settings: Settings, registry: Registry = CHANNELS) -> list[str]:
    """The secrets of all channels, for the log to strike out; it raises like ``check_channels``."""
    return [secret for one in _accounts(settings, registry) for secret in secrets_in(one.config)]


def describe_channels(settings: Settings, registry: Registry = CHANNELS) -> list[CheckResult]:
    """Each account's line of the start report; it raises like ``check_channels``."""
    return [one.described() for one in _accounts(settings, registry)]


def open_to_everybody(settings: Settings, registry: Registry = CHANNELS) -> list[str]:
    """The labels of the accounts that are on, and where ALLOWED_USERS names nobody."""
    return [
        one.label
        for one in _accounts(settings, registry)
        if one.config.is_on and not getattr(one.config, "allowed_users", ())
    ]


def ways_in(settings: Settings, registry: Registry = CHANNELS) -> list[str]:
    """How others can reach Kaiwa: the labels of the accounts that are on, and addresses that are
    open to other machines."""
    labels = [one.label for one in _accounts(settings, registry) if one.config.is_on]
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
        for one in _accounts(settings, registry):
            if one.config.is_on:
                own = replace(host, account=one.name)
                opened = one.entry.package.open(one.config, own)
                for channel in await stack.enter_async_context(opened):
                    channels[channel.name] = channel
        keep_accounts(settings)
        yield MappingProxyType(channels)


def channel_checks(
    settings: Settings,
    open_host: Callable[[], AbstractAsyncContextManager[Host]],
    registry: Registry = CHANNELS,
) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """By label, what checks each account: the line of the start report, and where it is on its
    checks."""

    async def check(one: Account) -> list[CheckResult]:
        if not one.config.is_on:
            return [one.described()]
        async with open_host() as host:
            own = replace(host, account=one.name, named=named_conversations(settings))
            results = await one.entry.package.checks(one.config, own)
        return [one.described(), *map(one.renamed, results)]

    return {one.label: partial(check, one) for one in _accounts(settings, registry)}
