"""Pictures and charts through whole processes: made, stored, shown on each platform in its way,
served, and forgotten."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, called, painted, said
from tests.fakes.line import LineFake
from tests.fakes.open_meteo import OpenMeteoFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.process.webhooks import post_line, post_line_event, post_slack
from tests.toolset.images.pictures import opened, picture
from tests.waiting import until, until_true

PUBLIC = "https://kaiwa.example"
MODEL = "gemini-3.1-flash-image"
PHOTO = picture(90, 60, "JPEG", "#ff0000")
MADE = picture(90, 60)


def artist(body: dict[str, Any]) -> Answer:
    """The model for texts and the one for pictures: words about a photo ask for a change of it."""
    if "responseModalities" in body.get("generationConfig", {}):
        return painted(MADE)
    newest = json.dumps(body["contents"][-1])
    if "functionResponse" in newest:
        return said("Here it is." if "shown with" in newest else "It cannot be shown here.")
    if "inlineData" in newest and "please" not in newest:
        return said("A red rectangle.")
    if "chart" in newest:
        return called("get_weather", location="Tokyo", chart=True)
    return called("create_image", prompt="A blue cat", change="blue, please" in newest)


async def served(running: KaiwaProcess, path: str) -> httpx.Response:
    """What somebody without a token gets."""
    async with httpx.AsyncClient(base_url=running.base_url) as anyone:
        return await anyone.get(path)


async def test_pictures_and_charts_are_shown_served_and_forgotten(
    here: Installation,
    gemini: GeminiFake,
    line: LineFake,
    slack: SlackFake,
    open_meteo: OpenMeteoFake,
) -> None:
    """Slack gets an upload, LINE an address that everybody can open, the page a path; another
    process serves the same addresses, until their owner is forgotten."""
    open_meteo.place("Tokyo", region="Tokyo", country="Japan")
    gemini.always = artist
    line.image("325708", PHOTO, "image/jpeg")
    photo = line.event(
        message={"id": "325708", "type": "image", "contentProvider": {"type": "line"}}
    )
    here.variables |= {
        "OPEN_METEO_BASE_URL": open_meteo.base_url,
        "OPEN_METEO_GEOCODING_BASE_URL": open_meteo.base_url,
        "PUBLIC_URL": PUBLIC,
        "IMAGE_MODEL": MODEL,
    }
    async with here.run() as running:
        assert await post_line_event(running, photo) == 200
        await until(lambda: len(line.sent) == 1, 20)
        assert await post_line(running, line, "Now in blue, please") == 200
        await until(lambda: len(line.sent) == 2, 20)
        assert await post_slack(running, slack, "Draw a blue cat", "1700000000.000100") == 200
        await until(lambda: bool(slack.shared), 20)
        await running.say("conversation", "A chart, please")
        await running.answers("conversation", 1)
        spoken, url = line.sent[-1].texts
        shown = await served(running, urlsplit(url).path)
        (chart,) = (await running.history("conversation"))[-1]["files"]
    ((name, content, _),) = slack.shared
    assert (spoken, url.startswith(f"{PUBLIC}/files/"), name) == ("Here it is.", True, "image.jpg")
    assert shown.headers["content-type"] == "image/jpeg"
    assert opened(shown.content).size == (90, 60)
    assert opened(content).format == "JPEG"
    asked = [
        request.body["contents"][0]["parts"][0]
        for request in gemini.requests
        if request.model == MODEL
    ]
    given = [base64.b64decode(part["inlineData"]["data"]) for part in asked if "inlineData" in part]
    assert given == [PHOTO]
    async with here.run() as running:
        assert (await served(running, urlsplit(url).path)).content == shown.content
        drawn = await served(running, chart["path"])
        assert (drawn.status_code, drawn.headers["content-type"]) == (200, "image/png")
        assert opened(drawn.content).format == "PNG"
        assert (await served(running, "/files/")).status_code in (401, 404)
        assert await post_line(running, line, "/forget me") == 200

        async def is_forgotten() -> bool:
            return (await served(running, urlsplit(url).path)).status_code == 404

        await until_true(is_forgotten, 20)
        assert (await served(running, chart["path"])).status_code == 200
