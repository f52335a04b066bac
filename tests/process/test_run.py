"""``kaiwa run`` from the outside: it answers, says what is off, survives its store and leaves
nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import httpx
import pytest

from bot.store import ANSWER_S
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.openai import KEY as OPENAI_KEY
from tests.fakes.openai import openai_fake
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import ENTRY, KaiwaProcess, kaiwa, left_behind

TALK = "conversation-1"


async def test_a_question_goes_through_model_and_tool_to_an_answer(
    tmp_path: Path, gemini: GeminiFake, wttr: WttrFake
) -> None:
    """Page, inbox, weather, history, and a fallback for the model whose key is refused; of the key
    only the name of its variable is shown."""
    wttr.place("Tokyo", temp=21)
    with openai_fake() as fake:
        fake.calls(("get_weather", {"location": "Tokyo"}))
        fake.say("It is 21 °C", " in Tokyo.")
        variables = {
            "MODEL": "gemini:gemini-3.5-flash",
            "GEMINI_API_KEY": "a-wrong-key",
            "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
            "FALLBACK_MODELS": "openai:gpt-5-mini",
            "OPENAI_API_KEY": OPENAI_KEY,
            "OPENAI_BASE_URL": fake.base_url,
            "WTTR_BASE_URL": wttr.base_url,
        }
        async with kaiwa(tmp_path, "run", **variables) as running:
            await running.say(TALK, "How warm is it in Tokyo?", time_zone="Asia/Tokyo")
            assert await running.answers(TALK, 1) == ["It is 21 °C in Tokyo."]
    assert "Asia/Tokyo, console, 1:1]" in str(fake.chats[0]["messages"])
    assert '"current_temp_c":"21"' in fake.chats[1]["messages"][-1]["content"]
    assert any("gemini:gemini-3.5-flash, else openai:gpt-5-mini" in line for line in running.lines)
    (failed,) = running.log("model.failed")
    assert (failed["level"], failed["failure"]) == ("error", "key_refused")
    assert failed["cause"].startswith("GEMINI_API_KEY was refused")
    (turn,) = running.log("turn.answered")
    assert turn["conversation"] == f"console:{TALK}"
    for secret in ("a-wrong-key", KEY, "How warm"):
        assert secret not in running.output


async def second_one_gives_up(folder: Path) -> None:
    """A second Kaiwa in the same folder is one line with the fix."""
    async with kaiwa(folder, "run") as second:
        assert await second.process.wait() == 2
    (complaint,) = [line for line in second.lines if line.startswith("kaiwa:")]
    assert complaint.startswith("kaiwa: KAIWA_DATA_DIR: another Kaiwa runs with ")
    assert "Traceback" not in second.output


async def is_refused_soon(running: KaiwaProcess, store: int) -> None:
    """Nothing is accepted that a frozen store cannot keep, and nobody waits long to be refused."""
    async with httpx.AsyncClient(base_url=running.base_url, timeout=10) as http:
        os.kill(store, signal.SIGSTOP)
        try:
            async with asyncio.timeout(2 * ANSWER_S):
                refused = await http.post(f"/console/{TALK}/messages", json={"text": "hello"})
            not_ready = await http.get("/readyz")
        finally:
            os.kill(store, signal.SIGCONT)
    assert (refused.status_code, not_ready.status_code) == (503, 503)


async def test_nothing_configured_is_a_demo_that_survives_its_store(tmp_path: Path) -> None:
    """It answers, names the variables that bring more and those that nothing reads, and needs no
    token on this machine; a frozen store refuses, a killed one is started again with its data."""
    (tmp_path / ".env").write_text("GEMINI_APIKEY=key\n", "utf-8")
    async with kaiwa(tmp_path, "run", entry=ENTRY) as running:
        assert "nothing reads GEMINI_APIKEY of .env" in running.output
        assert "did you mean GEMINI_API_KEY?" in running.output
        for variable in ("GEMINI_API_KEY", "LINE_CHANNEL_SECRET", "SLACK_BOT_TOKEN"):
            assert variable in running.output
        for path in ("/webhooks/line", "/webhooks/slack", "/mcp"):
            assert await running.post(path, b"{}", {}) == 404
        assert [await running.get("/"), await running.get("/metrics")] == [200, 200]
        assert not (tmp_path / "data" / "console_token").exists()
        await second_one_gives_up(tmp_path)
        await is_refused_soon(running, int((tmp_path / "data" / "valkey.pid").read_text()))
        await running.say(TALK, "What is 1 + 2?")
        (answer,) = await running.answers(TALK, 1)
        assert "3" in answer
        assert "GEMINI_API_KEY" in answer
        # The append-only file is synced once a second: what is younger may be lost.
        await asyncio.sleep(1.1)
        os.kill(int((tmp_path / "data" / "valkey.pid").read_text()), signal.SIGKILL)
        await running.ready(seconds=10)
        await running.say(TALK, "What is 3 + 4?")
        assert "7" in (await running.answers(TALK, 2))[1]
        assert await running.stop(signal.SIGINT) == 0
    assert left_behind(tmp_path) == []


async def test_a_busy_port_is_one_line_with_the_fix(tmp_path: Path) -> None:
    """Nothing is started, and nothing reported as on, where nobody could be served."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with kaiwa(tmp_path, "run", PORT=str(port)) as running:
            assert await running.process.wait() == 2
            (line,) = running.lines
            assert line.startswith(f"kaiwa: PORT: cannot listen on 127.0.0.1:{port}")
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("command", "variables", "complaint"),
    [
        ("run", {"REDIS_URL": "redis://127.0.0.1:1/0"}, "kaiwa: REDIS_URL: "),
        ("worker", {}, "no Kaiwa runs with "),
    ],
)
async def test_a_store_that_is_not_there_is_one_line(
    tmp_path: Path, command: str, variables: dict[str, str], complaint: str
) -> None:
    """With the fix; no command but ``kaiwa run`` starts one of its own."""
    async with kaiwa(tmp_path, command, **variables) as running:
        assert await running.process.wait() == 1
    assert complaint in running.lines[-1]
    assert "Traceback" not in running.output
