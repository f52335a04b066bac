"""``kaiwa run`` with other models than Gemini, and with one that stands in for another."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.gemini import KEY as GEMINI_KEY
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import grounded
from tests.fakes.openai import KEY, openai_fake
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import kaiwa

TALK = "conversation-1"


async def test_a_question_goes_through_an_openai_server(tmp_path: Path, wttr: WttrFake) -> None:
    """The whole way with a tool, on a server of one's own without a key."""
    wttr.place("Tokyo", temp=21)
    with openai_fake() as fake:
        fake.wants_key = False
        fake.calls(("get_weather", {"location": "Tokyo"}))
        fake.say("It is 21 °C", " in Tokyo.")
        variables = {"MODEL": "openai:small-local-model", "OPENAI_BASE_URL": f"{fake.base_url}/v1"}
        async with kaiwa(tmp_path, "run", **variables, WTTR_BASE_URL=wttr.base_url) as running:
            await running.say(TALK, "How warm is it in Tokyo?")
            assert await running.answers(TALK, 1) == ["It is 21 °C in Tokyo."]
    assert '"current_temp_c":"21"' in fake.chats[1]["messages"][-1]["content"]
    assert [(line["model"], line["outcome"]) for line in running.log("model.called")] == [
        ("gpt-5-mini-2025", "tool_use"),
        ("gpt-5-mini-2025", "end_turn"),
    ]


async def test_gemini_searches_and_names_its_sources(tmp_path: Path, gemini: GeminiFake) -> None:
    """As it comes, with no more set than a key: beside Kaiwa's tools, and the searches are
    counted."""
    gemini.answer(
        grounded("news", [{"uri": "https://a.example/x", "title": "a.example"}], "So it is.")
    )
    variables = {"GEMINI_API_KEY": GEMINI_KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    async with kaiwa(tmp_path, "run", **variables) as running:
        await running.say(TALK, "What is new?")
        [answer] = await running.answers(TALK, 1)
        assert answer == (
            "So it is.\n\nSources:\n- [a.example](https://a.example/x)\n\n"
            "Search Google for:\n- [news](https://www.google.com/search?q=news)"
        )
        await running.say(TALK, "/usage")
        assert ", 1 searches" in (await running.answers(TALK, 2))[1]
    [tool] = gemini.requests[-1].body["tools"]
    assert tool["googleSearch"] == {}
    assert "get_weather" in [function["name"] for function in tool["functionDeclarations"]]


async def test_a_fallback_answers_within_the_same_turn(tmp_path: Path, gemini: GeminiFake) -> None:
    """The refused key is told to the operator once, without the key, and the user notices
    nothing."""
    with openai_fake() as fake:
        fake.say("Here I am")
        fake.say("Still here")
        variables = {
            "MODEL": "gemini:gemini-3.5-flash",
            "GEMINI_API_KEY": "a-wrong-key",
            "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
            "FALLBACK_MODELS": "openai:gpt-5-mini",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": fake.base_url,
        }
        async with kaiwa(tmp_path, "run", **variables) as running:
            await running.say(TALK, "Anybody?")
            await running.answers(TALK, 1)
            await running.say(TALK, "And now?")
            assert await running.answers(TALK, 2) == ["Here I am", "Still here"]
    assert any("gemini:gemini-3.5-flash, else openai:gpt-5-mini" in line for line in running.lines)
    (reported,) = running.log("model.failed")
    assert (reported["level"], reported["model"], reported["failure"]) == (
        "error",
        "gemini-3.5-flash",
        "key_refused",
    )
    assert reported["cause"].startswith("GEMINI_API_KEY was refused")
    assert "a-wrong-key" not in running.output
    assert GEMINI_KEY not in running.output
