"""What a request to the model consists of: characters, tokens and money.

    .venv/bin/python -m benchmarks.tokens

A new person writes "hello" to `kaiwa run` in LINE, with all defaults, and then "and tomorrow?". The
tables show the first request by part, and what the input of both costs at list prices. Google's own
counter counts the tokens where GEMINI_API_KEY is set, each part by itself; else they are estimated.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
from google import genai

from benchmarks.whole.processes import KAIWA, process, up
from benchmarks.whole.tables import heading, number, table
from bot.prices import MILLION, Price, load_prices
from bot.providers.gemini.caching import least_tokens
from tests.fakes import line_events
from tests.fakes.gemini import KEY, GeminiFake, gemini_fake
from tests.fakes.line import LineFake, line_fake
from tests.ports import free_port
from tests.waiting import until

JSON = dict[str, Any]
TEXTS = ("hello", "and tomorrow?")
ANSWER = "Hello! What can I do for you?"
ANSWER_S = 30.0
# The estimate: a token has so many letters of ASCII, and every other letter is one.
ASCII_OF_TOKEN = 4
PREFIX = ("systemInstruction", "tools", "toolConfig")

Count = Callable[[str], float]


def variables(line: LineFake, gemini: GeminiFake, folder: Path) -> dict[str, str]:
    """Only what LINE and Gemini need; everything else has its default."""
    return {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "LINE_CHANNEL_SECRET": line_events.SECRET,
        "LINE_CHANNEL_ACCESS_TOKEN": line_events.TOKEN,
        "LINE_API_BASE_URL": line.base_url,
        "LINE_DATA_API_BASE_URL": line.base_url,
        "KAIWA_DATA_DIR": str(folder),
    }


def has_answered(line: LineFake, times: int) -> bool:
    """Whether so many answers have come."""
    return len(line.texts) >= times


async def requests_of_a_new_person() -> list[JSON]:
    """The bodies of the requests for answers to ``TEXTS``."""
    with TemporaryDirectory() as folder, line_fake() as line, gemini_fake() as gemini:
        port = free_port()
        settings = variables(line, gemini, Path(folder))
        async with process(*KAIWA, "run", **settings, PORT=str(port)):
            await up(port, "/readyz")
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
                for done, text in enumerate(TEXTS):
                    gemini.say(ANSWER)
                    event = line.event(message=line_events.text_message(text))
                    body, headers = line_events.webhook(event)
                    async with http.post("/webhooks/line", data=body, headers=headers) as answer:
                        assert answer.status == 200
                    await until(partial(has_answered, line, done + 1), ANSWER_S)
        return [request.body for request in gemini.requests if request.action != "get"]


def written(value: object) -> str:
    """JSON as it is sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def declarations_of(body: JSON) -> list[JSON]:
    """The functions that a request declares."""
    declared: list[JSON] = body["tools"][0]["functionDeclarations"]
    return declared


def parts_of(body: JSON) -> Iterator[tuple[str, str]]:
    """The parts of a request with their JSON; what is left is the frame."""
    yield "prompt", written(body["systemInstruction"])
    for declared in declarations_of(body):
        response = declared.get("responseJsonSchema")
        rest = {name: value for name, value in declared.items() if name != "responseJsonSchema"}
        yield declared["name"], written(rest)
        if response:
            yield f"{declared['name']}: response schema", written(response)
    yield "history", written(body["contents"])


def estimate(text: str) -> float:
    """Tokens, about."""
    ascii_letters = sum(letter.isascii() for letter in text)
    return ascii_letters / ASCII_OF_TOKEN + len(text) - ascii_letters


def vendors_counter(key: str) -> Count:
    """Google's counter."""
    client = genai.Client(api_key=key)

    def count(text: str) -> float:
        answer = client.models.count_tokens(model="gemini-flash-latest", contents=text)
        return float(answer.total_tokens or 0)

    return count


def rows_of_parts(body: JSON, count: Count) -> Iterator[tuple[str, str, str]]:
    """Characters and tokens of each part, and of all."""
    whole = written(body)
    frame, frame_tokens = len(whole), count(whole)
    for name, text in parts_of(body):
        tokens = count(text)
        frame -= len(text)
        frame_tokens -= tokens
        yield name, f"{len(text):,}", f"{tokens:,.0f}"
    yield "frame and settings", f"{frame:,}", f"{max(frame_tokens, 0):,.0f}"
    yield "**all**", f"{len(whole):,}", f"{count(whole):,.0f}"


def cached_cost(model: str, prefix: float, rest: float, price: Price) -> str:
    """Dollars for a thousand requests whose prefix is cached content."""
    if model.startswith("gemini") and prefix < least_tokens(model):
        return f"– (below {least_tokens(model):,} tokens)"
    return number((prefix * price.cached + rest * price.input) * 1000 / MILLION)


def rows_of_money(bodies: list[JSON], count: Count) -> Iterator[tuple[str, ...]]:
    """Dollars for the input of a thousand requests, by model."""
    counted = []
    for body in bodies:
        prefix = count(written({name: body[name] for name in PREFIX}))
        counted.append((prefix, count(written(body))))
    for model, price in load_prices().models.items():
        cells = [model]
        for prefix, whole in counted:
            cells.append(number(whole * price.input * 1000 / MILLION))
            cells.append(cached_cost(model, prefix, whole - prefix, price))
        yield tuple(cells)


async def main() -> None:
    key = os.environ.get("GEMINI_API_KEY", "")
    count = vendors_counter(key) if key else estimate
    tokens = "tokens (Google's counter)" if key else "tokens (estimate)"
    bodies = await requests_of_a_new_person()
    print(heading("A first request", "python -m benchmarks.tokens", "one run"))
    print(table(("part", "characters", tokens), rows_of_parts(bodies[0], count)))
    print("Dollars for the input of a thousand requests at list prices:\n")
    columns = ["model"]
    for text in TEXTS:
        columns += [f"“{text}”", "prompt and tools as cached content"]
    print(table(columns, rows_of_money(bodies, count)))


if __name__ == "__main__":
    asyncio.run(main())
