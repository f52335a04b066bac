"""What docs/operating.md says for the night is what its commands print."""

from __future__ import annotations

import re
import shlex

from tests.fakes import slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import failure, said
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import Installation, kaiwa
from tests.process.webhooks import post_slack
from tests.project import ROOT
from tests.waiting import until

NIGHT = (
    (ROOT / "docs" / "operating.md").read_text("utf-8").split("## At 2 a.m.")[1].split("\n## ")[0]
)
TS = "1700000001.000100"


async def printed(here: Installation, line: str) -> str:
    """What a command of the page prints, of this test's workspace."""
    for shown, real in (("T0123", slack_events.TEAM), ("C0123", slack_events.CHANNEL)):
        line = line.replace(shown, real)
    words = shlex.split(line)[1:]
    async with kaiwa(here.folder, *words, ready="^never$", **here.variables) as running:
        await running.process.wait()
    return running.output


def promised(*words: str) -> None:
    """The page says them, in this order, with anything between them."""
    assert re.search(".*".join(map(re.escape, words)), NIGHT), words


async def test_a_complaint_is_followed_as_printed(
    here: Installation, gemini: GeminiFake, slack: SlackFake
) -> None:
    """By the conversation, by its place, and by what failed."""
    (block,) = re.findall(r"```sh\n(\.venv/bin/kaiwa trace .*?)```", NIGHT, re.DOTALL)
    trace, place, failed, outbox = block.splitlines()
    gemini.always = lambda body: failure(429, "quota")
    async with here.run() as running:
        assert await post_slack(running, slack, "Hello?", TS) == 200
        await until(lambda: bool(running.log("delivery.sent")), 20)
        (turn,) = {line["turn"] for line in running.log("turn.failed")}
        for line in (trace, place, failed):
            assert turn in await printed(here, line)
        assert "dead letters: none" in await printed(here, outbox)
        steps = (await printed(here, f"kaiwa trace {turn}")).splitlines()
        assert steps[3] == "! rate_limited"
        promised("fourth\nline")
        promised("! rate_limited", "is over its quota (429)", "doctor cannot see this")
        (apology,) = running.log("turn.apologised")
        assert "is over its quota (429)" in apology["cause"]
        gemini.always = lambda body: said("Hello.")
        assert await post_slack(running, slack, "Hello!", "1700000002.000100") == 200
        await until(lambda: bool(running.log("turn.answered")), 20)
        assert "within 5 s\t" in await printed(here, "kaiwa report --days 1")


async def test_the_doctor_names_what_is_wrong(here: Installation, gemini: GeminiFake) -> None:
    """Nothing runs, and the key is refused."""
    gemini.card = failure(400, "API key not valid.", reason="API_KEY_INVALID")
    checks = await printed(here, "kaiwa doctor")
    for words in (
        ("✗ store: ", " no Kaiwa runs with "),
        ("✗ LINE webhook: no address is set",),
        ("✗ model: ", "(GEMINI_API_KEY was refused (400): set a valid key)"),
    ):
        promised(*words)
        assert re.search(".*".join(map(re.escape, words)), checks)
