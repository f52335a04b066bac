"""Long answers reach Slack in pieces of its size."""

from __future__ import annotations

import pytest

from bot.channels import Reply
from bot.channels.slack import Config
from bot.channels.slack.channel import Slack
from bot.channels.slack.formatting import LIMIT
from bot.channels.slack.live_answer import TextBuffer
from tests.bot.channels.slack.rig import Inbox, slack_host
from tests.fakes.kv import LocalKeyValue


def test_a_reply_becomes_portions_with_its_other_marks() -> None:
    """Each is a delivery of its own."""
    slack = Slack(Config(), slack_host(Inbox(), LocalKeyValue()))
    portions = slack.split(Reply("a" * LIMIT + "\n\nb", failure="why"))
    assert portions == [Reply("a" * LIMIT, "why"), Reply("b", "why")]


@pytest.mark.parametrize("label", ["", "|here", f"|{'x' * 300}", "|two\nlines"])
@pytest.mark.parametrize("name", ["channel", "here", "everyone", f"subteam^S{'1' * 200}"])
@pytest.mark.parametrize("size", [1, 7, 120])
def test_no_pieces_of_a_stream_make_a_mention_of_everybody(
    name: str, label: str, size: int
) -> None:
    """However long its label is, and wherever the pieces end; what is no mention is shown at
    once."""
    text, buffer, shown = f"Hi <!{name}{label}> <b <!-- x", TextBuffer(), ""
    for start in range(0, len(text), size):
        buffer.add(text[start : start + size])
        shown += buffer.take()
    assert shown == f"Hi @{name.partition('^')[0]} <b <!-- x"
