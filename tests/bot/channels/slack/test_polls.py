"""Polls as people see them in Slack: the whole path, on a real store, with presses through the
signed webhook."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from bot.features.polls.tools import StartPoll
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    BETWEEN_TWO,
    CHANNEL,
    DIRECT,
    JSON,
    TEAM,
    USER,
    as_interaction,
    command,
    home_opened,
    mention,
    press,
    signed,
)
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

UPDATE = "chat.update"
OTHER = "U00000002"
CLOSE = "poll.vote#3"
KEPT_IN = f"slack:polls:{CHANNEL}"
BELOW = "Press a button to vote, and the same one again to take your vote back."


class PollPipeline(SlackPipeline):
    """A process with a model that starts a poll and says so."""

    def __init__(
        self, store: Store, fake: SlackFake, arguments: dict[str, Any], **settings: Any
    ) -> None:
        steps = [Step(calls=(ToolCall("c1", "start_poll", arguments),)), Step("Please vote.")]
        tools = ToolMap([ValidatedTool(StartPoll(), *read_schemas("start_poll"))])
        super().__init__(store, fake, steps, tools, **settings)
        self.slack.abilities = replace(self.slack.abilities, change_pause_s=0)

    def pressed(self, action: str, channel: str = CHANNEL, **fields: Any) -> bytes:
        """A press of a button of the poll as it stands there."""
        asked = next(
            one
            for one in self.fake.messages[channel]
            if one.get("blocks", [{}])[0].get("type") == "rich_text"
        )
        first = next(
            one for one in self.fake.posted if one.get("metadata") == asked.get("metadata")
        )
        url = f"{self.fake.origin}/actions/1"
        shown = {**asked, "blocks": first["blocks"]}
        return as_interaction(press(shown, action, channel=channel, response_url=url, **fields))

    async def press(self, action: str, **fields: Any) -> None:
        """Somebody presses a button, and what comes of it is shown."""
        await self.send(self.pressed(action, **fields))

    @property
    def shown(self) -> str:
        """The poll's message."""
        return self.fake.shown[-1]


@asynccontextmanager
async def open_poll(
    fake: SlackFake, store: Store, opening: JSON | None = None, **given: Any
) -> AsyncIterator[PollPipeline]:
    """A poll in a channel, posted."""
    settings = {
        name: given.pop(name) for name in ("allowed_users", "allowed_channels") if name in given
    }
    arguments = {"question": "Where do we eat?", "options": ["Sushi", "Curry"], **given}
    async with PollPipeline(store, fake, arguments, **settings) as poll:
        await poll.send(opening or mention("a poll, please", TS))
        yield poll


@pytest.fixture
async def poll(fake: SlackFake, store: Store) -> AsyncIterator[PollPipeline]:
    fake.add_user(OTHER, "Taro")
    async with open_poll(fake, store) as poll:
        yield poll


async def test_a_poll_stands_below_the_answer(poll: PollPipeline) -> None:
    """In the thread, with a button for each option and one that closes it."""
    answer, shown = poll.fake.shown
    assert answer == "Please vote."
    assert shown == f"Where do we eat?\nSushi\nCurry\nVotes: 0. {BELOW}\n[Sushi] [Curry] [Close]"
    posted = poll.fake.posted[-1]
    assert (posted["thread_ts"], posted["text"]) == (TS, "Where do we eat?")
    assert posted["blocks"][2]["block_id"] == f"slack:{TEAM}:{CHANNEL}:{TS}"


async def test_votes_are_counted_in_the_message(poll: PollPipeline) -> None:
    """Without names, and without a turn; a vote moves, and is taken back."""
    await poll.press("poll.vote#1")
    await poll.press("poll.vote#2", user=OTHER)
    assert poll.shown.startswith("Where do we eat?\nSushi  1\nCurry  1\nVotes: 2.")
    await poll.press("poll.vote#2")
    await poll.press("poll.vote#2", user=OTHER)
    assert poll.shown.startswith("Where do we eat?\nSushi  0\nCurry  1\nVotes: 1.")
    assert (len(poll.model.requests), len(poll.fake.posted), poll.fake.responses) == (2, 2, {})
    assert all(
        "Taro" not in str(update) and OTHER not in str(update)
        for update in poll.fake.called(UPDATE)
    )


