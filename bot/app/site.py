"""The web application: health routes, webhooks, and what is behind the console's token."""

from __future__ import annotations

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

from bot.app.openings import commands, starters
from bot.app.runtime import Runtime
from bot.app.services import ProcessServices
from bot.channels.console.inbound import MOST_UPLOAD
from bot.errors import StoreUnavailable
from bot.mcp_server.route import mcp_route
from bot.web.guard import Guard
from bot.web.health import dead_letters_route, health_routes, metrics_route
from bot.web.page import PageInfo, page_routes
from bot.web.signin import SignIn
from bot.worker import Worker

log = structlog.stdlib.get_logger(__name__)


def asgi(services: ProcessServices, runtime: Runtime, worker: Worker | None) -> Starlette:
    """The web application: health routes, webhooks, and page, console and metrics behind
    ``Guard``."""
    settings, features = services.settings, runtime.conversations.services.features

    async def ready() -> str:
        if runtime.intake.closed:
            return "shutting down"
        try:
            await services.store.ping()
        except StoreUnavailable as error:
            log.warning("health.not_ready", cause=str(error))
            return "the store does not answer"
        return "" if worker is None or worker.alive else "the worker has stopped"

    info = PageInfo(
        settings.bot_name,
        services.agent.provider.model,
        demo=settings.chosen_model == "demo",
        language=settings.language,
        signs_out=bool(settings.console_token.get_secret_value()),
        most_file_bytes=MOST_UPLOAD,
        starters=starters(services.tools, services.texts, demo=settings.chosen_model == "demo"),
        commands=commands(services.tools, services.texts),
    )
    guarded = [
        *page_routes(info, services.texts),
        *runtime.console.routes(),
        metrics_route(services.metrics, services.store),
        dead_letters_route(services.store.dead_letters.count, services.store.dead_letters.read),
        *features.routes,
    ]
    webhooks = [
        route
        for name, channel in runtime.channels.items()
        if name != "console"
        for route in channel.routes()
    ]
    guard = Middleware(
        Guard,
        signin=SignIn(
            settings.console_token, settings.secret_key, services.texts, settings.bot_name
        ),
        texts=services.texts,
        language=settings.language,
        # with webhooks a proxy stands in front, and every visitor may look local
        trusts_machine=not webhooks,
    )
    mcp = mcp_route(services.tools, settings, services.metrics, guard)
    files = runtime.files.route()
    routes = [
        *health_routes(ready, lambda: runtime.refusals.cause, runtime.access.missing),
        *webhooks,
        mcp,
        files,
        Mount("/", routes=guarded, middleware=[guard]),
    ]
    return Starlette(routes=routes, middleware=features.middleware)
