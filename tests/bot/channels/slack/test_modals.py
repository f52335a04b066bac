"""A call with more than three arguments is shown whole in a modal, and approved only by who could
read it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, JSON, USER, mention, message, press, view_press
from tests.fakes.slack_views import TRIGGER_S, read_view
from tests.fakes.tools import Launch, tool_map

REVIEW, APPROVE, REJECT = "card.open", "approval.approve", "approval.reject"
ARGUMENTS = {"what": "rocket", "where": "<!channel> `moon`", "when": "now\nor later", "crew": 3}
BOSS, OTHER = "U0000BOSS", "U00000002"
OPEN, UPDATE = "views.open", "views.update"


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
async def here(fake: SlackFake, store: Store) -> AsyncIterator[Launches]:
    fake.add_user(USER, "Ann", locale="en-US")
    fake.add_user(OTHER, "Taro")
    fake.add_user(BOSS, "Boss")
    async with Launches(store, fake) as here:
        await here.send(mention("Launch the rocket, please", TS))
        yield here


async def test_the_question_is_short_and_the_modal_shows_everything(
    here: Launches, fake: SlackFake
) -> None:
    """Exactly as the tool will get it; nothing in it can become a mention or end the block."""
    short, buttons = read_view(here.asked())
    assert short.startswith(
        "May I run launch?\nlaunch\n4 arguments. Press the button to see them all"
    )
    assert "rocket" not in str(here.asked())
    assert buttons == "[See everything] [No]"
    modal = await here.review()
    assert modal
    whole, decide = read_view(modal)
    assert (
        '▸ what: rocket\n▸ where: "<!channel> `moon`"\n▸ when: "now\\nor later"\n▸ crew: 3' in whole
    )
    assert decide == "[Yes] [No]"
    assert fake.called(OPEN)[0]["view"]["title"]["text"] == "May I do this?"


@pytest.mark.parametrize(("action", "runs"), [(APPROVE, 1), (REJECT, 0)])
async def test_a_button_of_the_modal_decides(
    here: Launches, fake: SlackFake, action: str, runs: int
) -> None:
    """As the buttons of a short question do; the modal then says so."""
    modal = await here.review()
    assert modal
    decision = view_press(modal, action)
    await here.send(decision)
    await here.send(decision)
    assert len(here.launch.contexts) == runs
    [spoken] = read_view(fake.modals[modal["id"]])
    assert spoken == "Thank you, I have your decision. The conversation shows what came of it."
    assert read_view(here.asked())[1] == (
        "Allowed: launch. (hanako)" if runs else "Not allowed: launch. (hanako)"
    )
    assert fake.shown[-1] == "Done."


async def test_an_approver_may_look_and_decide(here: Launches) -> None:
    """Whom APPROVERS names; what others press is refused in a sentence for them alone."""
    assert await here.review(user=OTHER) is None
    assert here.reported == ["Only the person who asked can decide this."]
    modal = await here.review(user=BOSS)
    assert modal
    await here.send(view_press(modal, APPROVE, user=OTHER))  # Slack sends no such press
    assert here.launch.contexts == []
    assert here.reported[-1] == "Only the person who asked can decide this."
    await here.send(view_press(modal, APPROVE, user=BOSS))
    assert len(here.launch.contexts) == 1


async def test_a_written_yes_does_not_approve_what_was_not_shown(
    here: Launches, fake: SlackFake
) -> None:
    """A sentence says what to do instead; a no counts."""
    newest = max(float(one["ts"]) for one in fake.messages[CHANNEL])
    await here.send(message("yes", f"{newest + 5:.6f}", thread_ts=TS))
    assert here.launch.contexts == []
    assert here.reported[-1].startswith("My question does not show everything")
    await here.send(message("no", f"{newest + 6:.6f}", thread_ts=TS))
    assert read_view(here.asked())[1].startswith("Not allowed: launch.")


async def test_a_trigger_lives_three_seconds(here: Launches, fake: SlackFake) -> None:
    """After that, and where Slack does not answer, the person is asked to press again."""
    with capture_logs() as logged:
        assert await here.review(TRIGGER_S + 1) is None
        fake.break_down(OPEN)
        assert await here.review() is None
        fake.break_down(OPEN)
        fake.break_down("/actions/1")
        assert await here.review() is None
    assert here.reported == ["This could not be opened in time. Please press the button again."] * 2
    causes = [line["cause"] for line in logged if line["event"] == "slack.modal_not_opened"]
    assert causes == ["expired_trigger_id", "views.open: status 503", "views.open: status 503"]
    assert await here.review()


async def test_an_old_question_opens_nothing(here: Launches) -> None:
    """It has been decided meanwhile; a press that carries no response URL gets no sentence."""
    question = here.asked()
    again = {**question, "blocks": list(question["blocks"])}
    await here.send(press(question, REJECT))
    here.fake.messages[CHANNEL].append(again)
    url, late = f"{here.fake.origin}/actions/2", here.fake.trigger()
    await here.send(press(again, REVIEW, response_url=url, trigger=late))
    await here.send(press(again, REVIEW, trigger=here.fake.trigger()))
    assert here.reported == ["This has been decided already, or it has expired."]
    assert here.fake.modals == {}


async def test_a_modal_that_cannot_be_changed_has_decided_all_the_same(
    here: Launches, fake: SlackFake
) -> None:
    """Its person may have closed it."""
    modal = await here.review()
    assert modal
    fake.modals.clear()
    with capture_logs() as logged:
        await here.send(view_press(modal, APPROVE))
        fake.break_down(UPDATE)
        await here.send(view_press(modal, REJECT))
    assert len(here.launch.contexts) == 1
    causes = [line["cause"] for line in logged if line["event"] == "slack.modal_not_closed"]
    assert causes == ["not_found", "views.update: status 503"]


@pytest.mark.parametrize("change", [{"private_metadata": "no JSON"}, {"blocks": []}])
async def test_a_view_that_is_not_ours_decides_nothing(here: Launches, change: JSON) -> None:
    """Of another app's making, or an older version's."""
    modal = await here.review()
    assert modal
    pressed = view_press(modal, APPROVE)
    pressed["view"] |= change
    pressed["actions"][0] |= {} if "private_metadata" in change else {"block_id": "b1"}
    await here.send(pressed)
    assert here.launch.contexts == []