async def test_a_press_that_slack_sends_again_counts_once(poll: PollPipeline) -> None:
    """Otherwise it would take the vote back."""
    body = poll.pressed("poll.vote#1")
    for _ in range(3):
        await poll.post(body)
    await poll.process()
    assert "Sushi  1\n" in poll.shown
    assert len(poll.fake.called(UPDATE)) == 1


async def test_only_its_creator_closes_a_poll(poll: PollPipeline) -> None:
    """Others are told so alone; then the buttons are gone, and who presses one that is still shown
    is told."""
    await poll.press("poll.vote#1", user=OTHER)
    await poll.press(CLOSE, user=OTHER)
    await poll.press(CLOSE)
    assert (
        poll.shown
        == "Where do we eat?\nSushi  1\nCurry  0\nThis poll is closed. People who voted: 1"
    )
    await poll.press("poll.vote#2", user=OTHER)
    reported = [one["text"] for responses in poll.fake.responses.values() for one in responses]
    assert reported == [
        "Only the person who started this poll can close it.",
        "This poll is closed.",
    ]
    assert "Curry  0\n" in poll.shown


async def test_a_message_that_is_gone_is_not_updated(poll: PollPipeline) -> None:
    """The vote counts, and nothing becomes a dead letter."""
    body = poll.pressed("poll.vote#1")
    poll.fake.messages[CHANNEL].clear()
    await poll.post(body)
    await poll.process()
    assert await poll.store.outbox.read(KEPT_IN) == []
    assert await poll.store.dead_letters.read() == []


async def test_what_a_model_writes_is_only_text(fake: SlackFake, store: Store) -> None:
    """No mention or link is rendered, and a long option is cut on its button alone."""
    options = ["<!channel> <@U2>", "x" * 60]
    async with open_poll(
        fake, store, question="*b* <https://evil.example|x>", options=options
    ) as poll:
        posted = poll.fake.posted[-1]
        assert posted["text"] == "*b* &lt;https://evil.example|x&gt;"
        assert [block["type"] for block in posted["blocks"]] == ["rich_text", "context", "actions"]
        assert poll.shown.startswith(
            f"*b* <https://evil.example|x>\n<!channel> <@U2>\n{'x' * 60}\n"
        )


async def test_a_command_in_a_channel_starts_no_poll(fake: SlackFake, store: Store) -> None:
    """Its answer is for the sender alone; in a 1:1 there is nobody else."""
    async with SlackPipeline(store, fake) as here:
        await here.send(home_opened(tab="messages"))
    for channel, starts in ((CHANNEL, False), (BETWEEN_TWO, False), (DIRECT, True)):
        opening = command(
            "a poll, please", channel=channel, response_url=f"{fake.origin}/commands/1"
        )
        async with open_poll(fake, store, opening) as poll:
            [result] = poll.model.requests[1].messages[-1].results
            assert (result.is_error, len(fake.posted)) == (not starts, int(starts))


async def test_who_may_not_use_the_bot_does_not_vote(fake: SlackFake, store: Store) -> None:
    """Nor in a channel where it does not answer."""
    async with open_poll(fake, store, allowed_users=(USER,), allowed_channels=(CHANNEL,)) as poll:
        await poll.press("poll.vote#1", user=OTHER)
        await poll.press("poll.vote#2")
        assert "Sushi  0\nCurry  1\n" in poll.shown


async def test_other_buttons_and_unsigned_presses_are_no_votes(poll: PollPipeline) -> None:
    """A poll's id alone lets nobody vote."""
    body = poll.pressed("poll.vote#1")
    refused = await poll.http.post(
        "/webhooks/slack", content=body, headers=signed(body, secret="other")
    )
    assert refused.status_code == 401
    for was, becomes in (
        (b"poll.vote%231", b"poll.vote_1"),
        (b"slack%3A", b"other%3A"),
        (b"poll_", b"pool_"),
    ):
        assert was in body
        await poll.post(body.replace(was, becomes))
    unreadable = body.replace(b"%22container%22", b"%22holder%22")
    await poll.post(unreadable)
    assert poll.due == []
