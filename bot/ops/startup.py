"""The start-up report: which parts are on, and which variable changes that; ``kaiwa doctor`` shows it too."""

from __future__ import annotations

from dataclasses import dataclass

from bot.settings import Settings

DEMO = "demo model: simple rules, no real language model"
GET_GEMINI = "set GEMINI_API_KEY for Gemini"


@dataclass(frozen=True, slots=True)
class Part:
    """One line of the report; ``hint`` names the variable that changes it."""

    name: str
    on: bool
    detail: str
    hint: str = ""


def parts(settings: Settings) -> list[Part]:
    """Every part that the operator can switch."""
    store = "your Redis" if settings.redis_url else f"bundled Valkey, files in {settings.kaiwa_data_dir}"
    return [
        _model(settings),
        _line(settings),
        _slack(settings),
        Part("store", True, store, "" if settings.redis_url else "set REDIS_URL to share it between machines"),
        _page(settings),
        Part(
            "tools",
            True,
            "low-risk tools only" if settings.read_only else "all tools",
            "unset READ_ONLY to offer all" if settings.read_only else "set READ_ONLY=1 to offer low-risk ones only",
        ),
        *_approvals(settings),
    ]


def _model(settings: Settings) -> Part:
    chosen, *fallbacks = settings.models
    if chosen == "demo":
        return Part("model", False, DEMO, GET_GEMINI)
    hint = "" if fallbacks else "set FALLBACK_MODELS to have others step in while it fails"
    return Part("model", True, ", else ".join([chosen, *fallbacks]), hint)


def _page(settings: Settings) -> Part:
    if settings.console_token.get_secret_value():
        return Part("page", True, "open to whoever has the token")
    if settings.makes_console_token:
        access = f"open to whoever has the token in {settings.console_token_path}"
        return Part("page", True, access, "set CONSOLE_TOKEN to choose another")
    if settings.webhooks_on:
        return Part("page", False, "closed, and so is /metrics", "set CONSOLE_TOKEN to open them")
    return Part("page", True, "open to this machine only", "set CONSOLE_TOKEN to open it to others")


def _approvals(settings: Settings) -> list[Part]:
    """A line unless APPROVAL_MODE is the default."""
    if settings.approval_mode == "ask":
        return []
    approves = settings.approval_mode == "auto_approve"
    what = "every call that acts is made, and nobody is asked" if approves else "every call that acts is rejected"
    return [Part("approvals", True, f"{settings.approval_mode}: {what}", "set APPROVAL_MODE=ask to have people decide")]


def _line(settings: Settings) -> Part:
    if not settings.line_on:
        return Part("LINE", False, "off", "set LINE_CHANNEL_SECRET and LINE_CHANNEL_ACCESS_TOKEN to turn it on")
    who = "allowed users and groups" if settings.allowed_users or settings.allowed_groups else "everybody"
    return Part(
        "LINE",
        True,
        f"answers {who} at /webhooks/line",
        "" if settings.allowed_users else "set ALLOWED_USERS to answer some only",
    )


def _slack(settings: Settings) -> Part:
    if not settings.slack_on:
        return Part(
            "Slack", False, "off", "set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET or SLACK_APP_TOKEN to turn it on"
        )
    who = "allowed users and channels" if settings.allowed_users or settings.allowed_channels else "everybody"
    way = "by Socket Mode" if settings.slack_app_token.get_secret_value() else "at /webhooks/slack"
    return Part(
        "Slack", True, f"answers {who} {way}", "" if settings.allowed_users else "set ALLOWED_USERS to answer some only"
    )
