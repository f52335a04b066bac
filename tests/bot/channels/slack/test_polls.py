"""Polls and choices as people see them in Slack: the whole path, on a real store, with presses
through the signed webhook."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from bot.channels import InboundEvent, Reply, say_buttons
from bot.channels.slack.types import Address, write_address
from bot.features.polls.tools import StartPoll
from bot.live_events import SAY
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, Text, ToolCall
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import RATING, THREAD, TS, Rig, delivery, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_blocks import read
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
from tests.waiting import until
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

UPDATE = "chat.update"
OTHER = "U00000002"
CLOSE = "poll.vote#3"
KEPT_IN = f"slack:polls:{CHANNEL}"
BELOW = "Press a button to vote, and the same one again to take your vote back."
ASKED = Reply("Which day?", buttons=say_buttons(("Today", "Tomorrow")))
FIRST, SECOND = "message.say#1", "message.say#2"


class PollPipeline(SlackPipeline):
    """A process with a model that starts a poll and says so."""

    def __init__(
        self, store: Store, fake: SlackFake, arguments: dict[str, Any], **settings: Any
    ) -> None:
        steps = [Step(calls=(ToolCall("c1", "start_poll", arguments),)), Step("Please vote.")]
        tools = ToolMap([ValidatedTool(StartPoll(), *read_schemas("start_poll"))])
        super().__init__(store, fake, steps, tools, **settings)
        self.slack.abilities = dataclasses.replace(self.slack.abilities, change_pause_s=0)

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
    """In the thread, with a button for each option and one that closes it, none of them in red."""
    answer, shown = poll.fake.shown
    assert answer == "Please vote."
    assert (
        shown
        == f"Where do we eat?\nSushi\nCurry\nVotes: 0. {BELOW}\n[Sushi] [Curry] [End the poll]"
    )
    posted = poll.fake.posted[-1]
    assert (posted["thread_ts"], posted["text"]) == (TS, "Where do we eat?")
    assert posted["blocks"][2]["block_id"] == f"slack:{TEAM}:{CHANNEL}:{TS}"
    assert not any("style" in button for button in posted["blocks"][2]["elements"])


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
        "Only the person who started this poll can end it.",
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


async def offer(
    rig: Rig, reply: Reply = ASKED, asker: str = USER, **address: Any
) -> dict[str, Any]:
    """The message with the choices, as Slack has it."""
    await rig.slack.deliver(THREAD, replace(delivery(**address), reply=reply, asker=asker), ours)
    return rig.fake.messages[address.get("channel", CHANNEL)][-1]


def words(blocks: list[dict[str, Any]]) -> list[str]:
    """What people see."""
    return [read(block) for block in blocks]


async def test_a_press_is_the_askers_message(fake: SlackFake, rig: Rig) -> None:
    """In the same conversation; in place of the buttons stands who chose what."""
    message = await offer(rig)
    assert words(message["blocks"]) == ["Which day?", "[Today] [Tomorrow]"]
    [(conversation, arrival)] = await rig.receive(press(message, SECOND))
    spoken = ("Tomorrow", f"choice:{CHANNEL}:{message['ts']}", Author(USER, "hanako"))
    address = Address(CHANNEL, message["ts"], TS, user=USER, team=TEAM)
    expected = Message(spoken[1], "user", (Text(spoken[0]),), arrival.message.at, author=spoken[2])
    assert conversation == THREAD
    assert arrival == InboundEvent(expected, write_address(address), group=True, action=SAY)
    await until(lambda: bool(fake.called(UPDATE)))
    await until(lambda: words(message["blocks"]) == ["Which day?", f"@{USER}: Tomorrow"])


async def test_what_was_chosen_stands_where_the_buttons_were(rig: Rig) -> None:
    """Above those for feedback."""
    message = await offer(rig, replace(ASKED, buttons=(*ASKED.buttons, *RATING)))
    *above, feedback = message["blocks"]
    assert words(above) == ["Which day?", "[Today] [Tomorrow]"]
    await rig.send(press(message, SECOND))
    await rig.slack.tasks.join()
    assert words(message["blocks"][:2]) == ["Which day?", f"@{USER}: Tomorrow"]
    assert message["blocks"][2:] == [feedback]


async def test_an_answer_has_one_choice(rig: Rig) -> None:
    """A second press, of whichever button, is the same message; it is not taken again, and not
    shown."""
    message = await offer(rig)
    presses = [press(message, FIRST), press(message, FIRST), press(message, SECOND)]
    assert [await rig.send(one) for one in presses] == [200] * 3
    await rig.slack.tasks.join()
    assert rig.inbox.words == ["Today"]
    assert words(message["blocks"]) == ["Which day?", f"@{USER}: Today"]


async def test_only_the_asker_chooses(fake: SlackFake, rig: Rig) -> None:
    """Others' presses, and buttons that somebody else has made, do nothing."""
    message = await offer(rig)
    mine = press(message, FIRST)
    [action] = mine["actions"]
    forged = [
        {"value": "Today"},
        {"value": f"{USER}:{'x' * 50}"},
        {"block_id": "elsewhere"},
        {"action_id": "other"},
    ]
    for one in (
        press(message, FIRST, user="U7"),
        *(mine | {"actions": [action | change]} for change in forged),
    ):
        assert await rig.send(one) == 200
    assert (rig.inbox.words, fake.called(UPDATE)) == ([], [])


@pytest.mark.parametrize("settings", [{"allowed_users": ("U7",)}, {"allowed_channels": ("C7",)}])
async def test_who_may_not_use_the_bot_chooses_nothing(
    fake: SlackFake, settings: dict[str, Any]
) -> None:
    """An allow-list may have changed since the answer."""
    async with open_rig(fake, **settings) as rig:
        message = await offer(rig)
        assert await rig.receive(press(message, FIRST)) == []


async def test_where_one_person_alone_reads_the_choices_are_words(
    fake: SlackFake, rig: Rig
) -> None:
    """The answer to a press would be seen by all; so it is for an asker who is not known."""
    await offer(rig, response_url=f"{fake.origin}/commands/1")
    [shown] = fake.responses["/commands/1"]
    assert words(shown["blocks"]) == ["Which day?", "・Today\n・Tomorrow"]
    assert words((await offer(rig, asker=""))["blocks"]) == ["Which day?", "・Today\n・Tomorrow"]


@pytest.mark.parametrize("trouble", ["refused", "away", "no message"])
async def test_buttons_that_stay_do_no_harm(fake: SlackFake, rig: Rig, trouble: str) -> None:
    """The press counts, whatever becomes of the message."""
    pressed = press(await offer(rig, channel=DIRECT, thread=""), FIRST, channel=DIRECT)
    if trouble == "refused":
        fake.fail(UPDATE, "cant_update_message")
    elif trouble == "away":
        fake.break_down(UPDATE)
    else:
        del pressed["message"]
    with capture_logs() as logs:
        assert await rig.send(pressed) == 200
        await rig.slack.tasks.join()
    assert rig.inbox.words == ["Today"]
    left = [entry for entry in logs if entry["event"] == "slack.buttons_left"]
    assert len(left) == (trouble != "no message")
