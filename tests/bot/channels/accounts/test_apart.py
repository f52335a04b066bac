"""Two accounts of a platform in which people, channels and messages have the same ids: nothing
crosses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.channels import Button, ButtonCard
from bot.channels.slack.cards import OPEN, OpenCard
from bot.channels.slack.formatting import button_row
from bot.channels.traffic import Traffic
from bot.settings import Settings
from bot.store.keys import kv_key
from bot.transcript import encode
from tests.bot.channels.accounts.rig import Accounts, line_table, open_accounts, slack_table
from tests.fakes import slack_events
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.line import LineFake, line_fake
from tests.fakes.line_events import GROUP, USER, unsend
from tests.fakes.slack import SlackFake, slack_fake
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM

# What is the operator's alone.
OPERATORS = (b"traces", b"totals", b"places")
TRAFFIC = {
    kv_key(f"{name}:{one.name}").encode()
    for name in ("line@shop", "slack@acme", "slack@beta")
    for one in fields(Traffic)
}


@dataclass
class World:
    """The process and its platforms, by account."""

    kaiwa: Accounts
    lines: dict[str, LineFake]
    slacks: dict[str, SlackFake]
    redis: Redis

    async def stored(self) -> dict[bytes, bytes | None]:
        """Everything that is stored, by key."""
        keys = [key async for key in self.redis.scan_iter(count=1_000)]
        return {key: await self.redis.dump(key) for key in sorted(keys)}


@pytest.fixture
async def world(
    settings: Settings,
    redis: Redis,
    gemini: GeminiFake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[World]:
    """Two accounts of each platform."""
    with line_fake() as shop, line_fake() as school, slack_fake() as acme, slack_fake() as beta:
        lines, slacks = {"shop": shop, "school": school}, {"acme": acme, "beta": beta}
        for name, fake in lines.items():
            fake.access_token = f"token-of-{name}"
        for name, workspace in slacks.items():
            workspace.tokens = {f"xoxb-{name}"}
            workspace.add_user()
        tables = [line_table(*one) for one in lines.items()]
        tables += [slack_table(*one) for one in slacks.items()]
        async with open_accounts(
            tmp_path,
            monkeypatch,
            gemini,
            *tables,
            GEMINI_API_KEY=KEY,
            GOOGLE_GEMINI_BASE_URL=gemini.base_url,
        ) as kaiwa:
            yield World(kaiwa, lines, slacks, redis)


async def line_day(world: World, account: str, word: str) -> None:
    """What somebody does in LINE; all ids are those of the other account."""
    fake, kaiwa = world.lines[account], world.kaiwa

    def said(words: str, number: int, place: str = USER) -> Any:
        spoken = fake.text(words, place) if place == USER else fake.mention(words, place)
        spoken["message"]["id"] = f"10000000000000000{number}"
        return {**spoken, "webhookEventId": f"01EVENT{number}"}

    await kaiwa.line(account, said(f"keep {word}", 1))
    await kaiwa.line(account, said(f"list {word}", 2, GROUP))
    await kaiwa.line(account, said(f"poll {word}", 3, GROUP))
    answered = fake.sent[0].ids[0] if hasattr(fake.sent[0], "ids") else ""
    quoting = said(f"about {word}", 4)
    quoting["message"]["quotedMessageId"] = answered or "100000000000000001"
    await kaiwa.line(account, quoting)
    await kaiwa.line(account, said(f"regretted {word}", 5))
    await kaiwa.line(account, {**unsend(said("", 5)), "webhookEventId": "01EVENT6"})
    await kaiwa.line(account, said("what do you know", 7))


async def slack_day(world: World, account: str, word: str) -> None:
    """What somebody does in Slack; all ids and times are those of the other account."""
    fake, kaiwa = world.slacks[account], world.kaiwa
    thread, second = "1700000000.000100", "1700000000.000200"
    for ts in (thread, "1700000002.1"):
        fake.add_message(CHANNEL, ts, word)
    await kaiwa.slack(account, slack_events.message(f"keep {word}", "1700000001.1", channel=DIRECT))
    await kaiwa.slack(account, slack_events.mention(f"list {word}", thread))
    await kaiwa.slack(account, slack_events.mention(f"poll {word}", second, thread_ts=thread))
    await kaiwa.slack(account, slack_events.mention(f"old {word}", "1700000002.1"))
    changed = slack_events.edited(
        f"<@U0000000B> new {word}", f"<@U0000000B> old {word}", "1700000002.1"
    )
    await kaiwa.slack(account, changed)
    await kaiwa.slack(account, slack_events.home_opened())
    gone = slack_events.message(f"regretted {word}", "1700000003.1", channel=DIRECT)
    await kaiwa.slack(account, gone)
    await kaiwa.slack(
        account, slack_events.deleted(f"regretted {word}", "1700000003.1", channel=DIRECT)
    )
    await kaiwa.slack(account, slack_events.message("what now", "1700000004.1", channel=DIRECT))


FORGET = slack_events.message("/forget me", "1700000005.1", channel=DIRECT)


@pytest.mark.parametrize(
    ("platform", "first", "second"), [("line", "shop", "school"), ("slack", "acme", "beta")]
)
async def test_what_one_account_stores_the_other_neither_reads_nor_changes(
    world: World, platform: str, first: str, second: str
) -> None:
    """History, facts, lists, votes, edits, deletions and the home tab; nor does its being
    forgotten. The model reads the words of one account at a time."""
    day = line_day if platform == "line" else slack_day
    await day(world, first, "alpha")
    before = await world.stored()
    asked = len(world.kaiwa.asked())
    await day(world, second, "omega")
    assert _changed(before, await world.stored()) == []
    forget = world.lines[second].text("/forget me") if platform == "line" else FORGET
    await (world.kaiwa.line if platform == "line" else world.kaiwa.slack)(second, forget)
    assert _changed(before, await world.stored()) == []
    requests = world.kaiwa.asked()
    for word, own in (("alpha", requests[:asked]), ("omega", requests[asked:])):
        assert sum(word in one for one in own) > 3
        assert sum(word in one for one in requests) == sum(word in one for one in own)


def _changed(before: dict[bytes, bytes | None], after: dict[bytes, bytes | None]) -> list[bytes]:
    """The keys whose values are others, besides what is the operator's."""
    changed = [key for key, value in before.items() if after.get(key) != value]
    kept = [key for key in changed if key.split(b":")[2] not in OPERATORS]
    return [key for key in kept if key not in TRAFFIC]


