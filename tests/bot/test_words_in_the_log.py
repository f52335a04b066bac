"""However something fails, what people wrote does not reach the log: a distinctive word is looked
for there."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from redis.asyncio import Redis

from bot import log
from bot.agent.hooks import Hook, Intervention
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Message, ToolCall
from tests.bot.harness import HERE, Harness
from tests.bot.store.turns import key
from tests.fakes.tools import ANY_OBJECT, Broken, Echo, tool_map
from tests.toolset.contexts import context
from toolset.tool import ToolContext, ValidatedTool
from toolset.tool_map import ToolMap

WORD = "Wolpertinger"
STRICT = {
    "type": "object",
    "properties": {"heard": {"type": "integer"}},
    "additionalProperties": False,
}

pytestmark = pytest.mark.usefixtures("restored_logging")


class Quoting(Echo):
    """Crashes with what it was given, on several levels."""

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        try:
            raise KeyError(arguments["say"])
        except KeyError as error:
            error.add_note(arguments["say"])
            raise ExceptionGroup(
                arguments["say"], [OSError(28, arguments["say"]), error]
            ) from error


class QuotingHook(Hook):
    """Crashes with what it sees."""

    async def before(self, call: ToolCall, context: ToolContext) -> Intervention:
        raise RuntimeError(f"not this: {call.arguments}")


def repeat(messages: Sequence[Message]) -> Step:
    """A model whose client chokes on the question."""
    raise ValueError(f"cannot encode {messages[-1].text!r}")


SAYING = Step(calls=(ToolCall("c1", "echo", {"say": WORD, "heard": WORD}),))
BROKEN = Step(
    calls=(
        ToolCall("c1", "broken", {"say": WORD}),
        ToolCall("c2", WORD, {}),
        ToolCall("c3", "broken", {}),
    )
)


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    ("step", "tools", "hooks", "reported"),
    [
        (repeat, None, (), "ValueError"),
        (SAYING, tool_map(Quoting()), (), "ExceptionGroup"),
        (SAYING, None, (QuotingHook(),), "RuntimeError"),
        (SAYING, ToolMap([ValidatedTool(Echo(), STRICT, ANY_OBJECT)]), (), "tool.called"),
        (SAYING, ToolMap([ValidatedTool(Echo(), ANY_OBJECT, STRICT)]), (), "properties/heard/type"),
        (BROKEN, tool_map(Broken()), (), "RuntimeError"),
    ],
    ids=["model", "tool", "hook", "arguments", "response", "names"],
)
async def test_a_failing_turn_tells_what_happened_and_not_what_was_said(
    store: Store,
    capsys: pytest.CaptureFixture[str],
    step: Any,
    tools: Any,
    hooks: Any,
    reported: str,
    terminal: bool,
) -> None:
    """Type and place of what was raised are there."""
    log.configure("DEBUG", [], terminal=terminal)
    harness = Harness(store, [step, Step("Done.")], tools=tools, hooks=hooks)
    await harness.receive(f"Tell me about {WORD}", "m1")
    await harness.runner.process(HERE)
    printed = capsys.readouterr().err
    assert reported in printed
    assert WORD not in printed


async def test_a_history_that_cannot_be_read_is_not_quoted(
    store: Store, redis: Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is what stands in its place."""
    log.configure("INFO", [])
    await redis.rpush(
        key("history", HERE), f'{{"v":1,"{WORD}":1,"messages":[{{"role":"{WORD}"}}]}}'
    )
    harness = Harness(store, [Step("Done.")])
    await harness.receive("hi", "m1")
    await harness.runner.process(HERE)
    printed = capsys.readouterr().err
    assert "history.turn_unreadable" in printed
    assert WORD not in printed


async def test_what_asyncio_says_about_a_task_quotes_nobody(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It writes the exception into the line."""
    log.configure("INFO", [])

    async def fail() -> None:
        raise RuntimeError(WORD)

    asyncio.get_running_loop().set_exception_handler(None)
    task = asyncio.create_task(fail())
    await asyncio.wait({task})
    del task
    gc.collect()
    printed = capsys.readouterr().err
    assert "never retrieved" in printed
    assert WORD not in printed


async def test_frames_are_named_and_few(capsys: pytest.CaptureFixture[str]) -> None:
    """File, line and function of the innermost; a number in place of a system's sentence."""
    log.configure("INFO", [])

    def deeper(left: int) -> None:
        if not left:
            raise FileNotFoundError(2, WORD, WORD)
        deeper(left - 1)

    try:
        deeper(200)
    except FileNotFoundError:
        logging.getLogger("toolset.x").exception("failed", extra={"call_id": context().call_id})
    (line,) = capsys.readouterr().err.splitlines()
    assert line.count("test_words_in_the_log.py") == 40
    assert "in deeper" in line
    assert "FileNotFoundError (errno 2)" in line
    assert WORD not in line
