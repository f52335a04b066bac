"""What ``kaiwa doctor`` checks of LINE, and what it can fix: the webhook's address, and the menu
below chats.

The menu has one tap for each of a few commands; its picture is a file for each language, with the
buttons' labels in it. A menu that another program has set stays. A menu of LINE Official Account
Manager is hidden: programs cannot see it, and any default menu of the API comes before it.
https://developers.line.biz/en/docs/messaging-api/using-rich-menus/
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from bot.channels import KeyValue
from bot.channels.line.client import Failure
from bot.channels.line.delivery import WARN_AT
from bot.channels.line.inbound import PATH, path_of
from bot.channels.line.sdk import Sdk
from bot.channels.line.types import (
    JSON,
    BotInfo,
    Quota,
    RichMenu,
    WebhookEndpoint,
    WebhookTest,
    action_of,
)
from bot.channels.traffic import Traffic, read_traffic
from bot.checks import CheckResult, ago
from bot.clock import now_ms
from bot.errors import BadInput, StoreUnavailable
from bot.texts import Texts
from bot.transcript import channel_named

if TYPE_CHECKING:
    from bot.channels.line import Config

AGAIN_MS = 3_600_000  # LINE redelivers no later
SET_UP = "kaiwa doctor --fix --url https://…"
SWITCH_REDELIVERY = "switch on “Webhook redelivery” in LINE's console"
TEST_FIXES = {
    400: "LINE_CHANNEL_SECRET is probably wrong",
    404: "something else is at that address, or Kaiwa runs there without LINE",
    503: "Kaiwa runs there, and its store does not answer",
}
WEBHOOK, TEST, MENU = "LINE webhook", "LINE test", "LINE menu"
NO_WEBHOOK = CheckResult("failure", WEBHOOK, "no address is set", SET_UP)
OURS = "kaiwa menu "  # a menu's name begins so; a digest of the content follows
WIDTH, HEIGHT = 1_200, 405  # pixels; one of the sizes that LINE names

AnswerT = TypeVar("AnswerT")


async def run_checks(
    config: Config, kv: KeyValue, clock: Callable[[], int] = now_ms, account: str = ""
) -> list[CheckResult]:
    """Check the token, the account, the webhook, the quota, the menu, and the recorded traffic.

    Args:
        clock: milliseconds since the epoch.
    """
    webhook_result = partial(_webhook_result, path=path_of(account))
    async with Sdk(config) as sdk:
        bot, webhook, *others = await asyncio.gather(
            _check_bot(sdk),
            _check(WEBHOOK, sdk.get_webhook(), webhook_result),
            _check(TEST, sdk.test_webhook(), _test_result, "made"),
            _check("LINE messages", sdk.get_quota(), _quota_result),
            _check(MENU, sdk.get_default_menu(), _menu_result),
        )
    seen = await _check_traffic(kv, channel_named("line", account), clock())
    if bot[0].result == "failure":
        return [*bot, *seen]
    if webhook == NO_WEBHOOK:
        others = others[1:]
    return [*bot, webhook, *others, *seen]


async def set_up(
    config: Config, url: str, texts: Texts, language: str, account: str = ""
) -> list[CheckResult]:
    """Have LINE post to Kaiwa at this address and let LINE try; then set the menu.

    Raises:
        BadInput: LINE cannot post to such an address.
    """
    address = _checked(url) + path_of(account)
    webhook_result = partial(_webhook_result, path=path_of(account))
    async with Sdk(config) as sdk:
        try:
            await sdk.set_webhook(address)
        except Failure as failure:
            if failure.status == 401:
                return [bad_token(failure)]
            detail = f"not set to {address}: {failure}"
            return [CheckResult("failure", WEBHOOK, detail, "is the address right?")]
        # LINE takes a minute to use a new address by itself, so the test names it.
        webhook, test = await asyncio.gather(
            _check(WEBHOOK, sdk.get_webhook(), webhook_result),
            _check(TEST, sdk.test_webhook(address), _test_result, "made"),
        )
        menu = await _set_menu(sdk, texts, language)
    return [CheckResult("ok", "LINE", f"webhook set to {address}"), webhook, test, menu]


def _checked(url: str) -> str:
    """The address of a Kaiwa; raises as ``set_up``."""
    bare = url.rstrip("/")
    try:
        parts = urlsplit(bare)
        is_usable = parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        is_usable = False
    is_bare = is_usable and bare == f"https://{parts.netloc}"
    if not (is_bare and bare.isascii() and bare.isprintable()):
        raise BadInput(f"--url: write it as https://host, without a path; {PATH} is added to it")
    return bare


async def _check(
    name: str,
    question: Awaitable[AnswerT],
    result_of: Callable[[AnswerT], CheckResult],
    done: str = "known",
) -> CheckResult:
    """The result of a question to LINE; without an answer it was not ``done``."""
    try:
        return result_of(await question)
    except Failure as failure:
        return CheckResult("warning", name, f"not {done}: {failure}")


async def _check_bot(sdk: Sdk) -> list[CheckResult]:
    try:
        bot = await sdk.get_bot()
    except Failure as failure:
        return [bad_token(failure)]
    return check_bot(bot)


def check_bot(bot: BotInfo) -> list[CheckResult]:
    """What LINE says of the account of the access token."""
    works = CheckResult("ok", "LINE token", f"works for {bot.name} ({bot.basic_id})")
    return [works, _chat_result(bot)]


def bad_token(failure: Failure) -> CheckResult:
    """Why LINE does not say whose the access token is."""
    detail, fix = f"LINE does not say: {failure}", "is LINE reachable from here?"
    if failure.status == 401:
        detail = "LINE refuses LINE_CHANNEL_ACCESS_TOKEN"
        fix = "issue a new channel access token in LINE's console"
    return CheckResult("failure", "LINE token", detail, fix)


def _chat_result(bot: BotInfo) -> CheckResult:
    if not bot.is_chat_on:
        return CheckResult("ok", "LINE chat", "off: the bot answers alone")
    detail = "on: people's messages wait for a person to answer them, too"
    fix = "switch Chat off under Response settings in LINE Official Account Manager"
    return CheckResult("warning", "LINE chat", detail, fix)


def _webhook_result(webhook: WebhookEndpoint | None, path: str) -> CheckResult:
    if webhook is None:
        return NO_WEBHOOK
    if not webhook.is_active:
        fix = "switch on “Use webhook” in LINE's console"
        return CheckResult("failure", WEBHOOK, f"{webhook.url}, not in use", fix)
    if urlsplit(webhook.url).path != path:
        fix = f"Kaiwa answers at {path}: {SET_UP}"
        return CheckResult("warning", WEBHOOK, f"{webhook.url}, in use", fix)
    return CheckResult("ok", WEBHOOK, f"{webhook.url}, in use")


def _test_result(test: WebhookTest) -> CheckResult:
    if test.success:
        return CheckResult("ok", TEST, "LINE reaches the webhook")
    fix = TEST_FIXES.get(test.status, "does Kaiwa run, and does the address lead to it?")
    detail = f"LINE does not reach the webhook: {test.reason} ({test.detail})"
    return CheckResult("failure", TEST, detail, fix)


def _quota_result(quota: Quota) -> CheckResult:
    name = "LINE messages"
    if quota.limit is None:
        return CheckResult("ok", name, f"{quota.used} pushed this month, no limit")
    detail = f"{quota.used} of {quota.limit} pushed this month"
    if quota.percent < WARN_AT:
        return CheckResult("ok", name, detail)
    fix = "replies cost nothing, late answers do; buy more, or wait for the next month"
    if quota.percent >= 100:
        fix = "late answers wait for a press of their button; buy more, or wait for the next month"
    return CheckResult("warning", name, detail, fix)


def _menu_result(menu: RichMenu | None) -> CheckResult:
    if menu is None:
        fix = f"{SET_UP} sets one, which hides one of LINE Official Account Manager"
        return CheckResult("ok", MENU, "none is set by LINE's API", fix)
    is_ours = menu.name.startswith(OURS)
    return CheckResult("ok", MENU, "Kaiwa's" if is_ours else "one that is not Kaiwa's")


async def _check_traffic(kv: KeyValue, channel: str, now: int) -> list[CheckResult]:
    try:
        seen = await read_traffic(kv, channel)
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


def menu_of(texts: Texts, language: str) -> RichMenu:
    """Our menu in a language."""
    buttons: list[JSON] = []
    for line in texts.get("line.menu_buttons", language).splitlines():
        label, _, said = line.partition(": ")
        buttons.append(action_of(label, said))
    title = texts.get("line.menu", language)
    content = repr((title, buttons)).encode() + picture_of(language)
    name = f"{OURS}{hashlib.sha256(content).hexdigest()[:16]}"
    return RichMenu("", name, title, buttons, WIDTH, HEIGHT)


def picture_of(language: str) -> bytes:
    """The picture of our menu, a PNG."""
    return files("bot.channels.line").joinpath(f"menu_{language}.png").read_bytes()


async def _set_menu(sdk: Sdk, texts: Texts, language: str) -> CheckResult:
    """Set our menu where there is none, or an older one of ours, which goes when the new one is
    whole."""
    wanted = menu_of(texts, language)
    try:
        present = await sdk.get_default_menu()
        if present is not None and not present.name.startswith(OURS):
            return CheckResult("ok", MENU, "one that is not Kaiwa's is set, and stays")
        if present is None or present.name != wanted.name:
            await sdk.show_menu(wanted, picture_of(language))
            if present is not None:
                await sdk.delete_menu(present.id)
    except Failure as failure:
        return CheckResult("warning", MENU, f"not set: {failure}", "run kaiwa doctor --fix again")
    return CheckResult("ok", MENU, ", ".join(str(button["label"]) for button in wanted.buttons))
