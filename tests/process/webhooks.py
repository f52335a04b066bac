"""What LINE, Slack and the page do at the door of a running process; each answers with the status
it got."""

from __future__ import annotations

from tests.fakes import line_events, slack_events
from tests.fakes.line import LineFake
from tests.fakes.line_events import JSON
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import KaiwaProcess


async def post_line(
    running: KaiwaProcess, line: LineFake, text: str, user: str = line_events.USER
) -> int:
    """Somebody writes to the bot in LINE."""
    return await post_line_event(running, line.text(text, user, user))


async def post_line_event(running: KaiwaProcess, *events: JSON) -> int:
    """What LINE sends."""
    return await running.post("/webhooks/line", *line_events.webhook(*events))


async def post_slack(running: KaiwaProcess, slack: SlackFake, text: str, ts: str) -> int:
    """Somebody mentions the bot in Slack."""
    slack.add_message(slack_events.CHANNEL, ts, text)
    return await post_to_slack(running, slack_events.as_json(slack_events.mention(text, ts)))


async def press_feedback(running: KaiwaProcess, slack: SlackFake, channel: str, choice: str) -> int:
    """Somebody says what they think of the newest answer with buttons for that."""
    asked = [
        one
        for one in slack.messages[channel]
        if one.get("blocks", [{}])[-1].get("type") == "context_actions"
    ]
    payload = slack_events.press(asked[-1], "kaiwa_feedback", channel=channel, choice=choice)
    return await post_to_slack(running, slack_events.as_interaction(payload))


async def post_to_slack(running: KaiwaProcess, body: bytes) -> int:
    """What Slack sends."""
    return await running.post("/webhooks/slack", body, slack_events.signed(body))
