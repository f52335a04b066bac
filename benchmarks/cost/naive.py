"""The bot a good developer writes in an afternoon: the vendors' SDKs, a Redis list, the work after the 200.

It promises nothing: what is under way when it dies is lost, what a platform sends again is answered again.
Run as a process: python -m benchmarks.cost.naive PORT
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Coroutine
from functools import cache
from typing import Any

import httpx
import uvicorn
from google import genai
from google.genai import types
from linebot.v3.messaging import AsyncApiClient, AsyncMessagingApi, Configuration, ReplyMessageRequest, TextMessage
from linebot.v3.messaging.models import ShowLoadingAnimationRequest
from linebot.v3.webhook import WebhookParser
from linebot.v3.webhooks import MessageEvent, TextMessageContent
from redis.asyncio import Redis
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

KEEP = 40
SYSTEM = "You are Kaiwa, a helpful assistant. Answer in the user's language."
running: set[asyncio.Task[None]] = set()


def later(work: Coroutine[Any, Any, None]) -> None:
    """Go on after the 200."""
    task = asyncio.create_task(work)
    running.add(task)
    task.add_done_callback(running.discard)


@cache
def http() -> httpx.AsyncClient:
    """For the tool."""
    return httpx.AsyncClient(timeout=3)


@cache
def redis() -> Redis:
    """For the history."""
    return Redis.from_url(os.environ["REDIS_URL"])


@cache
def model() -> genai.Client:
    """For the answers."""
    options = types.HttpOptions(base_url=os.environ["GOOGLE_GEMINI_BASE_URL"])
    return genai.Client(api_key="key", http_options=options)


async def get_weather(location: str) -> dict[str, Any]:
    """The weather at a place."""
    answer = await http().get(f"{os.environ['WTTR_BASE_URL']}/{location}", params={"format": "j1"})
    now = answer.json()["current_condition"][0]
    return {"location": location, "temperature": now["temp_C"], "condition": now["weatherDesc"][0]["value"]}


async def answer(conversation: str, text: str) -> str:
    """The model's answer, after what was said before."""
    key = f"history:{conversation}"
    contents = [types.Content.model_validate_json(entry) for entry in await redis().lrange(key, -KEEP, -1)]
    asked = types.Content(role="user", parts=[types.Part(text=text)])
    config = types.GenerateContentConfig(system_instruction=SYSTEM, tools=[get_weather])
    response = await model().aio.models.generate_content(
        model="gemini-3.5-flash", contents=[*contents, asked], config=config
    )
    said = types.Content(role="model", parts=[types.Part(text=response.text)])
    await redis().rpush(key, asked.model_dump_json(exclude_none=True), said.model_dump_json(exclude_none=True))
    return response.text or ""


def line_routes() -> list[Route]:
    """LINE's webhook."""
    parser = WebhookParser(os.environ["LINE_CHANNEL_SECRET"])

    @cache
    def api() -> AsyncMessagingApi:
        host, token = os.environ["LINE_API_BASE_URL"], os.environ["LINE_CHANNEL_ACCESS_TOKEN"]
        return AsyncMessagingApi(AsyncApiClient(Configuration(host=host, access_token=token)))

    async def reply(event: MessageEvent) -> None:
        await api().show_loading_animation(ShowLoadingAnimationRequest(chatId=event.source.user_id))
        text = await answer(f"line:{event.source.user_id}", event.message.text)
        await api().reply_message(ReplyMessageRequest(replyToken=event.reply_token, messages=[TextMessage(text=text)]))

    async def webhook(request: Request) -> Response:
        body = (await request.body()).decode()
        for event in parser.parse(body, request.headers["x-line-signature"]):
            if isinstance(event, MessageEvent) and isinstance(event.message, TextMessageContent):
                later(reply(event))
        return Response()

    return [Route("/webhooks/line", webhook, methods=["POST"])]


def slack_routes() -> list[Route]:
    """Slack's webhook."""
    client = AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_BASE_URL"])
    app = AsyncApp(signing_secret=os.environ["SLACK_SIGNING_SECRET"], client=client)

    async def reply(event: dict[str, Any]) -> None:
        text = await answer(f"slack:{event['channel']}", event["text"])
        await client.chat_postMessage(channel=event["channel"], text=text)

    @app.event("message")
    async def message(event: dict[str, Any]) -> None:
        later(reply(event))

    handler = AsyncSlackRequestHandler(app)

    async def webhook(request: Request) -> Response:
        return await handler.handle(request)

    return [Route("/webhooks/slack", webhook, methods=["POST"])]


async def ready(_: Request) -> Response:
    """As ``kaiwa run`` says it."""
    return Response(json.dumps({}))


if __name__ == "__main__":
    routes = [*line_routes(), *slack_routes(), Route("/readyz", ready)]
    uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), log_level="error", access_log=False)
