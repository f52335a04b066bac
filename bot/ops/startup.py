"""The start report: which parts are on or off, and which variable changes that. ``kaiwa doctor``
shows it too."""

from __future__ import annotations

from collections.abc import Sequence

from bot.channels.registry import CHANNELS, ChannelEntry, describe_channels
from bot.checks import CheckResult
from bot.settings import Settings, tool_config
from toolset.create_image import CreateImageConfig
from toolset.weather import WeatherConfig

DEMO = "demo model: simple rules, no real language model"
GET_GEMINI = "set GEMINI_API_KEY for Gemini"


def start_report(
    settings: Settings, registry: Sequence[ChannelEntry] = CHANNELS
) -> list[CheckResult]:
    """Every part an operator can switch, on (``ok``) or ``off``.

    Raises:
        SettingsError: a channel's variable is wrong.
    """
    store = (
        "your Redis"
        if settings.redis_url
        else f"bundled Valkey, files in {settings.kaiwa_data_dir}"
    )
    tools, switch = "all tools", "set READ_ONLY=1 to offer low-risk ones only"
    if settings.read_only:
        tools, switch = "low-risk tools only", "unset READ_ONLY to offer all"
    return [
        _model(settings),
        *describe_channels(settings, registry),
        CheckResult(
            "ok",
            "store",
            store,
            "" if settings.redis_url else "set REDIS_URL to share it between machines",
        ),
        _page(settings),
        *_processes(settings),
        CheckResult("ok", "tools", tools, switch),
        _open_meteo(),
        _images(),
    ]


def _model(settings: Settings) -> CheckResult:
    chosen, *fallbacks = settings.models
    if chosen == "demo":
        return CheckResult("off", "model", DEMO, GET_GEMINI)
    hint = "" if fallbacks else "set FALLBACK_MODELS to have others step in while it fails"
    return CheckResult("ok", "model", ", else ".join([chosen, *fallbacks]), hint)


def _page(settings: Settings) -> CheckResult:
    if settings.console_token.get_secret_value():
        return CheckResult("ok", "page", "open to whoever has the token")
    if settings.makes_console_token:
        access = f"open to whoever has the token in {settings.console_token_path}"
        return CheckResult("ok", "page", access, "set CONSOLE_TOKEN to choose another")
    if settings.webhooks_on:
        return CheckResult(
            "off", "page", "closed, and so is /metrics", "set CONSOLE_TOKEN to open them"
        )
    return CheckResult(
        "ok", "page", "open to this machine only", "set CONSOLE_TOKEN to open it to others"
    )


def _processes(settings: Settings) -> list[CheckResult]:
    """A line unless there is one process."""
    if settings.kaiwa_processes == 1:
        return []
    what = (
        f"{settings.kaiwa_processes} share the port, each with {settings.store_connections} "
        "connections to the store"
    )
    return [CheckResult("ok", "processes", what, "set KAIWA_PROCESSES=1 to run one")]


def _open_meteo() -> CheckResult:
    """The one source of data whose terms forbid commercial use."""
    config = tool_config(WeatherConfig)
    if not config.open_meteo:
        return CheckResult(
            "off", "Open-Meteo", "wttr.in alone tells the weather", "unset OPEN_METEO to ask both"
        )
    if config.open_meteo_base_url != WeatherConfig().open_meteo_base_url:
        return CheckResult(
            "ok", "Open-Meteo", "your own server", "set OPEN_METEO=0 to ask wttr.in alone"
        )
    terms = "free for non-commercial use only"
    return CheckResult(
        "ok",
        "Open-Meteo",
        terms,
        "set OPEN_METEO=0, or OPEN_METEO_BASE_URL to a server of your own",
    )


def _images() -> CheckResult:
    """Off unless the operator wants to pay for pictures."""
    if model := tool_config(CreateImageConfig).image_model:
        return CheckResult(
            "ok", "images", f"made by gemini:{model}", "unset IMAGE_MODEL to make none"
        )
    return CheckResult(
        "off",
        "images",
        "none are made",
        "set IMAGE_MODEL=gemini-3.1-flash-image, which costs money",
    )
