"""Answers nobody would write by hand stop no process: they are shown once, and others are served
meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.process.kaiwa_process import kaiwa
from tests.process.webhooks import post_line
from tests.waiting import until

LONG = {
    "20,000 letters": "w" * 20_000,
    "stars within stars": "*a " * 1_333 + "a* " * 1_333,
    "a heading that ends late": "# a" + " " * 32_000 + "x",
    "base64": "aGVsbG8gd29ybGQ+0123456789" * 1_300,
    "100 times what is shown": "Words of an answer. " * 75_000,
}


@pytest.mark.parametrize("answer", LONG.values(), ids=LONG)
async def test_a_long_answer_in_line_stalls_nobody(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake, answer: str
) -> None:
    """The lease is kept, the answer sent once, at the first attempt; what waits behind it is
    answered too."""
    gemini.say(answer)
    gemini.say("I am still here.")
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await post_line(running, line, "write on") == 200
        await until(lambda: bool(line.texts), 60)
        assert await running.get("/healthz") == 200
        assert await post_line(running, line, "are you there?") == 200
        await until(lambda: len(line.texts) == 2)
        assert await running.stop() == 0
    first, second = line.texts
    assert 1 <= len(first) <= 3
    assert all(len(bubble) <= 5_000 for bubble in first)
    assert second == ["I am still here."]
    assert running.log("lease.lost") == []
    assert "lease.lost" not in running.output
