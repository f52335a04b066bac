"""Answers nobody would write by hand stop no process: they are shown once, and others are served
meanwhile."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, said
from tests.fakes.line import LineFake
from tests.process.kaiwa_process import Installation
from tests.process.webhooks import post_line
from tests.waiting import until

LONG = {
    "20,000 letters": "w" * 20_000,
    "stars within stars": "*a " * 1_333 + "a* " * 1_333,
    "a heading that ends late": "# a" + " " * 32_000 + "x",
    "base64": "aGVsbG8gd29ybGQ+0123456789" * 1_300,
    "100 times what is shown": "Words of an answer. " * 75_000,
}


def writer(body: dict[str, Any]) -> Answer:
    """Writes what a message names; everything else, notes too, has a short answer."""
    newest = str(body["contents"][-1])
    answers = (answer for name, answer in LONG.items() if f"write {name}" in newest)
    return said(next(answers, "I am still here."))


async def test_long_answers_in_line_stall_nobody(
    here: Installation, gemini: GeminiFake, line: LineFake
) -> None:
    """The lease is kept, each answer is sent once, at the first attempt; what waits behind it is
    answered too."""
    gemini.always = writer
    async with here.run() as running:
        for count, name in enumerate(LONG):
            user = f"U{count:032x}"
            assert await post_line(running, line, f"write {name}", user) == 200
            await until(partial(is_sent, line, 2 * count + 1), 60)
            assert await running.get("/healthz") == 200
            assert await post_line(running, line, "are you there?", user) == 200
            await until(partial(is_sent, line, 2 * count + 2))
            assert 1 <= len(line.texts[-2]) <= 3
            assert all(len(bubble) <= 5_000 for bubble in line.texts[-2])
            assert line.texts[-1] == ["I am still here."]
        assert await running.stop() == 0
    assert len(line.texts) == 2 * len(LONG)
    assert "lease.lost" not in running.output


def is_sent(line: LineFake, count: int) -> bool:
    """Whether LINE has so many answers."""
    return len(line.texts) >= count
