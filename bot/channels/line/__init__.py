"""LINE: people and groups, by webhook.

    channel     the Protocol's class: names, files, read and loading
    types       LINE's data as structs
    inbound     the webhook endpoint, and what stands in the inbox
    client      replies, pushes and files
    sdk         all else, by LINE's SDK
    oauth       whether token and secret belong together, for kaiwa setup
    formatting  a reply as messages, with Markdown as plain text and tables
    delivery    reply token or push
    doctor      for kaiwa doctor, and the menu below chats

This module is light: what it opens is imported then. Its docs:
https://developers.line.biz/en/reference/messaging-api/
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, model_validator

from bot.channels import Channel, Host, Recipient
from bot.checks import CheckResult
from bot.errors import SettingsError
from bot.settings import NO_SECRET
from bot.settings.types import BaseURL, Names, Secret

# What LINE_PUSH does, for start report and doctor.
PUSHES = {
    "auto": (
        "late answers are pushed while the month's quota lasts, then fetched by a button "
        "(LINE_PUSH=auto)"
    ),
    "always": "all answers are pushed while the month's quota lasts (LINE_PUSH=always)",
    "never": "late answers are fetched by a button (LINE_PUSH=never)",
}
RECIPIENT = Recipient(r"[UCR][0-9a-f]{32}", "line:U… (a person's, group's or room's id)")


def _sender_name(value: str) -> str:
    """As LINE wants it:
    https://developers.line.biz/en/reference/messaging-api/#icon-nickname-switch"""
    if len(value) > 20 or "line" in value.casefold():
        raise ValueError("write at most 20 characters, without the word LINE")
    return value


def _picture_url(value: str) -> str:
    parts = urlsplit(value)
    if value and not (
        parts.scheme == "https" and parts.hostname and value.isascii() and len(value) <= 2_000
    ):
        raise ValueError("write the https address of a square PNG of at most 1 MB")
    return value


class Config(BaseModel):
    """What an operator sets for LINE; field names are the variables in lower case.

    Attributes:
        line_push: ``auto`` replies by token, and pushes what is late while the month's quota lasts;
            ``always`` pushes; ``never`` does not. What is late and not pushed, its asker fetches by
            a button.
        line_daily_user_pushes: how many messages a person's pushes may count as in a day; 0: no
            limit.
        line_sender_name: is shown in place of the account's name; so is the icon.
        allowed_users: user ids; empty for everybody.
        allowed_groups: group and room ids; empty for all.
        approvers: user ids of those who may decide besides the asker.
    """

    line_channel_secret: Secret = NO_SECRET
    line_channel_access_token: Secret = NO_SECRET
    line_api_base_url: BaseURL = "https://api.line.me"
    line_data_api_base_url: BaseURL = "https://api-data.line.me"
    line_push: Literal["auto", "always", "never"] = "auto"
    line_daily_user_pushes: int = Field(default=20, ge=0)
    line_sender_name: Annotated[str, AfterValidator(_sender_name)] = ""
    line_sender_icon_url: Annotated[str, AfterValidator(_picture_url)] = ""
    allowed_users: Names = ()
    allowed_groups: Names = ()
    approvers: Names = ()

    @property
    def is_on(self) -> bool:
        """Whether LINE is used."""
        return bool(self.line_channel_secret.get_secret_value())

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        """Refuse one secret without the other."""
        if self.is_on != bool(self.line_channel_access_token.get_secret_value()):
            missing = "LINE_CHANNEL_ACCESS_TOKEN" if self.is_on else "LINE_CHANNEL_SECRET"
            fix = "LINE needs this and its other secret; set both, or neither"
            raise SettingsError(missing, fix)
        return self


def accounts(config: Config, account: str) -> list[str]:
    """The accounts of the channels that ``open`` opens."""
    return [account]


def describe(config: Config, account: str) -> CheckResult:
    """LINE's line of the start report."""
    if not config.is_on:
        return CheckResult(
            "off",
            "LINE",
            "off",
            "set LINE_CHANNEL_SECRET and LINE_CHANNEL_ACCESS_TOKEN to turn it on",
        )
    who = "everybody"
    if config.allowed_users or config.allowed_groups:
        who = "allowed users and groups"
    fix = "" if config.allowed_users else "set ALLOWED_USERS to answer some only"
    path = f"/webhooks/line/{account}".rstrip("/")
    return CheckResult("ok", "LINE", f"answers {who} at {path}; {PUSHES[config.line_push]}", fix)


@asynccontextmanager
async def open(config: Config, host: Host) -> AsyncIterator[Sequence[Channel]]:
    """The channel, while the context is open."""
    from bot.channels.line.channel import Line

    async with Line(config, host) as line:
        yield [line]


async def checks(config: Config, host: Host) -> list[CheckResult]:
    """What ``kaiwa doctor`` says of LINE."""
    from bot.channels.line.doctor import run_checks

    return await run_checks(config, host.kv, account=host.account)
