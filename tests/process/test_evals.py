"""``kaiwa eval`` as a process that is interrupted: what was answered is not asked again."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

from bot.evals.questions import load_questions
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.gemini_answers import said
from tests.process.kaiwa_process import KaiwaProcess, kaiwa
from tests.waiting import until

NUMBER = len(load_questions())
BEFORE = 30  # answers before the model falls silent


async def until_silent(gemini: GeminiFake, running: KaiwaProcess, asked: int) -> None:
    """Until the model has been asked so often, and does not answer any more."""
    await until(lambda: len(gemini.requests) == asked or running.process.returncode is not None)
    assert running.process.returncode is None, running.output


async def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, gemini: GeminiFake) -> None:
    """Ctrl-C says how; after kill -9, half a line and an error of the model are asked for again."""
    variables = {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "MODEL": "gemini:gemini-3.5-flash",
    }
    command = "eval", "--repeat", "1", "--parallel", "1"
    stored = tmp_path / "data" / "evals.json.gemini_gemini-3.5-flash.unfinished"
    for _ in range(BEFORE):
        gemini.say("Hello.")
    gemini.fail(400, "refused")
    gemini.stall()
    async with kaiwa(tmp_path, *command, ready="25 of", **variables) as running:
        await until_silent(gemini, running, BEFORE + 2)
        assert await running.stop(signal.SIGINT) == 130
    how = f"interrupted; the same command goes on with the answers in {stored}"
    assert running.lines[-1] == how
    gemini.say("Hello.")
    gemini.stall()
    async with kaiwa(tmp_path, *command, ready="going on with", **variables) as running:
        await until_silent(gemini, running, BEFORE + 4)
        await running.kill()
    answered = BEFORE + 1
    assert len(stored.read_bytes().splitlines()) == 1 + answered
    with stored.open("ab") as file:
        file.write(b'{"digest": "')
    gemini.requests.clear()
    gemini.always = lambda _: said("Hello.")
    async with kaiwa(tmp_path, *command, ready="going on with", **variables) as again:
        async with asyncio.timeout(60):
            assert await again.process.wait() == 0
    assert again.lines[0].startswith(f"going on with {answered} answers of the run that began at 2")
    assert len(gemini.requests) == NUMBER - answered
    assert not stored.exists()
    [run] = json.loads((tmp_path / "data" / "evals.json").read_text("utf-8"))["runs"].values()
    assert sum(score["attempts"] for score in run["scores"].values()) == NUMBER
    assert all("errors" not in score for score in run["scores"].values())
