"""The page ``/inside`` of a real process (``bot.features.traces``): what it shows of a request is
what the vendor received."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from msgspec import json

from tests.fakes.gemini import KEY, GeminiRequest, gemini_fake
from tests.process.kaiwa_process import kaiwa

TOKEN = "a-token-of-sixteen-letters"
HERE = "c" * 32
FALLBACK = "gemini:gemini-2.5-flash"


async def paths_of(http: httpx.AsyncClient, kind: str) -> list[str]:
    """The steps of this kind of the newest turn."""
    turn = (await http.get("/inside/turns")).json()["turns"][0]["id"]
    steps: list[dict[str, Any]] = (await http.get(f"/inside/turns/{turn}")).json()["steps"]
    path = f"/inside/turns/{turn}/steps"
    return [f"{path}/{one['share']}/{one['number']}" for one in steps if one["kind"] == kind]


def declared(request: GeminiRequest) -> tuple[set[str], set[str]]:
    """Kinds of tools of a request, and the names of ours."""
    tools = json.decode(request.raw).get("tools", [])
    kinds = {kind for tool in tools for kind in tool}
    ours = {one["name"] for tool in tools for one in tool.get("functionDeclarations", ())}
    return kinds, ours


async def test_requests_are_shown_as_they_left_and_asked_again(tmp_path: Path) -> None:
    """Byte for byte; asked again, another model gets the same messages and tools of ours, and none
    of the vendor's."""
    with gemini_fake() as gemini:
        variables = {
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
            "FALLBACK_MODELS": FALLBACK,
            "INSIDE_TOKEN": TOKEN,
        }
        gemini.calls(("calculate", {"expression": "6 * 7"}))
        gemini.say("It is forty-two.")
        async with kaiwa(tmp_path, "run", **variables) as running:
            await running.say(HERE, "How much is 6 * 7?")
            await running.answers(HERE, 1)
            await running.idle(20)
            async with running.browser(timeout=30) as http:
                http.headers["Inside-Token"] = TOKEN
                requests = await paths_of(http, "request")
                shown = [(await http.get(f"{path}/raw")).content for path in requests]
                assert shown == [request.raw for request in gemini.requests]
                gemini.say("Forty-two, again.")
                order = {"model": FALLBACK}
                answer = (await http.post(f"{requests[-1]}/again", json=order)).json()
    assert answer["text"] == "Forty-two, again."
    first, last, again = gemini.requests
    assert again.model == "gemini-2.5-flash"
    assert declared(first)[0] == {"functionDeclarations", "googleSearch"}
    assert declared(again) == ({"functionDeclarations"}, declared(last)[1])
    asked = [json.decode(request.raw) for request in (last, again)]
    assert asked[0]["systemInstruction"] == asked[1]["systemInstruction"]
    roles = [[content["role"] for content in one["contents"]] for one in asked]
    assert roles == [["user", "model", "user"]] * 2
