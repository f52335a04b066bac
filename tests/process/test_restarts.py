"""What one start of Kaiwa began, the next one goes on with: buttons of all kinds, votes, ratings,
files and the history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot.cli.new_tool import write_tool
from tests.fakes.gemini import GeminiFake
from tests.fakes.mcp_server import PNG
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, as_interaction, press
from tests.process.kaiwa_process import Installation, KaiwaProcess, kaiwa, left_behind
from tests.process.webhooks import post_slack, post_to_slack, press_feedback
from tests.waiting import until

POLL, RATED, ACTING = (f"179529822{number}.000100" for number in range(3))
TALK = "conversation-1"
FOOD = {"question": "Where do we eat?", "options": ["Sushi", "Curry"]}
ANY_LINE = "^"


def write_acting_tool(folder: Path, done: Path) -> None:
    """An operator's tool that acts: it writes down each call."""
    file = write_tool("shout", folder).tool
    source = file.read_text("utf-8").replace('risk = "low"', 'risk = "high"')
    reported = (
        f"with open({str(done)!r}, 'a') as file:\n            file.write(text)\n        return"
    )
    file.write_text(source.replace("return {", f"{reported} {{"), "utf-8")


def with_actions(slack: SlackFake) -> list[dict[str, Any]]:
    """The bot's messages that have buttons of their own, in order."""
    messages = slack.messages[CHANNEL]
    return [one for one in messages if one.get("blocks", [{}])[-1].get("type") == "actions"]


async def sends_a_file(running: KaiwaProcess) -> None:
    """Uploaded to one process of two and sent with a message; in the history it stays a name and a
    picture."""
    path = f"/console/{TALK}/files/file_0001"
    async with running.browser() as http:
        stored = await http.put(path, params={"name": "cat.png"}, content=PNG)
        assert stored.status_code == 201
        file = {"ref": "file_0001", "name": "cat.png"} | stored.json()
        await running.say(TALK, "What is this?", files=[file])
        assert await running.answers(TALK, 1) == ["A cat."]
        question, _ = await running.history(TALK)
        assert question["files"] == [
            {"path": path, "name": "cat.png", "text": "cat.png", "url": ""}
        ]
        assert (await http.get(path)).content == PNG


async def feedback_of(here: Installation) -> dict[str, Any]:
    """What the command counts, beside a Kaiwa that runs."""
    async with kaiwa(
        here.folder, "feedback", "--json", ready=ANY_LINE, **here.variables
    ) as command:
        assert await command.process.wait() == 0
    (printed,) = (line for line in command.lines if line.startswith("{"))
    report: dict[str, Any] = json.loads(printed)
    return report


async def test_buttons_files_and_the_history_outlive_their_processes(
    here: Installation, gemini: GeminiFake, slack: SlackFake
) -> None:
    """A poll goes on, the last rating counts, a call is made once however often it is approved, and
    the model remembers the page's conversation; two processes on one port, then one."""
    done = here.folder / "done"
    write_acting_tool(here.folder / "tools", done)
    here.variables |= {"TOOLS_DIR": str(here.folder / "tools")}
    slack.add_user()
    async with here.run("--processes", "2") as running:
        gemini.say("A cat.")
        await sends_a_file(running)
        gemini.call("start_poll", FOOD)
        gemini.say("Please vote.")
        assert await post_slack(running, slack, "a poll, please", POLL) == 200
        await until(lambda: "[Sushi] [Curry] [End the poll]" in "".join(slack.shown), 20)
        (poll,) = with_actions(slack)
        vote = as_interaction(press(poll, "poll.vote#2"))
        assert [await post_to_slack(running, vote) for _ in range(2)] == [200, 200]
        gemini.say("21 °C")
        assert await post_slack(running, slack, "how warm is Tokyo?", RATED) == 200
        await until(lambda: "21 °C" in slack.shown, 20)
        for choice in ("positive", "negative", "positive"):
            assert await press_feedback(running, slack, CHANNEL, choice) == 200
        gemini.call("shout", {"text": "hello"})
        assert await post_slack(running, slack, "shout hello", ACTING) == 200
        await until(lambda: "[Yes] [No]" in slack.shown[-1], 20)
        assert await running.stop() == 0
    assert left_behind(here.folder) == []
    *_, question = with_actions(slack)
    async with here.run() as running:
        close = as_interaction(press(poll, "poll.vote#3"))
        assert await post_to_slack(running, close) == 200
        await until(lambda: any("This poll is closed" in shown for shown in slack.shown), 20)
        assert await press_feedback(running, slack, CHANNEL, "negative") == 200
        gemini.say("HELLO, as you wished.")
        approve = as_interaction(press(question, "approval.approve"))
        assert [await post_to_slack(running, approve) for _ in range(2)] == [200, 200]
        await until(lambda: slack.shown[-1] == "HELLO, as you wished.", 20)
        gemini.say("It was a cat.")
        await running.say(TALK, "What was it?")
        assert await running.answers(TALK, 2) == ["A cat.", "It was a cat."]
        report = await feedback_of(here)
    assert (report["good"], report["bad"], len(report["ratings"])) == (0, 1, 1)
    closed = next(shown for shown in slack.shown if "This poll is closed" in shown)
    assert closed.startswith("Where do we eat?\nSushi  0\nCurry  1\n")
    assert closed.endswith("People who voted: 1")
    assert slack.shown[-2].endswith("\nAllowed: shout. (hanako)")
    assert done.read_text("utf-8") == "hello"
    assert [request.raw.count(b"inlineData") for request in gemini.requests[:1]] == [1]
    assert len(gemini.requests[-1].body["contents"]) == 3
    assert len(gemini.requests) == 7
