"""The home tab shows what is kept of a person, and its buttons delete it: the whole path, on a real
store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from bot.channels import InboundEvent
from bot.channels.slack.home import MOST_ROWS
from bot.channels.slack.types import Address, write_address
from bot.clock import now_ms
from bot.features.memory.store import PersonFacts
from bot.features.reminders.personal import PersonalReminders
from bot.features.reminders.reminder import Reminder
from bot.features.reminders.store import StoredReminders
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS, open_rig
from tests.fakes.slack import APP_TOKEN, SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM, USER, home_opened, message, view_press
from tests.fakes.slack_views import read_view

PUBLISH = "views.publish"
ALONE, CHANNEL_PLACE = f"slack:{TEAM}:{DIRECT}", f"slack:{TEAM}:{CHANNEL}"
CANCEL, DELETE, FORGET = "kaiwa_home_cancel", "kaiwa_home_delete", "kaiwa_home_forget"
OTHER = "U00000002"


@pytest.fixture
async def here(fake: SlackFake, store: Store) -> AsyncIterator[SlackPipeline]:
    fake.add_user(USER, "Ann", locale="en-US", zone="UTC")
    fake.add_user(OTHER, "Taro")
    async with SlackPipeline(store, fake, [Step("Hello.")]) as here:
        yield here


async def remind(
    here: SlackPipeline, conversation: str, text: str, hours: int, user: str = USER
) -> None:
    """Keep a reminder as a tool does."""
    event = InboundEvent(
        Message("m", "user", (), 0, author=Author(user)), write_address(Address(DIRECT))
    )
    at = datetime.fromtimestamp(now_ms() / 1000, UTC) + timedelta(hours=hours)
    own = PersonalReminders(here.runner.services, conversation, event, Author(user))
    await own.add(Reminder(f"reminder_{text.partition(' ')[0]}", text, at))


async def know(store: Store, place: str, text: str, user: str = USER) -> int:
    entry = f"{'own' if ':D' in place else 'shared'} {place}"
    await store.belongings.add(f"slack:{user}", entry, 60)
    return await PersonFacts(store, place, user).remember(text)


def tab(fake: SlackFake, user: str = USER) -> list[str]:
    """What somebody reads on their tab."""
    return read_view(fake.homes[user])


async def test_an_empty_tab_says_so_in_the_persons_language(
    here: SlackPipeline, fake: SlackFake
) -> None:
    """With what is kept and for how long; only the tab that was opened is published."""
    await here.send(home_opened(tab="messages"))
    assert fake.homes == {}
    await here.send(home_opened())
    usage, used, reminders, none, memory, nothing, privacy, stored, forget = tab(fake)
    assert (usage, reminders, memory, privacy, forget) == (
        "Usage",
        "Reminders",
        "Memory",
        "Privacy",
        "[Forget me]",
    )
    assert "0 messages, 0 tokens" in used
    assert (none, nothing) == (
        "You have no reminders.",
        "You have not asked me to remember anything.",
    )
    assert "30 days" in stored
    await here.send(home_opened(user=OTHER))
    assert tab(fake, OTHER)[0] == "使用量"


async def test_reminders_and_facts_of_every_place_have_buttons(
    here: SlackPipeline, fake: SlackFake, store: Store
) -> None:
    """Those of channels below the channel's name; others' are not shown."""
    await remind(here, ALONE, "call", 2)
    await remind(here, f"{CHANNEL_PLACE}:{TS}", "meet", 1)
    await remind(here, f"{CHANNEL_PLACE}:{TS}", "secret", 1, OTHER)
    await know(store, ALONE, "likes tea")
    await know(store, CHANNEL_PLACE, "is on call <!channel>")
    await know(store, CHANNEL_PLACE, "hates tea", OTHER)
    await here.send(home_opened())
    shown = tab(fake)
    where = f"In <#{CHANNEL}>"
    assert shown[3] == where
    assert shown[4].endswith(": meet [Cancel]")
    assert shown[5].endswith(": call [Cancel]")
    assert shown[6:10] == ["Memory", "likes tea [Delete]", where, "is on call <!channel> [Delete]"]
    assert not any("secret" in line or "hates" in line for line in shown)
    assert all(
        block["text"]["type"] == "plain_text"
        for block in fake.homes[USER]["blocks"]
        if "text" in block
    )


async def test_buttons_delete_and_the_tab_follows(
    here: SlackPipeline, fake: SlackFake, store: Store
) -> None:
    """What is gone when Slack has its answer."""
    await remind(here, ALONE, "call", 2)
    await know(store, CHANNEL_PLACE, "likes tea")
    await here.send(home_opened())
    before = fake.homes[USER]
    await here.post(view_press(before, CANCEL))
    assert await StoredReminders(store).read(ALONE) == {}
    await here.process()
    assert "You have no reminders." in tab(fake)
    await here.send(view_press(fake.homes[USER], DELETE))
    assert "You have not asked me to remember anything." in tab(fake)
    assert await PersonFacts(store, CHANNEL_PLACE, USER).read() == []
    await here.send(view_press(before, CANCEL))  # an old view, of another window
    await here.send(view_press(before, DELETE))
    assert "You have no reminders." in tab(fake)
    assert fake.called(PUBLISH)[1]["hash"] == before["hash"]


async def test_two_presses_at_once_end_in_the_newest_tab(
    here: SlackPipeline, fake: SlackFake, store: Store
) -> None:
    """The slower one finds another hash than the one it was pressed on, and reads again."""
    for text in ("likes tea", "has a cat"):
        await know(store, ALONE, text)
    await here.send(home_opened())
    view = fake.homes[USER]
    keys = [block["accessory"]["value"] for block in view["blocks"] if "accessory" in block]
    await asyncio.gather(*(here.post(view_press(view, DELETE, key)) for key in keys))
    await here.process()
    assert "You have not asked me to remember anything." in tab(fake)
    assert len(fake.called(PUBLISH)) == 4
    assert "hash" not in fake.called(PUBLISH)[-1]


async def test_nobody_deletes_what_is_anothers(
    here: SlackPipeline, fake: SlackFake, store: Store
) -> None:
    """The person is whoever presses, whatever the button carries; a made-up view or key does
    nothing."""
    await remind(here, ALONE, "call", 2)
    await know(store, ALONE, "likes tea")
    await here.send(home_opened())
    view = fake.homes[USER]
    await here.send(view_press(view, CANCEL, user=OTHER))
    await here.send(view_press(view, DELETE, user=OTHER))
    for value in ("", "x", f"{ALONE} x", f"{ALONE} 99"):
        changed = view_press(view, DELETE)
        changed["actions"][0]["value"] = value
        await here.send(changed)
    await here.send(view_press({**view, "private_metadata": f"slack:{TEAM}:{CHANNEL}"}, FORGET))
    await here.send(
        {**view_press(view, FORGET), "actions": [{"action_id": "other", "block_id": "b"}]}
    )
    assert len(await StoredReminders(store).read(ALONE)) == 1
    assert len(await PersonFacts(store, ALONE, USER).read()) == 1


async def test_forget_me_asks_and_goes_through_the_inbox(
    here: SlackPipeline, fake: SlackFake, store: Store
) -> None:
    """Slack asks in its own dialog; the tab is empty at once, and the 1:1 says when it is done."""
    await here.send(message("Hello", TS, channel=DIRECT))
    await know(store, ALONE, "likes tea")
    await here.send(home_opened())
    button = fake.homes[USER]["blocks"][-1]["elements"][0]
    assert button["confirm"]["title"]["text"] == "Forget you?"
    press = view_press(fake.homes[USER], FORGET)
    await here.send(press)
    assert tab(fake) == [
        "I am deleting what I keep of you. I say in the Messages tab when it is done."
    ]
    assert fake.posted[-1]["channel"] == DIRECT
    assert fake.posted[-1]["markdown_text"].startswith("Done: I have deleted what I kept of you")
    assert await PersonFacts(store, ALONE, USER).read() == []
    posted = len(fake.posted)
    await here.send(press)
    assert len(fake.posted) == posted


async def test_a_long_list_is_cut(here: SlackPipeline, fake: SlackFake, store: Store) -> None:
    """A view takes 100 blocks; a line counts the rest."""
    for number in range(MOST_ROWS + 5):
        await know(store, ALONE, f"fact {number} {'x' * 150}")
    for number in range(20):
        place = f"slack:{TEAM}:C{number:08}:{TS}"
        await remind(here, place, f"r{number} {'y' * 900}", number + 1)
    await here.send(home_opened())
    assert len(fake.homes[USER]["blocks"]) == 7 + MOST_ROWS + MOST_ROWS + 1
    assert tab(fake)[-4].startswith("And 5 more")


async def test_people_who_may_not_use_the_bot_get_a_sentence(fake: SlackFake, store: Store) -> None:
    """And their presses do nothing."""
    fake.add_user(USER, "Ann", locale="en-US")
    await know(store, ALONE, "likes tea")
    async with SlackPipeline(store, fake) as here:
        await here.send(home_opened())
        view = fake.homes[USER]
    async with SlackPipeline(store, fake, allowed_users=(OTHER,)) as here:
        await here.send(view_press(view, DELETE))
        await here.send(home_opened())
        assert tab(fake) == [
            "Sorry, I answer only people and channels on my list, and this is not on it yet."
        ]
    assert len(await PersonFacts(store, ALONE, USER).read()) == 1


async def test_an_app_without_a_home_tab_goes_on(here: SlackPipeline, fake: SlackFake) -> None:
    """Slack refuses, or is down: only the log says so."""
    fake.has_home = False
    with capture_logs() as logged:
        await here.send(home_opened())
        fake.break_down(PUBLISH)
        await here.send(home_opened())
        fake.has_home = True
        await here.send(home_opened())
        view = fake.homes[USER]
        fake.break_down(PUBLISH)
        await here.send(view_press(view, FORGET))
        fake.fail(PUBLISH, "internal_error")
        await here.send(view_press(view, FORGET))
    causes = [line["cause"] for line in logged if line["event"] == "slack.home_not_published"]
    assert causes == ["not_enabled", *["views.publish: status 503"] * 2, "internal_error"]


async def test_a_press_without_a_store_is_refused(fake: SlackFake) -> None:
    """A channel in a process that only checks has no tab."""
    async with open_rig(fake, slack_app_token=APP_TOKEN) as rig:
        await rig.send(home_opened())
        view = {
            "id": "V1",
            "type": "home",
            "private_metadata": ALONE,
            "blocks": [{"elements": [{"action_id": DELETE}]}],
        }
        await rig.send(view_press(view, DELETE))
        await rig.slack.tasks.join()
        assert fake.homes == {}


async def test_nothing_is_said_to_be_deleted_that_is_not(
    here: SlackPipeline, fake: SlackFake
) -> None:
    """A press that is not stored is no success, and the tab stays as it is."""
    await here.send(home_opened())
    before = tab(fake)
    async with open_rig(fake, overviews=here.runner.services.features) as rig:
        rig.inbox.away = True
        assert await rig.send(view_press(fake.homes[USER], FORGET)) == 503
        await rig.slack.tasks.join()
    assert tab(fake) == before
