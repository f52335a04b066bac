"""A chart through whole processes: drawn, stored, shown on each platform in its way, served, and
forgotten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, answer_of
from tests.fakes.line import LineFake
from tests.fakes.open_meteo import OpenMeteoFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import KaiwaProcess, kaiwa
from tests.process.webhooks import post_line, post_slack
from tests.waiting import until, until_true

PUBLIC = "https://kaiwa.example"
ASKED, ANSWER = "A chart of Tokyo's weather, please", "Here it is."
PNG = b"\x89PNG\r\n\x1a\n"


def chart_first(body: dict[str, Any]) -> Answer:
    """Call ``get_weather`` for a question, answer after its result."""
    newest = json.dumps(body["contents"][-1])
    if "functionResponse" in newest:
        return answer_of([{"text": ANSWER}])
    call = {"name": "get_weather", "args": {"location": "Tokyo", "chart": True}, "id": "c1"}
    return answer_of([{"functionCall": call, "thoughtSignature": ""}])


async def anyone_gets(running: KaiwaProcess, path: str) -> httpx.Response:
    """The answer to somebody without a token."""
    async with httpx.AsyncClient(base_url=running.base_url) as http:
        return await http.get(path)


async def test_a_chart_is_shown_served_and_forgotten(
    tmp_path: Path,
    variables: dict[str, str],
    gemini: GeminiFake,
    line: LineFake,
    slack: SlackFake,
    open_meteo: OpenMeteoFake,
) -> None:
    """LINE by its address, Slack as an upload, the page by its path; another process serves the
    same names."""
    open_meteo.place("Tokyo", region="Tokyo", country="Japan")
    gemini.always = chart_first
    source = {
        "OPEN_METEO_BASE_URL": open_meteo.base_url,
        "OPEN_METEO_GEOCODING_BASE_URL": open_meteo.base_url,
    }
    settings = {**variables, **source, "PUBLIC_URL": PUBLIC}
    async with kaiwa(tmp_path, "run", **settings) as running:
        assert await post_line(running, line, ASKED) == 200
        assert await post_slack(running, slack, ASKED, "1700000000.000100") == 200
        await running.say("conversation", ASKED)
        await running.answers("conversation", 1)
        await until(lambda: bool(line.sent and slack.shared), 20)
        ((spoken, url),) = line.texts
        ((name, content, _),) = slack.shared
        assert (spoken, url.startswith(f"{PUBLIC}/files/"), name) == (ANSWER, True, "weather.png")
        (shown,) = (await running.history("conversation"))[-1]["files"]
        assert content.startswith(PNG)
    async with kaiwa(tmp_path, "run", **settings) as running:
        path = urlsplit(url).path
        for served in (path, shown["path"]):
            response = await anyone_gets(running, served)
            assert (response.status_code, response.headers["content-type"]) == (200, "image/png")
            assert response.content.startswith(PNG)
        assert (await anyone_gets(running, "/files/")).status_code in (401, 404)
        assert await post_line(running, line, "/forget me") == 200

        async def is_forgotten() -> bool:
            return (await anyone_gets(running, path)).status_code == 404

        await until_true(is_forgotten, 20)
        assert (await anyone_gets(running, shown["path"])).status_code == 200
