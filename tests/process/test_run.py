"""``kaiwa run`` from the outside: it answers, remembers, shares its work and leaves nothing
behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import httpx
import pytest

from tests.fakes.gemini import KEY, GeminiFake, gemini_fake
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import WORKING, kaiwa, left_behind

TALK = "conversation-1"


def env(gemini: GeminiFake, wttr: WttrFake) -> dict[str, str]:
    """Gemini and the weather, both on this machine."""
    return {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "WTTR_BASE_URL": wttr.base_url,
    }


async def test_a_question_goes_through_model_and_tool_to_an_answer(
    tmp_path: Path, gemini: GeminiFake, wttr: WttrFake
) -> None:
    """The whole way: page → inbox → Gemini → weather → Gemini → history, with the tool's result
    told to the model."""
    wttr.place("Tokyo", temp=21)
    gemini.call("get_weather", {"location": "Tokyo"})
    gemini.say("It is 21 °C", " in Tokyo.")
    async with kaiwa(tmp_path, "run", **env(gemini, wttr)) as running:
        await running.say(TALK, "How warm is it in Tokyo?", time_zone="Asia/Tokyo")
        assert await running.answers(TALK, 1) == ["It is 21 °C in Tokyo."]
    reported = gemini.requests[1].body["contents"]
    assert [content["role"] for content in reported] == ["user", "model", "user"]
    assert reported[0]["parts"][0]["text"].endswith("Asia/Tokyo, console, 1:1]")
    (response,) = [part["functionResponse"] for part in reported[2]["parts"]]
    assert response["response"]["output"]["current_temp_c"] == "21"
    assert KEY not in running.output
    assert "How warm" not in running.output
    (turn,) = running.log("turn.answered")
    assert turn["conversation"] == f"console:{TALK}"


async def test_memory_outlives_the_process(
    tmp_path: Path, gemini: GeminiFake, wttr: WttrFake
) -> None:
    """Stopped and started again, the bot still knows what was said; in between nothing of it
    runs."""
    gemini.say("Hello Hanako")
    gemini.say("Hanako")
    async with kaiwa(tmp_path, "run", **env(gemini, wttr)) as running:
        await running.say(TALK, "I am Hanako")
        await running.answers(TALK, 1)
        assert await running.stop() == 0
    assert left_behind(tmp_path) == []
    async with kaiwa(tmp_path, "run", **env(gemini, wttr)) as running:
        await running.say(TALK, "Who am I?")
        assert await running.answers(TALK, 2) == ["Hello Hanako", "Hanako"]
    assert [len(request.body["contents"]) for request in gemini.requests] == [1, 3]


async def test_web_and_worker_apart_share_one_store(
    tmp_path: Path, gemini: GeminiFake, wttr: WttrFake
) -> None:
    """What one process takes in another answers; the web process alone is ready without a worker of
    its own."""
    gemini.say("From over there")
    async with kaiwa(tmp_path, "run", "--no-worker", **env(gemini, wttr)) as web:
        async with kaiwa(tmp_path, "worker", ready=WORKING, **env(gemini, wttr)) as worker:
            await web.say(TALK, "Anybody?")
            assert await web.answers(TALK, 1) == ["From over there"]
            assert len(worker.log("turn.answered")) == 1
            assert await worker.stop() == 0
        async with httpx.AsyncClient(base_url=web.base_url) as http:
            assert (await http.get("/readyz")).json() == {
                "ready": True,
                "reason": None,
                "refuses": None,
            }
            assert (await http.get("/healthz")).text == "ok\n"
            assert "kaiwa_messages_accepted_total" in (await http.get("/metrics")).text


async def test_a_refused_key_is_an_apology_with_cause_and_fix(
    tmp_path: Path, wttr: WttrFake
) -> None:
    """The user gets one sentence, the operator at the page sees which variable to fix; the key is
    shown nowhere."""
    async with gemini_fake() as gemini:
        variables = env(gemini, wttr) | {"GEMINI_API_KEY": "a-wrong-key"}
        async with kaiwa(tmp_path, "run", **variables) as running:
            await running.say(TALK, "こんにちは")
            (apology,) = await running.answers(TALK, 1)
            assert apology.startswith("言語モデルへの接続が拒否されました")
            (failed,) = running.log("turn.apologised")
            assert "GEMINI_API_KEY" in failed["cause"]
            assert "a-wrong-key" not in running.output


async def test_nothing_configured_is_a_demo_that_says_so(tmp_path: Path) -> None:
    """Without any variable the demo answers, names itself and the variable that brings the real
    model."""
    async with kaiwa(tmp_path, "run") as running:
        assert "GEMINI_API_KEY" in running.output
        await running.say(TALK, "What is 2 + 3?")
        (answer,) = await running.answers(TALK, 1)
        assert "5" in answer
        assert "GEMINI_API_KEY" in answer
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
    assert "Traceback" not in running.output
    assert left_behind(tmp_path) == []


async def test_a_misspelled_name_is_in_the_start_report(tmp_path: Path) -> None:
    """The bot runs all the same."""
    (tmp_path / ".env").write_text("GEMINI_APIKEY=key\n", "utf-8")
    async with kaiwa(tmp_path, "run") as running:
        assert "nothing reads GEMINI_APIKEY of .env" in running.output
        assert "did you mean GEMINI_API_KEY?" in running.output


async def test_a_store_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """A wrong REDIS_URL names itself."""
    async with kaiwa(tmp_path, "run", REDIS_URL="redis://127.0.0.1:1/0") as running:
        assert await running.process.wait() == 1
    assert running.lines[-1].startswith("kaiwa: REDIS_URL: ")
    assert "Traceback" not in running.output


async def test_a_second_kaiwa_in_the_same_folder_is_one_line_with_the_fix(tmp_path: Path) -> None:
    """The first goes on, and owns the store until its end."""
    async with kaiwa(tmp_path, "run") as first:
        async with kaiwa(tmp_path, "run") as second:
            assert await second.process.wait() == 2
        (complaint,) = [line for line in second.lines if line.startswith("kaiwa:")]
        assert complaint.startswith("kaiwa: KAIWA_DATA_DIR: another Kaiwa runs with ")
        await first.say(TALK, "What is 6 * 7?")
        assert "42" in (await first.answers(TALK, 1))[0]
    assert "Traceback" not in second.output
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("command", [("worker",), ("usage",), ("outbox", "list")])
async def test_without_a_store_that_runs_a_command_is_one_line_with_the_fix(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    """It starts none of its own."""
    async with kaiwa(tmp_path, *command) as alone:
        assert await alone.process.wait() == 1
    assert f"no Kaiwa runs with {tmp_path / 'data'}" in alone.lines[-1]
    assert "kaiwa run" in alone.lines[-1]
    assert "Traceback" not in alone.output


async def test_a_frozen_store_is_503_within_three_seconds(tmp_path: Path) -> None:
    """Nothing is accepted that cannot be kept, and nobody waits long to hear so; afterwards all is
    well again."""
    async with kaiwa(tmp_path, "run") as running:
        pid = int((tmp_path / "data" / "valkey.pid").read_text())
        async with httpx.AsyncClient(base_url=running.base_url, timeout=5) as http:
            os.kill(pid, signal.SIGSTOP)
            try:
                async with asyncio.timeout(3.2):
                    refused = await http.post(f"/console/{TALK}/messages", json={"text": "hello"})
                not_ready = await http.get("/readyz")
            finally:
                os.kill(pid, signal.SIGCONT)
            assert (refused.status_code, not_ready.status_code) == (503, 503)
            await running.say(TALK, "What is 1 + 1?")
            assert "2" in (await running.answers(TALK, 1))[0]


async def test_the_store_may_die_and_comes_back(tmp_path: Path) -> None:
    """A killed Valkey is started again with its data; ready within ten seconds, and nothing said is
    forgotten."""
    async with kaiwa(tmp_path, "run") as running:
        await running.say(TALK, "What is 1 + 2?")
        await running.answers(TALK, 1)
        await asyncio.sleep(
            1.1
        )  # the append-only file is synced once a second: what is younger may be lost
        os.kill(int((tmp_path / "data" / "valkey.pid").read_text()), signal.SIGKILL)
        await running.ready(seconds=10)
        await running.say(TALK, "What is 3 + 4?")
        assert "7" in (await running.answers(TALK, 2))[1]
