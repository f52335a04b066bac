"""Questions in the places of Slack where people ask, with their edits and deletions."""

from __future__ import annotations

import pytest

from tests.bot.channels.slack.rig import TS
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import BOT, CHANNEL, DIRECT, deleted, edited, mention, message
from tests.fakes.slack_rules import JSON

ASKED = "1700000000.000200"

Question = tuple[JSON, JSON, JSON]  # as it is asked, edited and deleted


def in_channel(fake: SlackFake) -> Question:
    """A mention, in whose thread the answer is."""
    fake.add_message(CHANNEL, ASKED, f"<@{BOT}> Wether?")
    old, new = f"<@{BOT}> Wether?", f"<@{BOT}> Weather?"
    return mention("Wether?", ASKED), edited(new, old, ASKED), deleted(old, ASKED)


def in_assistant(fake: SlackFake) -> Question:
    """A message in a thread of the assistant's pane."""
    fake.add_message(DIRECT, TS, "New chat")
    fake.add_message(DIRECT, ASKED, "Wether?", thread_ts=TS)
    where = {"channel": DIRECT, "thread_ts": TS}
    return (
        message("Wether?", ASKED, **where),
        edited("Weather?", "Wether?", ASKED, **where),
        deleted("Wether?", ASKED, **where),
    )


def in_old_thread(fake: SlackFake) -> Question:
    """A mention in a thread in which others have talked, which is read with it."""
    old, new, where = (
        f"<@{BOT}> What is this? Wether?",
        f"<@{BOT}> What is this? Weather?",
        {"thread_ts": TS},
    )
    fake.add_message(CHANNEL, TS, "Rain is wet.")
    fake.add_message(CHANNEL, ASKED, old, **where)
    return (
        mention("What is this? Wether?", ASKED, **where),
        edited(new, old, ASKED, **where),
        deleted(old, ASKED, **where),
    )


PLACES = pytest.mark.parametrize("ask", [in_channel, in_assistant, in_old_thread])
