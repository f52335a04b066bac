"""Files that tool calls return: stored before their result, shown with the answer, deleted with the
person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import httpx
import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from bot.channels import MOST_FILES, Reply
from bot.errors import StoreUnavailable
from bot.features.attachments.tool_files import MOST_BYTES, ToolFiles
from bot.providers.scripted import Step
from bot.store import Store, open_store
from bot.transcript import FileRef, ToolCall
from tests.bot.harness import HERE, Harness
from tests.fakes.tools import ANY_OBJECT
from toolset.shown import Shown, ToolFile
from toolset.tool import Risk, ToolContext, ValidatedTool
from toolset.tool_map import ToolMap

PNG = b"\x89PNG\r\n\x1a\npicture"
SCRIPT = (Step(calls=(ToolCall("c1", "draw", {}),)), Step("Here it is."))
CHART = ToolFile("weather.png", "image/png", PNG, "09:00 · 20 °C")


class Draw:
    """Returns the pictures it is given."""

    name: ClassVar[str] = "draw"
    description: ClassVar[str] = "Draws."
    risk: ClassVar[Risk] = "low"
    Config: ClassVar[type[BaseModel]] = BaseModel

    def __init__(self, files: Sequence[ToolFile]) -> None:
        self._files = files

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: Any) -> Draw:
        return cls(())

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Shown:
        return Shown({"output": "drawn"}, self._files)


def tools(draw: Draw) -> ToolMap:
    return ToolMap([ValidatedTool(draw, ANY_OBJECT, ANY_OBJECT)])


def keeper(store: Store) -> ToolFiles:
    return ToolFiles(store.files, HERE, "u1")


async def test_the_answer_carries_the_files_of_its_calls(store: Store) -> None:
    """The model gets the object alone; the delivery and the history get the references."""
    tool = Draw([CHART])
    harness = Harness(store, SCRIPT, tools=tools(tool))
    await harness.receive("Draw!", "m1")
    await harness.runner.process(HERE)
    (delivery,) = harness.box.delivered
    (file,) = delivery.reply.files
    assert delivery.reply == Reply("Here it is.", files=(file,))
    assert file == FileRef(file.id, "weather.png", "image/png", "09:00 · 20 °C", len(PNG))
    stored = await store.files.read(file.id)
    assert stored is not None
    assert stored.data == PNG


async def test_a_repeated_call_makes_no_second_copy(store: Store) -> None:
    """The id comes from conversation and call; other calls have ids of their own."""
    (first,) = await keeper(store).keep("turn:c1", [CHART])
    (again,) = await keeper(store).keep("turn:c1", [CHART])
    two = await keeper(store).keep("turn:c2", [CHART, CHART])
    elsewhere = await ToolFiles(store.files, "mailbox:room-0002", "u1").keep("turn:c1", [CHART])
    assert first == again
    assert len({first.id, *(file.id for file in two), *(file.id for file in elsewhere)}) == 4


@pytest.mark.parametrize(
    "file",
    [
        replace(CHART, mime="text/html"),
        replace(CHART, data=b"<html>"),
        replace(CHART, data=PNG + b"x" * MOST_BYTES),
        replace(CHART, mime="image/jpeg"),
    ],
)
async def test_what_is_no_small_picture_is_told_in_words(store: Store, file: ToolFile) -> None:
    """Nothing of it is stored."""
    with capture_logs() as logged:
        (ref,) = await keeper(store).keep("turn:c1", [file])
    assert ref == FileRef("", "weather.png", file.mime, "09:00 · 20 °C")
    assert [line["event"] for line in logged] == ["file.refused"]


async def test_a_call_has_a_few_files_and_an_answer_too(store: Store) -> None:
    """The others are left out; of several calls the newest are shown."""
    assert len(await keeper(store).keep("turn:c1", [CHART] * 9)) == MOST_FILES
    calls = tuple(ToolCall(f"c{number}", "draw", {"n": number}) for number in range(3))
    tool = Draw([CHART, replace(CHART, name="second.png")])
    harness = Harness(store, [Step(calls=calls), Step("Here they are.")], tools=tools(tool))
    await harness.receive("Draw!", "m1")
    await harness.runner.process(HERE)
    shown = harness.box.delivered[0].reply.files
    assert [file.name for file in shown] == ["weather.png", "second.png"] * 2


async def test_a_file_without_words_has_its_name(store: Store) -> None:
    """Where it cannot be shown something must stand."""
    (ref,) = await keeper(store).keep("turn:c1", [replace(CHART, text=" ")])
    assert ref.text == "weather.png"


async def test_a_store_that_takes_no_file_costs_only_the_picture() -> None:
    """As a full one: the turn goes on with the words."""
    async with open_store("redis://127.0.0.1:1", history_days=30) as away:
        with pytest.raises(StoreUnavailable):
            await away.files.read("x")
        (ref,) = await keeper(away).keep("turn:c1", [CHART])
    assert (ref.id, ref.text) == ("", "09:00 · 20 °C")
