"""Somebody alone with a model that does whatever it has been told to remember."""

from __future__ import annotations

from bot.providers.scripted import Step
from bot.transcript import ToolCall
from tests.bot.harness import HERE, Harness
from tests.fakes.tools import Launch

READ = Step(calls=(ToolCall("", "read_page", {"as": "text"}),))
LAUNCH = Step(calls=(ToolCall("", "launch", {"what": "rocket"}),))


class Gullible:
    """The conversation.

    Attributes:
        launch: the tool that acts.
        harness: its model takes the poison for its own notes.
    """

    harness: Harness

    def __init__(self) -> None:
        self.launch = Launch()
        self._sent = 0

    async def say(self, text: str) -> None:
        """Let the user speak."""
        self._sent += 1
        await self.harness.receive(text, f"m{self._sent}")
        await self.harness.runner.process(HERE)

    async def assert_asked(self) -> None:
        """The user is asked before anything is done, and says no."""
        question = await self.harness.question()
        assert question is not None
        assert question.rows == (("", "launch"), ("", "▸ what: rocket"))
        await self.say("no")
        assert self.launch.contexts == []
        assert self.harness.box.texts[-1] == "As you like."
