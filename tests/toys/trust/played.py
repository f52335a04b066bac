"""The feature as people meet it; played where its folder stands among the features."""

from __future__ import annotations

from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.harness import HERE, Harness
from tests.fakes.tools import Launch, tool_map


async def test_a_call_that_acts_is_made(store: Store) -> None:
    """Without a question."""
    launch = Launch()
    steps = [Step(calls=(ToolCall("c1", "launch", {"what": "kite"}),)), Step("It flies.")]
    harness = Harness(store, steps, tools=tool_map(launch))
    await harness.receive("Launch the kite", "m1")
    await harness.runner.process(HERE)
    assert ([one.user for one in launch.contexts], harness.box.texts) == (["u1"], ["It flies."])
