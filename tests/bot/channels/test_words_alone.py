"""What features do on a channel without abilities: each says in words what others show."""

from __future__ import annotations

from bot.channels import InboundEvent
from bot.features.choices.tools import OfferChoices
from bot.features.polls.tools import StartPoll
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, Text, ToolCall
from tests.bot.channels.post_box import ROOM, PostBox
from tests.bot.harness import WRITTEN_AT, Harness
from tests.fakes.tools import ANY_OBJECT, Launch
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

LAUNCH = ToolCall("c1", "launch", {"what": "rocket"})
CHOICES = ToolCall("c1", "offer_choices", {"choices": ["Sushi", "Curry"]})
POLL = ToolCall("c1", "start_poll", {"question": "Where?", "options": ["Sushi", "Curry"]})


class Letters:
    """A correspondence with the bot."""

    def __init__(self, store: Store, *steps: Step) -> None:
        self.box = PostBox()
        poll = ValidatedTool(StartPoll(), *read_schemas("start_poll"))
        choices = ValidatedTool(OfferChoices(), *read_schemas("offer_choices"))
        launch = ValidatedTool(Launch(), ANY_OBJECT, ANY_OBJECT)
        self._harness = Harness(store, steps, self.box, ToolMap([poll, choices, launch]))

    async def say(self, text: str, message_id: str) -> str:
        """Write something; what comes back last."""
        message = Message(message_id, "user", (Text(text),), WRITTEN_AT, Author("u1"))
        assert await self._harness.intake(ROOM, InboundEvent(message))
        await self._harness.runner.process(ROOM)
        return self.box.letters[-1]


async def test_choices_are_lines(store: Store) -> None:
    """A message may say one of them, as a press would."""
    letters = Letters(store, Step(calls=(CHOICES,)), Step("Which one?"))
    assert await letters.say("I am hungry", "m1") == "Which one?\n・Sushi\n・Curry"


async def test_a_poll_is_read(store: Store) -> None:
    """Who has no buttons sees how it stands."""
    letters = Letters(store, Step(calls=(POLL,)), Step("Please vote."))
    answer, poll, *rows = (await letters.say("Let us vote", "m1")).split("\n")
    assert (answer, poll) == ("Please vote.", "Where?")
    assert [row.partition(":")[0] for row in rows[:2]] == ["Sushi", "Curry"]


async def test_a_call_that_acts_is_decided_by_a_word(store: Store) -> None:
    """The question says all that a card would, and how to answer it."""
    letters = Letters(store, Step(calls=(LAUNCH,)), Step("It flies."))
    asked = await letters.say("Launch it", "m1")
    assert "launch" in asked
    assert "what: rocket" in asked
    assert "Answer yes or no." in asked
    assert await letters.say("yes", "m2") == "It flies."


async def test_a_command_is_answered(store: Store) -> None:
    """By a sentence, without the model."""
    assert (await Letters(store).say("/help", "m1")).startswith("I am Kaiwa.")
