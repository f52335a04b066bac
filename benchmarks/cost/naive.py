"""The bot a good developer writes in an afternoon: the vendors' SDKs, a Redis list, the work after
the 200.

It promises nothing: what is under way when it dies is lost, what a platform sends again is answered
again. It shows no loading animation, because here the answer comes at once.

Run as a process: PORT=8000 python -m benchmarks.cost.naive google_genai|pydantic_ai
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from functools import cache
from importlib import import_module
from typing import Any

import uvicorn
from linebot.v3.messaging import (
    AsyncApiClient,
    AsyncMessagingApi,
    Configuration,
    ReplyMessageRequest,
    TextMessage,
)
from linebot.v3.webhook import WebhookParser
from linebot.v3.webhooks import MessageEvent, TextMessageContent
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

Answer = Callable[[str, str], Awaitable[str]]
running: set[asyncio.Task[None]] = set()


def later(work: Coroutine[Any, Any, None]) -> None:
    """Go on after the 200."""
    task = asyncio.create_task(work)
    running.add(task)
    task.add_done_callback(running.discard)


def line_routes(answer: Answer) -> list[Route]:
    """LINE's webhook."""
    parser = WebhookParser(os.environ["LINE_CHANNEL_SECRET"])

    @cache
    def api() -> AsyncMessagingApi:
        host, token = os.environ["LINE_API_BASE_URL"], os.environ["LINE_CHANNEL_ACCESS_TOKEN"]
        return AsyncMessagingApi(AsyncApiClient(Configuration(host=host, access_token=token)))

    async def reply(event: MessageEvent) -> None:
        text = await answer(f"line:{event.source.user_id}", event.message.text)
        await api().reply_message(
            ReplyMessageRequest(replyToken=event.reply_token, messages=[TextMessage(text=text)])
        )

    async def webhook(request: Request) -> Response:
        body = (await request.body()).decode()
        for event in parser.parse(body, request.headers["x-line-signature"]):
            if isinstance(event, MessageEvent) and isinstance(event.message, TextMessageContent):
                later(reply(event))
        return Response()

    return [Route("/webhooks/line", webhook, methods=["POST"])]


def slack_routes(answer: Answer) -> list[Route]:
    """Slack's webhook."""
    client = AsyncWebClient(
        os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_BASE_URL"]
    )
    app = AsyncApp(signing_secret=os.environ["SLACK_SIGNING_SECRET"], client=client)

    async def reply(event: dict[str, Any]) -> None:
        text = await answer(f"slack:{event['channel']}", event["text"])
        await client.chat_postMessage(channel=event["channel"], text=text)

    async def message(event: dict[str, Any]) -> None:
        later(reply(event))

    app.event("message")(message)
    handler = AsyncSlackRequestHandler(app)

    async def webhook(request: Request) -> Response:
        response: Response = await handler.handle(request)
        return response

    return [Route("/webhooks/slack", webhook, methods=["POST"])]


def console_routes(answer: Answer) -> list[Route]:
    """A page's message; the answer to the request is a stream of events."""

    async def message(request: Request) -> Response:
        posted = await request.json()

        async def events() -> AsyncIterator[str]:
            text = await answer(f"console:{request.path_params['id']}", posted["text"])
            yield f"data: {json.dumps({'text': text})}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    return [Route("/console/{id}/messages", message, methods=["POST"])]


async def ready(_: Request) -> Response:
    """As ``kaiwa run`` says it."""
    return Response(json.dumps({}))


def main() -> None:
    """Serve."""
    answer: Answer = import_module(f"benchmarks.cost.answers.{sys.argv[1]}").answer
    routes = [
        *line_routes(answer),
        *slack_routes(answer),
        *console_routes(answer),
        Route("/readyz", ready),
    ]
    uvicorn.run(
        Starlette(routes=routes), port=int(os.environ["PORT"]), log_level="error", access_log=False
    )


if __name__ == "__main__":
    main()
