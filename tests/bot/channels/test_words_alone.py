"""What features do on a channel without abilities: each says in words what others show."""

from __future__ import annotations

from typing import Any

from bot.features.choices.tools import OfferChoices
from bot.features.lists.tools import AddToList
from bot.features.polls.tools import StartPoll
from bot.features.reminders.clock import ReminderClock
from bot.features.reminders.tools import SetReminder
from bot.file_types import TEXT
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Media, ToolCall
from tests.bot.channels.post_box import BESIDE, ROOM, PostBox
from tests.bot.harness import Harness
from tests.fakes.tools import ANY_OBJECT, Echo, Launch
from tests.toolset.images.pictures import picture
from toolset.shown import Shown, ToolFile
from toolset.tool import Tool, ToolContext, ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

OWN: tuple[type[Tool], ...] = (AddToList, OfferChoices, SetReminder, StartPoll)


class Draw(Echo):
    """Makes a picture."""

    name = "draw"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        picture_of_cat = ToolFile("cat.png", "image/png", picture(8, 8), "A blue cat")
        return Shown({}, [picture_of_cat])


def calling(name: str, **arguments: Any) -> Step:
    """A step that makes one call."""
    return Step(calls=(ToolCall("c1", name, arguments),))


class Letters:
    """A correspondence with the bot."""

    def __init__(self, store: Store, *steps: Step, waits_s: float = 0.0) -> None:
        self.box = PostBox(waits_s=waits_s)
        tools = [ValidatedTool(tool(), *read_schemas(tool.name)) for tool in OWN]
        tools += [ValidatedTool(tool, ANY_OBJECT, ANY_OBJECT) for tool in (Launch(), Draw())]
        self.harness = Harness(store, steps, self.box, ToolMap(tools))
        self._number = 0

    async def say(self, text: str, *files: Media, after_s: float = 0.0) -> str:
        """Write something, which is read after some time; what comes back last."""
        self._number += 1
        event = self.box.event_of(text, f"m{self._number}", *files)
        assert await self.harness.intake(ROOM, event)
        self.box.now_s += after_s
        return await self.work()

    async def work(self) -> str:
        """Do what is due; what comes back last."""
        for conversation in (ROOM, *BESIDE):
            await self.harness.runner.process(conversation)
        return self.box.letters[-1]

    async def ring(self) -> str:
        """Let the time of reminders come; what comes back last."""
        services = self.harness.runner.services
        await ReminderClock(services.store, services.texts, "en", services.start).sweep()
        return await self.work()


async def test_choices_are_lines(store: Store) -> None:
    """A message may say one of them, as a press would."""
    offer = calling("offer_choices", choices=["Sushi", "Curry"])
    letters = Letters(store, offer, Step("Which one?"))
    assert await letters.say("I am hungry") == "Which one?\n・Sushi\n・Curry"


async def test_a_poll_is_read_and_voted_on_by_numbers(store: Store) -> None:
    """Who has no buttons sees how it stands, and closes it by the last number."""
    start = calling("start_poll", question="Where?", options=["Sushi", "Curry"])
    letters = Letters(store, start, Step("Please vote."))
    assert (await letters.say("Let us vote")).split("\n")[:4] == [
        "Please vote.",
        "Where?",
        "Sushi",
        "Curry",
    ]
    assert "Curry: 1" in await letters.say("2")
    assert "[1]" not in await letters.say("3")


async def test_a_list_is_lines(store: Store) -> None:
    """As a card shows it."""
    add = calling("add_to_list", list="Shopping", items=["milk"])
    letters = Letters(store, add, Step("Added."))
    assert await letters.say("We need milk") == "Added.\nShopping\n1: ☐ milk"


async def test_a_call_that_acts_is_decided_by_a_word(store: Store) -> None:
    """The question says all that a card would, and how to answer it."""
    letters = Letters(store, calling("launch", what="rocket"), Step("It flies."))
    asked = await letters.say("Launch it")
    assert "launch" in asked
    assert "what: rocket" in asked
    assert "Answer yes or no." in asked
    assert await letters.say("yes") == "It flies."


async def test_a_command_is_answered(store: Store) -> None:
    """By a sentence, without the model."""
    assert (await Letters(store).say("/help")).startswith("I am Kaiwa.")


async def test_a_reminder_comes_at_its_time(store: Store) -> None:
    """Without a message before it."""
    set_now = calling("set_reminder", text="Drink", **{"in": "PT0S"})
    letters = Letters(store, set_now, Step("Set."))
    assert await letters.say("Remind me to drink") == "Set."
    assert await letters.ring() == "⏰ Drink"


async def test_files_are_read_and_told(store: Store) -> None:
    """A text comes to the model, and what a picture shows comes to the person."""
    letters = Letters(store, calling("draw"), Step("Here it is."))
    letters.box.files["f1"] = b"A poem about a cat"
    assert await letters.say("Draw it", Media("f1", TEXT)) == "Here it is.\nA blue cat"
    assert "A poem about a cat" in str(letters.harness.model.requests[0].messages)
