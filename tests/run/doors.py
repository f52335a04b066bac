"""What LINE, Slack and the page do at the door of a running process; each answers with the status it got."""

from __future__ import annotations

from tests.fakes import line_events, slack_events
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.run.house import Running


async def tell_line(house: Running, line: LineFake, text: str, user: str = line_events.USER) -> int:
    """Somebody writes to the bot in LINE."""
    event = line.event(place=user, user=user, message=line_events.text_message(text))
    return await house.post("/webhooks/line", *line_events.webhook(event))


async def tell_slack(house: Running, slack: SlackFake, text: str, ts: str) -> int:
    """Somebody mentions the bot in Slack."""
    slack.add_message(slack_events.CHANNEL, ts, text)
    body = slack_events.as_json(slack_events.mention(text, ts))
    return await house.post("/webhooks/slack", body, slack_events.signed(body))
