"""A tool that acts, asked for in Slack: the question, another process, the press, and the call that
is made once."""

from __future__ import annotations

from pathlib import Path

from bot.cli.new_tool import write_tool
from tests.fakes.gemini import GeminiFake
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, as_interaction, press, signed
from tests.process.kaiwa_process import kaiwa
from tests.process.webhooks import post_slack
from tests.waiting import until

TS = "1795298220.000100"


def write_acting_tool(folder: Path, done: Path) -> None:
    """An operator's tool that acts: it writes down each call."""
    file = write_tool("shout", folder).tool
    source = file.read_text("utf-8").replace('] = "low"', '] = "high"')
    reported = (
        f"with open({str(done)!r}, 'a') as file:\n            file.write(text)\n        return"
    )
    file.write_text(source.replace("return {", f"{reported} {{"), "utf-8")


async def test_a_call_approved_after_a_restart_is_made_once(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, slack: SlackFake
) -> None:
    """The buttons of a process that is gone work in the next one, however often they are
    pressed."""
    done = tmp_path / "done"
    write_acting_tool(tmp_path / "tools", done)
    variables |= {"TOOLS_DIR": str(tmp_path / "tools")}
    slack.add_user()
    gemini.call("shout", {"text": "hello"})
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await post_slack(running, slack, "shout hello", TS) == 200
        await until(lambda: "[Approve] [Reject]" in "".join(slack.shown), 20)
    gemini.say("HELLO, as you wished.")
    (asked,) = (message for message in slack.messages[CHANNEL] if message.get("bot_id"))
    body = as_interaction(press(asked, "kaiwa_approve"))
    async with kaiwa(tmp_path, "run", **variables) as running:
        for _ in range(2):
            assert await running.post("/webhooks/slack", body, signed(body)) == 200
        await until(lambda: len(slack.shown) == 2, 20)
    question, answer = slack.shown
    assert "\nshout\n▸ text: hello\n" in question
    assert question.endswith("\nAllowed: shout. (hanako)")
    assert answer == "HELLO, as you wished."
    assert done.read_text("utf-8") == "hello"
