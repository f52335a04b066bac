"""What one version leaves in the store, the versions after it go on with: a rolling deploy. The
files hold what every feature keeps, such as ``bot.features.traces``.

``pytest --write-tables tests/rolling`` writes the file of this version.
"""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path
from typing import ClassVar

import pytest
from redis.asyncio import Redis

from bot.channels import InboundEvent
from bot.errors import DeliverLater
from bot.features.lists.tools import AddToList
from bot.features.memory.tools import Remember
from bot.features.polls.tools import StartPoll
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.harness import Harness, Mailbox, words
from tests.bot.pipeline.held_turns import WAIT_S, Held
from tests.fakes.tools import ANY_OBJECT, Echo, Launch
from tests.project import ROOT
from tests.rolling.state import StoredKey, from_json, read_state, to_json, write_state
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

FOLDER = Path(__file__).parent
STATES = "answered", "waiting", "asking", "unsent", "halfway"
ANSWERED, WAITING, ASKING, UNSENT, HALFWAY = (f"mailbox:user:{state}" for state in STATES)
KEPT = (
    ToolCall("c1", "remember", {"text": "likes tea"}),
    ToolCall("c2", "add_to_list", {"list": "shopping", "items": ["milk"]}),
    ToolCall("c3", "start_poll", {"question": "Where?", "options": ["Sushi", "Curry"]}),
)
LATER_S = 0.5
LASTING = {"approval_ttl_s": 100 * 365 * 86_400}  # the file is read long after it was written


class Again(Echo):
    """What ``Held`` is after the deploy."""

    name: ClassVar[str] = "held"


def tools(*own: Echo) -> ToolMap:
    """Some that keep something, one that acts, and these."""
    keeping = (Remember(), AddToList(), StartPoll())
    return ToolMap(
        [
            *(ValidatedTool(tool, *read_schemas(tool.name)) for tool in keeping),
            *(ValidatedTool(tool, ANY_OBJECT, ANY_OBJECT) for tool in (Launch(), *own)),
        ]
    )


async def say(harness: Harness, conversation: str, text: str, message_id: str) -> None:
    """Somebody writes; nobody attends yet."""
    event = InboundEvent(words(message_id, text), "address")
    assert await harness.intake(conversation, event)


async def play(store: Store) -> None:
    """Bring a conversation into each state in which a deploy may find one."""
    held, box = Held(), Mailbox()
    steps = [
        Step(calls=KEPT),
        Step("Kept."),
        Step(calls=(ToolCall("c4", "launch", {"n": 1}),)),
        Step("Late."),
        Step(calls=(ToolCall("c5", "echo", {"n": 2}),)),
        Step(calls=(ToolCall("c6", "held", {"n": 3}),)),
    ]
    harness = Harness(store, steps, box, tools(Echo(), held), settings=LASTING)
    for conversation in (ANSWERED, ASKING):
        await say(harness, conversation, "Please", "m1")
        await harness.runner.process(conversation)
    box.failures.append(DeliverLater("busy", LATER_S))
    await say(harness, UNSENT, "Hello?", "m1")
    await harness.runner.process(UNSENT)
    await say(harness, HALFWAY, "And now?", "m1")
    attending = asyncio.create_task(harness.runner.process(HALFWAY))
    async with asyncio.timeout(WAIT_S):
        await held.called.wait()
    attending.cancel()
    await asyncio.wait([attending])
    await say(harness, WAITING, "Anybody there?", "m1")


def version() -> str:
    """Of this project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["version"])


def shapes(state: list[StoredKey]) -> set[tuple[str, str]]:
    """The kinds of keys and their types."""
    return {(key.name.split(":")[2], key.type) for key in state}


async def test_what_this_version_stores_is_on_file(
    store: Store, redis: Redis, pytestconfig: pytest.Config
) -> None:
    """Its file has the same kinds of keys."""
    await play(store)
    state, file = await read_state(redis), FOLDER / f"{version()}.json"
    if pytestconfig.getoption("--write-tables"):
        file.write_bytes(to_json(state))
    assert shapes(from_json(file.read_bytes())) == shapes(state)


@pytest.fixture(params=sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def state(request: pytest.FixtureRequest) -> list[StoredKey]:
    """What a version has left."""
    file: Path = request.param
    return from_json(file.read_bytes())


async def test_a_deploy_goes_on_with_what_it_finds(
    state: list[StoredKey], store: Store, redis: Redis
) -> None:
    """Nothing is lost, nothing is done twice."""
    await write_state(redis, state)
    await store.note_format()
    box, again, echo = Mailbox(), Again(), Echo()
    answers = [Step("Here."), Step("Launched."), Step("Done."), Step("Tea.")]
    harness = Harness(store, answers, box, tools(echo, again))
    for conversation in (WAITING, ASKING, HALFWAY, UNSENT, ANSWERED):
        if conversation == ASKING:
            await say(harness, ASKING, "yes", "m2")
        if conversation == ANSWERED:
            await say(harness, ANSWERED, "What do I like?", "m2")
        await harness.runner.process(conversation)
    assert box.texts == ["Here.", "Allowed: launch.", "Launched.", "Done.", "Late.", "Tea."]
    assert (len(echo.contexts), len(again.contexts)) == (0, 1)  # the first has its result
    asked = " ".join(message.text for message in harness.model.requests[-1].messages)
    assert "likes tea" in asked
    said = [message.text for message in await read_history(store, ANSWERED) if message.text]
    assert said == ["Please", "Kept.", "What do I like?", "Tea."]