async def test_a_button_of_one_account_does_nothing_in_another(world: World) -> None:
    """Of a home tab, a poll or an answer: what a press names is of the account that got it."""
    for account, word in (("acme", "alpha"), ("beta", "omega")):
        await slack_day(world, account, word)
    acme, beta = world.slacks["acme"], world.slacks["beta"]
    home, other = acme.homes[slack_events.USER], beta.homes[slack_events.USER]
    assert "alpha" in str(home)
    assert "omega" in str(other)
    assert "omega" not in str(home)
    assert "alpha" not in str(other)
    before = await world.stored()
    delete = next(
        block["accessory"]["action_id"] for block in home["blocks"] if "accessory" in block
    )
    poll, vote = next(
        (one, button["action_id"])
        for one in acme.messages[CHANNEL]
        for block in one.get("blocks", ())
        for button in block.get("elements", ())
        if str(button.get("action_id")).startswith("poll")
    )
    await world.kaiwa.slack("beta", slack_events.view_press(home, delete))
    await world.kaiwa.slack("beta", slack_events.press(poll, vote))
    assert _changed(before, await world.stored()) == []
    await world.kaiwa.slack("acme", slack_events.view_press(home, delete))
    assert "alpha" not in str(acme.homes[slack_events.USER])
    assert "omega" in str(beta.homes[slack_events.USER])


async def test_a_form_shows_a_card_of_its_own_account_alone(world: World) -> None:
    """Whoever signs for one account could name another's conversation in a button."""
    kaiwa, conversation = world.kaiwa, f"slack@acme:{TEAM}:{CHANNEL}:1700000000.000100"
    rows = tuple((f"row {number}", "alpha") for number in range(5))
    card = ButtonCard(
        "Launch", rows=rows, key="question_1", until=2**41, asker_id=slack_events.USER
    )
    store, shown = kaiwa.runtime.conversations.services.store, OpenCard(card, CHANNEL, "1.1")
    await store.kv.set(f"card:{conversation}", encode(shown), 60)
    row = button_row((Button("Review", OPEN, card.key),), conversation, decides=True)
    message = {"ts": "1.1", "text": "Launch", "blocks": [row]}
    for account, opened in (("beta", 0), ("acme", 1)):
        fake = world.slacks[account]
        pressed = slack_events.press(message, OPEN, trigger=fake.trigger())
        await kaiwa.slack(account, pressed)
        assert len(fake.called("views.open")) == opened
