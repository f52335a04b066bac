"""The home tab shows what is kept of a person, and its buttons delete it; a form shows a long card:
the whole path, on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.channels import InboundEvent, PlaceSettings
from bot.channels.slack.types import Address, write_address
from bot.channels.slack.views import MOST_ROWS
from bot.clock import now_ms
from bot.features.memory.store import PersonFacts
from bot.features.reminders.personal import PersonalReminders
from bot.features.reminders.reminder import Reminder
from bot.features.reminders.store import StoredReminders
from bot.pipeline.feature import Feature
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, ToolCall
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS, open_rig
from tests.fakes.slack import APP_TOKEN, SlackFake
from tests.fakes.slack_events import (
    CHANNEL,
    DIRECT,
    JSON,
    TEAM,
    USER,
    home_opened,
    mention,
    message,
    press,
    view_press,
)
from tests.fakes.slack_views import TRIGGER_S, read_view
from tests.fakes.tools import Launch, tool_map

PUBLISH = "views.publish"
ALONE, CHANNEL_PLACE = f"slack:{TEAM}:{DIRECT}", f"slack:{TEAM}:{CHANNEL}"
CANCEL, DELETE, FORGET = "kaiwa_home_cancel", "kaiwa_home_delete", "kaiwa_home_forget"
OTHER = "U00000002"
REVIEW, APPROVE, REJECT = "card.open", "approval.approve", "approval.reject"
ARGUMENTS = {"what": "rocket", "where": "<!channel> `moon`", "when": "now\nor later", "crew": 3}
BOSS = "U0000BOSS"
OPEN, UPDATE = "views.open", "views.update"


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


class Launches(SlackPipeline):
    """A process with a tool that acts."""

    def __init__(
        self, store: Store, fake: SlackFake, arguments: dict[str, Any] = ARGUMENTS, **settings: Any
    ) -> None:
        self.launch = Launch()
        steps = [Step(calls=(ToolCall("c1", "launch", arguments),)), Step("Done.")]
        super().__init__(store, fake, steps, tool_map(self.launch), approvers=(BOSS,), **settings)

    def asked(self) -> JSON:
        """The message of the question."""
        return next(one for one in self.fake.messages[CHANNEL] if len(one.get("blocks", ())) == 2)

    async def review(self, age_s: float = 0.0, **fields: Any) -> JSON | None:
        """Somebody presses the button of the question; the modal that opens."""
        url, known = f"{self.fake.origin}/actions/1", len(self.fake.modals)
        trigger = self.fake.trigger(age_s)
        await self.send(press(self.asked(), REVIEW, response_url=url, trigger=trigger, **fields))
        return list(self.fake.modals.values())[-1] if len(self.fake.modals) > known else None

    @property
    def reported(self) -> list[str]:
        """What was said to one person alone."""
        private = [one["text"] for sent in self.fake.responses.values() for one in sent]
        return private + [one["markdown_text"] for one in self.fake.whispered]


@pytest.fixture
async def launches(fake: SlackFake, store: Store) -> AsyncIterator[Launches]:
    fake.add_user(USER, "Ann", locale="en-US")
    fake.add_user(OTHER, "Taro")
    fake.add_user(BOSS, "Boss")
    async with Launches(store, fake) as launches:
        await launches.send(mention("Launch the rocket, please", TS))
        yield launches


async def test_the_question_is_short_and_the_modal_shows_everything(
    launches: Launches, fake: SlackFake
) -> None:
    """Exactly as the tool will get it; nothing in it can become a mention or end the block."""
    short, buttons = read_view(launches.asked())
    assert short.startswith(
        "May I run launch?\nlaunch\n4 arguments. Press the button to see them all"
    )
    assert "rocket" not in str(launches.asked())
    assert buttons == "[See everything] [No]"
    modal = await launches.review()
    assert modal
    whole, decide = read_view(modal)
    assert (
        '▸ what: rocket\n▸ where: "<!channel> `moon`"\n▸ when: "now\\nor later"\n▸ crew: 3' in whole
    )
    assert decide == "[Yes] [No]"
    assert fake.called(OPEN)[0]["view"]["title"]["text"] == "May I do this?"


@pytest.mark.parametrize(("action", "runs"), [(APPROVE, 1), (REJECT, 0)])
async def test_a_button_of_the_modal_decides(
    launches: Launches, fake: SlackFake, action: str, runs: int
) -> None:
    """As the buttons of a short question do; the modal then says so."""
    modal = await launches.review()
    assert modal
    decision = view_press(modal, action)
    await launches.send(decision)
    await launches.send(decision)
    assert len(launches.launch.contexts) == runs
    [spoken] = read_view(fake.modals[modal["id"]])
    assert spoken == "Thank you, I have your decision. The conversation shows what came of it."
    assert read_view(launches.asked())[1] == (
        "Allowed: launch. (hanako)" if runs else "Not allowed: launch. (hanako)"
    )
    assert fake.shown[-1] == "Done."


async def test_an_approver_may_look_and_decide(launches: Launches) -> None:
    """Whom APPROVERS names; what others press is refused in a sentence for them alone."""
    assert await launches.review(user=OTHER) is None
    assert launches.reported == ["Only the person who asked can decide this."]
    modal = await launches.review(user=BOSS)
    assert modal
    await launches.send(view_press(modal, APPROVE, user=OTHER))  # Slack sends no such press
    assert launches.launch.contexts == []
    assert launches.reported[-1] == "Only the person who asked can decide this."


class OthersDecide(Feature):
    """Who decides about what a person asks for, as a file of places may say."""

    def settings_of(self, conversation: str, person: str) -> PlaceSettings:
        return PlaceSettings(approvers=(OTHER,) if person == USER else ())


async def test_an_approver_of_the_asker_may_look_and_decide(launches: Launches) -> None:
    """Whoever decides about what the presser asks for themselves."""
    launches.runner.services.features.install([OthersDecide()])
    assert await launches.review(user=BOSS) is None
    modal = await launches.review(user=OTHER)
    assert modal
    await launches.send(view_press(modal, APPROVE, user=OTHER))
    assert len(launches.launch.contexts) == 1
    await launches.send(view_press(modal, APPROVE, user=BOSS))
    assert len(launches.launch.contexts) == 1


async def test_a_written_yes_does_not_approve_what_was_not_shown(
    launches: Launches, fake: SlackFake
) -> None:
    """A sentence says what to do instead; a no counts."""
    newest = max(float(one["ts"]) for one in fake.messages[CHANNEL])
    await launches.send(message("yes", f"{newest + 5:.6f}", thread_ts=TS))
    assert launches.launch.contexts == []
    assert launches.reported[-1].startswith("My question does not show everything")
    await launches.send(message("no", f"{newest + 6:.6f}", thread_ts=TS))
    assert read_view(launches.asked())[1].startswith("Not allowed: launch.")


async def test_a_trigger_lives_three_seconds(launches: Launches, fake: SlackFake) -> None:
    """After that, and where Slack does not answer, the person is asked to press again."""
    with capture_logs() as logged:
        assert await launches.review(TRIGGER_S + 1) is None
        fake.break_down(OPEN)
        assert await launches.review() is None
        fake.break_down(OPEN)
        fake.break_down("/actions/1")
        assert await launches.review() is None
    assert (
        launches.reported
        == ["This could not be opened in time. Please press the button again."] * 2
    )
    causes = [line["cause"] for line in logged if line["event"] == "slack.modal_not_opened"]
    assert causes == ["expired_trigger_id", "views.open: status 503", "views.open: status 503"]
    assert await launches.review()


async def test_an_old_question_opens_nothing(launches: Launches) -> None:
    """It has been decided meanwhile; a press that carries no response URL gets no sentence."""
    question = launches.asked()
    again = {**question, "blocks": list(question["blocks"])}
    await launches.send(press(question, REJECT))
    launches.fake.messages[CHANNEL].append(again)
    url, late = f"{launches.fake.origin}/actions/2", launches.fake.trigger()
    await launches.send(press(again, REVIEW, response_url=url, trigger=late))
    await launches.send(press(again, REVIEW, trigger=launches.fake.trigger()))
    assert launches.reported == ["This has been decided already, or it has expired."]
    assert launches.fake.modals == {}


async def test_a_modal_that_cannot_be_changed_has_decided_all_the_same(
    launches: Launches, fake: SlackFake
) -> None:
    """Its person may have closed it."""
    modal = await launches.review()
    assert modal
    fake.modals.clear()
    with capture_logs() as logged:
        await launches.send(view_press(modal, APPROVE))
        fake.break_down(UPDATE)
        await launches.send(view_press(modal, REJECT))
    assert len(launches.launch.contexts) == 1
    causes = [line["cause"] for line in logged if line["event"] == "slack.modal_not_closed"]
    assert causes == ["not_found", "views.update: status 503"]


@pytest.mark.parametrize("change", [{"private_metadata": "no JSON"}, {"blocks": []}])
async def test_a_view_that_is_not_ours_decides_nothing(launches: Launches, change: JSON) -> None:
    """Of another app's making, or an older version's."""
    modal = await launches.review()
    assert modal
    pressed = view_press(modal, APPROVE)
    pressed["view"] |= change
    pressed["actions"][0] |= {} if "private_metadata" in change else {"block_id": "b1"}
    await launches.send(pressed)
    assert launches.launch.contexts == []
