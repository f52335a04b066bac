"""What ``kaiwa doctor`` checks of LINE, and what it can fix: the webhook's address, and the menu
below chats."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from urllib.parse import urlsplit

from bot.channels import KeyValue
from bot.channels.line import Config
from bot.channels.line.client import Failure
from bot.channels.line.delivery import WARN_AT
from bot.channels.line.inbound import PATH
from bot.channels.line.rich_menu import CHECK as MENU
from bot.channels.line.rich_menu import OURS, set_menu
from bot.channels.line.sdk import Sdk
from bot.channels.line.types import BotInfo, Quota, RichMenu, WebhookEndpoint, WebhookTest
from bot.channels.traffic import Traffic, read_traffic
from bot.checks import CheckResult, ago
from bot.clock import now_ms
from bot.errors import BadInput, StoreUnavailable
from bot.texts import Texts

AGAIN_MS = 3_600_000  # LINE redelivers no later
SWITCH_REDELIVERY = "switch on “Webhook redelivery” in LINE's console"
TEST_FIXES = {
    400: "LINE_CHANNEL_SECRET is probably wrong",
    404: "something else is at that address, or Kaiwa runs there without LINE",
    503: "Kaiwa runs there, and its store does not answer",
}

AnswerT = TypeVar("AnswerT")


async def run_checks(
    config: Config, kv: KeyValue, clock: Callable[[], int] = now_ms
) -> list[CheckResult]:
    """Check the token, the account, the webhook, the quota, the menu, and the recorded traffic.

    Args:
        clock: milliseconds since the epoch.
    """
    async with _sdk(config) as sdk:
        bot, webhook, test, quota, menu = await asyncio.gather(
            _catch(sdk.get_bot()),
            _catch(sdk.get_webhook()),
            _catch(sdk.test_webhook()),
            _catch(sdk.get_quota()),
            _catch(sdk.get_default_menu()),
        )
    seen = await _check_traffic(kv, clock())
    if isinstance(bot, Failure):
        return [_bad_token(bot), *seen]
    results = [
        CheckResult("ok", "LINE token", f"works for {bot.name} ({bot.basic_id})"),
        _check_chat(bot),
        _check_webhook(webhook),
    ]
    if webhook is not None:
        results.append(_check_test(test))
    return [*results, _check_quota(quota), _check_menu(menu), *seen]


async def set_up(config: Config, url: str, texts: Texts, language: str) -> list[CheckResult]:
    """Have LINE post to Kaiwa at this address and let LINE try; then set the menu.

    Raises:
        BadInput: LINE cannot post to such an address.
    """
    address = _webhook_of(url)
    async with _sdk(config) as sdk:
        try:
            await sdk.set_webhook(address)
        except Failure as failure:
            if failure.status == 401:
                return [_bad_token(failure)]
            return [
                CheckResult(
                    "failure",
                    "LINE webhook",
                    f"not set to {address}: {failure}",
                    "is the address right?",
                )
            ]
        # LINE takes a minute to use a new address by itself, so the test names it.
        webhook, test = await asyncio.gather(
            _catch(sdk.get_webhook()), _catch(sdk.test_webhook(address))
        )
        menu = await set_menu(sdk, texts, language)
    return [
        CheckResult("ok", "LINE", f"webhook set to {address}"),
        _check_webhook(webhook),
        _check_test(test),
        menu,
    ]


def _sdk(config: Config) -> Sdk:
    token = config.line_channel_access_token.get_secret_value()
    return Sdk(token, config.line_api_base_url, config.line_data_api_base_url)


def _webhook_of(url: str) -> str:
    bare = url.rstrip("/")
    try:
        parts = urlsplit(bare)
        is_usable = (
            bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
            and "@" not in parts.netloc
        )
    except ValueError:
        is_usable = False
    if (
        not is_usable
        or bare != f"https://{parts.netloc}"
        or not bare.isascii()
        or not bare.isprintable()
    ):
        raise BadInput(f"--url: write it as https://host, without a path; {PATH} is added to it")
    return bare + PATH


async def _catch(question: Awaitable[AnswerT]) -> AnswerT | Failure:
    try:
        return await question
    except Failure as failure:
        return failure


def _bad_token(failure: Failure) -> CheckResult:
    if failure.status == 401:
        fix = "issue a new channel access token in LINE's console"
        return CheckResult("failure", "LINE token", "LINE refuses LINE_CHANNEL_ACCESS_TOKEN", fix)
    return CheckResult(
        "failure", "LINE token", f"LINE does not say: {failure}", "is LINE reachable from here?"
    )


def _check_chat(bot: BotInfo) -> CheckResult:
    if bot.is_chat_on:
        fix = "switch Chat off under Response settings in LINE Official Account Manager"
        return CheckResult(
            "warning",
            "LINE chat",
            "on: people's messages wait for a person to answer them, too",
            fix,
        )
    return CheckResult("ok", "LINE chat", "off: the bot answers alone")


def _check_webhook(webhook: WebhookEndpoint | Failure | None) -> CheckResult:
    name = "LINE webhook"
    if isinstance(webhook, Failure):
        return CheckResult("warning", name, f"not known: {webhook}")
    if webhook is None:
        return CheckResult(
            "failure", name, "no address is set", "kaiwa doctor --fix --url https://…"
        )
    if not webhook.is_active:
        return CheckResult(
            "failure",
            name,
            f"{webhook.url}, not in use",
            "switch on “Use webhook” in LINE's console",
        )
    if urlsplit(webhook.url).path != PATH:
        fix = f"Kaiwa answers at {PATH}: kaiwa doctor --fix --url https://…"
        return CheckResult("warning", name, f"{webhook.url}, in use", fix)
    return CheckResult("ok", name, f"{webhook.url}, in use")


def _check_test(test: WebhookTest | Failure) -> CheckResult:
    name = "LINE test"
    if isinstance(test, Failure):
        return CheckResult("warning", name, f"not made: {test}")
    if test.success:
        return CheckResult("ok", name, "LINE reaches the webhook")
    fix = TEST_FIXES.get(test.status, "does Kaiwa run, and does the address lead to it?")
    return CheckResult(
        "failure", name, f"LINE does not reach the webhook: {test.reason} ({test.detail})", fix
    )


def _check_quota(quota: Quota | Failure) -> CheckResult:
    name = "LINE messages"
    if isinstance(quota, Failure):
        return CheckResult("warning", name, f"not known: {quota}")
    if quota.limit is None:
        return CheckResult("ok", name, f"{quota.used} pushed this month, no limit")
    detail = f"{quota.used} of {quota.limit} pushed this month"
    if quota.percent >= 100:
        fix = "late answers wait for a press of their button; buy more, or wait for the next month"
        return CheckResult("warning", name, detail, fix)
    if quota.percent >= WARN_AT:
        fix = "replies cost nothing, late answers do; buy more, or wait for the next month"
        return CheckResult("warning", name, detail, fix)
    return CheckResult("ok", name, detail)


def _check_menu(menu: RichMenu | Failure | None) -> CheckResult:
    if isinstance(menu, Failure):
        return CheckResult("warning", MENU, f"not known: {menu}")
    if menu is None:
        fix = (
            "kaiwa doctor --fix --url https://… sets one, which hides one of LINE Official "
            "Account Manager"
        )
        return CheckResult("ok", MENU, "none is set by LINE's API", fix)
    if menu.name.startswith(OURS):
        return CheckResult("ok", MENU, "Kaiwa's")
    return CheckResult("ok", MENU, "one that is not Kaiwa's")


async def _check_traffic(kv: KeyValue, now: int) -> list[CheckResult]:
    try:
        seen = await read_traffic(kv, "line")
    except StoreUnavailable:
        return [CheckResult("warning", "LINE traffic", "not known: the store does not answer")]
    return [_check_redelivery(seen, now), seen.check("LINE traffic", "LINE_CHANNEL_SECRET", now)]


def _check_redelivery(seen: Traffic, now: int) -> CheckResult:
    """LINE says nowhere whether it is on; only what it does after a refusal shows it."""
    name = "LINE redelivery"
    if seen.last_refused > seen.last_redelivery and now - seen.last_refused > AGAIN_MS:
        detail = f"a webhook refused {ago(seen.last_refused, now)} has not come again"
        return CheckResult("warning", name, detail, SWITCH_REDELIVERY)
    if seen.last_redelivery:
        return CheckResult("ok", name, f"on, last {ago(seen.last_redelivery, now)}")
    return CheckResult("ok", name, "LINE does not tell whether it is on", SWITCH_REDELIVERY)
