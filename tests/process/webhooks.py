"""What LINE, Slack and the page do at the door of a running process; each answers with the status it got."""

from __future__ import annotations

from tests.fakes import line_events, slack_events
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import KaiwaProcess


async def post_line(running: KaiwaProcess, line: LineFake, text: str, user: str = line_events.USER) -> int:
    """Somebody writes to the bot in LINE."""
    event = line.event(place=user, user=user, message=line_events.text_message(text))
    return await running.post("/webhooks/line", *line_events.webhook(event))


async def post_slack(running: KaiwaProcess, slack: SlackFake, text: str, ts: str) -> int:
    """Somebody mentions the bot in Slack."""
    slack.add_message(slack_events.CHANNEL, ts, text)
    body = slack_events.as_json(slack_events.mention(text, ts))
    return await running.post("/webhooks/slack", body, slack_events.signed(body))
