"""Pictures that a model makes, through whole processes: after a description, or from a person's
photo."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.fakes import line_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, answer_of, painted
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import kaiwa
from tests.process.webhooks import post_line, post_slack
from tests.toolset.images.pictures import opened, picture
from tests.waiting import until

PUBLIC = "https://kaiwa.example"
MODEL = "gemini-3.1-flash-image"
PHOTO = picture(90, 60, "JPEG", "#ff0000")
MADE = picture(90, 60)


def artist(body: dict[str, Any]) -> Answer:
    """The model for texts and the one for pictures: words about a photo ask for a change of it."""
    if "responseModalities" in body.get("generationConfig", {}):
        return painted(MADE, "image/png")
    newest = json.dumps(body["contents"][-1])
    if "functionResponse" in newest:
        return answer_of(
            [{"text": "Here it is." if "shown with" in newest else "It cannot be shown here."}]
        )
    if "inlineData" in newest and "please" not in newest:
        return answer_of([{"text": "A red rectangle."}])
    arguments = {"prompt": "A blue cat", "change": "blue, please" in newest}
    call = {"name": "create_image", "args": arguments, "id": "c1"}
    return answer_of([{"functionCall": call, "thoughtSignature": ""}])


async def test_a_picture_is_made_and_another_is_changed(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake, slack: SlackFake
) -> None:
    """Slack gets it as an upload; LINE shows a person's changed photo by its address, which
    everybody can open."""
    gemini.always = artist
    line.image("325708", PHOTO, "image/jpeg")
    photo = line.event(
        message={"id": "325708", "type": "image", "contentProvider": {"type": "line"}}
    )
    async with kaiwa(tmp_path, "run", **variables, PUBLIC_URL=PUBLIC, IMAGE_MODEL=MODEL) as running:
        assert await running.post("/webhooks/line", *line_events.webhook(photo)) == 200
        await until(lambda: len(line.sent) == 1, 20)
        assert await post_line(running, line, "Now in blue, please") == 200
        assert await post_slack(running, slack, "Draw a blue cat", "1700000000.000100") == 200
        await until(lambda: len(line.sent) == 2 and bool(slack.shared), 20)
        spoken, url = line.sent[-1].texts
        async with httpx.AsyncClient(base_url=running.base_url) as anyone:
            shown = await anyone.get(urlsplit(url).path)
    ((name, content, _),) = slack.shared
    assert (spoken, url.startswith(f"{PUBLIC}/files/"), name) == ("Here it is.", True, "image.jpg")
    assert (shown.headers["content-type"], opened(shown.content).size, opened(content).format) == (
        "image/jpeg",
        (90, 60),
        "JPEG",
    )
    asked = [
        request.body["contents"][0]["parts"][0]
        for request in gemini.requests
        if request.model == MODEL
    ]
    given = [base64.b64decode(part["inlineData"]["data"]) for part in asked if "inlineData" in part]
    assert given == [PHOTO]


async def test_nobody_pays_for_a_picture_that_is_not_seen(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake
) -> None:
    """LINE without PUBLIC_URL."""
    gemini.always = artist
    async with kaiwa(tmp_path, "run", **variables, IMAGE_MODEL=MODEL) as running:
        assert await post_line(running, line, "Draw a cat") == 200
        await until(lambda: bool(line.sent), 20)
    assert line.texts == [["It cannot be shown here."]]
    assert MODEL not in {request.model for request in gemini.requests}
