"""A file of places in turns: persona, model and tools of the place, while the file changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog

from bot.channels import InboundEvent, PlaceSettings
from bot.clock import DAY_S
from bot.errors import SettingsError, TryAgain
from bot.features.courtesy.feature import Courtesy
from bot.features.places import feature
from bot.features.places.feature import Places
from bot.features.places.seen import GOOD, SeenPlaces
from bot.features.summaries.feature import Summaries
from bot.pipeline.services import Services
from bot.place_file import read_sources, unpack
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.harness import HERE, Harness, words
from tests.bot.pipeline.long_talks import LONG
from tests.bot.test_alerts import notices
from tests.fakes.tools import Echo, Slow, tool_map
from tests.waiting import until, until_true

PIRATE = '[[place]]\nplatform = "mailbox"\npersona = "Speak like a pirate."\n'


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature, "LOOK_S", 0.02)


def write(path: Path, text: str | None) -> None:
    """Write a file; None deletes it."""
    if text is None:
        path.unlink()
    else:
        path.write_text(text, "utf-8")


def differs(services: Services, before: PlaceSettings) -> bool:
    """Whether the place has other settings than before."""
    return services.settings_of(HERE) != before


class Edits(dict[str, Scripted]):
    """Models that are looked up while somebody edits the file."""

    def __init__(self, path: Path, *texts: str) -> None:
        super().__init__()
        self._path, self._texts = path, list(texts)

    def get(self, name: str, default: Any = None) -> Any:
        """The model; the file is another one from now on."""
        if self._texts:
            write(self._path, self._texts.pop(0))
        return default


@asynccontextmanager
async def opened(
    store: Store, path: Path, steps: list[Step], **given: object
) -> AsyncIterator[tuple[Harness, Places]]:
    """A conversation whose feature has read a file."""
    made: list[Places] = []

    def make(services: Services) -> Places:
        made.append(Places(services, path))
        return made[-1]

    harness = Harness(store, steps, features=[make], **given)  # type: ignore[arg-type]
    features = harness.runner.services.features
    await features.open()
    try:
        yield harness, made[0]
    finally:
        await features.aclose()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "places.toml"


async def test_a_change_counts_for_the_next_turn(store: Store, path: Path) -> None:
    """The persona of a place, until it is another one, or none."""
    write(path, PIRATE)
    async with opened(store, path, [Step("1"), Step("2"), Step("3")]) as (harness, _):
        services = harness.runner.services
        await harness.say("Hi", "m1")
        for number, text in ((2, PIRATE.replace("pirate", "poet")), (3, "")):
            before = services.settings_of(HERE)
            write(path, text)
            await until(partial(differs, services, before))
            await harness.say("Hi", f"m{number}")
    assert [request.system for request in harness.model.requests] == [
        "SYSTEM\n\nSpeak like a pirate.\n\nSTYLE",
        "SYSTEM\n\nSpeak like a poet.\n\nSTYLE",
        "SYSTEM\n\nSTYLE",
    ]


async def test_an_edit_while_the_file_is_read_is_not_missed(store: Store, path: Path) -> None:
    """Though models are opened meanwhile, which takes its time."""
    write(path, PIRATE + 'model = "openai:own"\n')
    models = Edits(path, PIRATE.replace("pirate", "poet"))
    async with opened(store, path, [], models=models) as (harness, _):
        services = harness.runner.services
        assert services.settings_of(HERE).persona == "Speak like a pirate."
        await until(lambda: services.settings_of(HERE).persona == "Speak like a poet.")


async def test_a_file_that_is_being_written_is_not_read(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first half has no error, and an empty one would give everybody all tools; one that is
    renamed is away for a moment."""
    monkeypatch.setattr(feature, "LOOK_S", 3_600)
    write(path, PIRATE)
    async with opened(store, path, []) as (harness, places):
        services = harness.runner.services
        await places.look()
        for half in ("", None, PIRATE.replace("pirate", "poet")):
            write(path, half)
            await places.look()
            assert services.settings_of(HERE).persona == "Speak like a pirate."
        await places.look()
        assert services.settings_of(HERE).persona == "Speak like a poet."
        assert await notices(store, harness) == []


async def test_a_place_without_a_match_asks_as_without_a_file(store: Store, path: Path) -> None:
    """The same system prompt, tools and model."""
    write(path, PIRATE.replace("mailbox", "slack"))
    async with opened(store, path, [Step("1")]) as (harness, _):
        await harness.say("Hi", "m1")
    bare = Harness(store, [Step("1")], features=[])
    await bare.say("Hi", "m2")
    [one], [other] = harness.model.requests, bare.model.requests
    assert (one.system, one.tools, one.tool_choice) == (
        other.system,
        other.tools,
        other.tool_choice,
    )


async def test_a_place_has_its_own_model(store: Store, path: Path) -> None:
    """With its fallbacks; the usual one is not asked."""
    write(path, '[[place]]\nmodel = "openai:own"\nfallbacks = "openai:other"\n')
    own = Scripted([Step("Mine")])
    async with opened(store, path, [], models={"openai:own": own}) as (harness, _):
        await harness.say("Hi", "m1")
    assert harness.box.texts == ["Mine"]
    assert harness.model.requests == []


async def test_the_model_of_a_person_has_its_window_and_writes_their_summary(
    store: Store, path: Path
) -> None:
    """What is said to it is sent to no other one."""
    write(path, '[[place]]\nperson = "u1"\nmodel = "openai:own"\n')
    own = Scripted([Step("1"), Step("2"), Step("3"), Step("Notes.")])
    own.window = 2_000
    async with opened(store, path, [], models={"openai:own": own}) as (harness, _):
        notes = Summaries(harness.runner.services)
        harness.runner.services.features.install([notes])
        for number in range(3):
            await harness.say(LONG, f"m{number}")
        await asyncio.gather(*notes.writing.values())
    assert harness.model.requests == []
    assert [LONG in request.messages[0].text for request in own.requests] == [True] * 4


async def test_sentences_of_the_catalogue_have_the_language_of_the_place(
    store: Store, path: Path
) -> None:
    """An apology, and the answer to a sticker, where nobody shows another one."""
    write(path, '[[place]]\nlanguage = "ja"\n')
    failing = Step(error=TryAgain("model_down", "away"))
    async with opened(store, path, [failing, failing]) as (harness, _):
        services = harness.runner.services
        services.features.install([Courtesy(services)])
        await harness.say("1 + 1 = ?", "m1")
        await harness.take(InboundEvent(words("m2", ""), action="sticker.hello"))
        await harness.say("Hello there", "m3")
    ja, en = (services.texts.get("apology.model_down", language) for language in ("ja", "en"))
    assert harness.box.texts == [ja, services.texts.get("courtesy.hello", "ja"), en]


async def test_tools_are_looked_up_at_each_request(store: Store, path: Path) -> None:
    """A tool that is taken away during a turn is offered and called no more."""
    write(path, '[[place]]\ntools = ["echo"]\n')
    calls = ToolCall("c1", "echo", {"text": "a"}), ToolCall("c2", "echo", {"text": "b"})
    asked: list[list[str]] = []

    async with opened(store, path, [], tools=tool_map(Echo(), Slow())) as (harness, places):

        class Edits(Scripted):
            """The file is edited while the model answers."""

            def stream(self, request):  # type: ignore[no-untyped-def]
                asked.append([tool.name for tool in request.tools])
                if len(asked) == 2:
                    text = '[[place]]\ntools = ["slow"]\n'
                    write(path, text)
                    places._take(places._make(read_sources(path)))
                return super().stream(request)

        harness.agent.provider = Edits([Step(calls=calls[:1]), Step(calls=calls[1:]), Step("Done")])
        await harness.say("Hi", "m1")
    assert asked == [["echo"], ["echo"], ["slow"]]
    past = [one.name for one in harness.agent.provider.requests[-1].messages[-1].results]
    assert past == ["echo"]
    [result] = harness.agent.provider.requests[-1].messages[-1].results
    assert "unknown tool" in str(result.response)


async def test_a_broken_file_leaves_the_last_good_one(store: Store, path: Path) -> None:
    """In a process that has read it, in one that starts, and once more when it is mended."""
    write(path, PIRATE)
    async with opened(store, path, [Step("1")], alert_to="mailbox:OPS") as (harness, _):
        services = harness.runner.services
        write(path, "[[place]]\npersona = 3\n")
        await until_true(partial(_is_told, store))
        [told] = await notices(store, harness)
        assert "places.toml, line 2, place 1, persona: " in told
        write(path, "[[place]]\n\npersona = 3\n")
        await until_true(partial(_is_told, store))
        [_, told] = await notices(store, harness)
        assert "places.toml, line 3, place 1, persona: " in told
        assert services.settings_of(HERE).persona == "Speak like a pirate."
        async with opened(store, path, [Step("2")]) as (late, _):
            await late.say("Hi", "m2")
            assert "Speak like a pirate." in late.model.requests[0].system
        write(path, PIRATE.replace("pirate", "poet"))
        await until(lambda: services.settings_of(HERE).persona == "Speak like a poet.")


async def test_what_is_wrong_is_said_once(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the file, and of what is kept in its place, however often both are looked at."""
    monkeypatch.setattr(feature, "LOOK_S", 3_600)
    write(path, PIRATE)
    async with opened(store, path, []) as (_, places):
        await store.kv.set(GOOD, b"no file", 60)
        write(path, "[[place]]\npersona = 3\n")
        with structlog.testing.capture_logs() as logs:
            for _ in range(5):
                await places.look()
    events = ["places.broken", "places.none_kept", "alert.raised"]
    assert [entry["event"] for entry in logs] == events


async def test_the_file_that_was_read_last_is_kept(store: Store, path: Path) -> None:
    """Not the one that a process still has which a deploy has left with the files of before."""
    write(path, PIRATE)
    before = path.with_name("before.toml")
    write(before, "")
    async with opened(store, before, []) as (_, old), opened(store, path, []) as (_, new):
        for places in (old, new):
            await places.every[DAY_S]()
        kept = await store.kv.get(GOOD)
        assert unpack(kept or b"").text == PIRATE
        await store.kv.delete(GOOD)
        await new.every[DAY_S]()
        assert await store.kv.get(GOOD) == kept


async def test_without_an_earlier_file_a_broken_one_ends_the_start(
    store: Store, path: Path
) -> None:
    """Also one that is missing."""
    for text in (None, "[[place]]\nx = 1\n"):
        if text:
            write(path, text)
        with pytest.raises(SettingsError, match=r"PLACES: places\.toml"):
            async with opened(store, path, []):
                pass


async def test_a_persona_file_counts_like_the_file(store: Store, path: Path) -> None:
    """It is looked at too; while it is missing, the last good one counts."""
    persona = path.parent / "shop.md"
    write(persona, "You sell tea.")
    write(path, '[[place]]\npersona_file = "shop.md"\n')
    async with opened(store, path, []) as (harness, _):
        services = harness.runner.services
        persona.unlink()
        write(persona, "You sell coffee.")
        await until(lambda: services.settings_of(HERE).persona == "You sell coffee.")


async def test_places_are_known_where_people_write(store: Store, path: Path) -> None:
    """With what they have used; ``/forget me`` forgets them."""
    write(path, PIRATE)
    async with opened(store, path, [Step("1")]) as (harness, places):
        await harness.say("Hi", "m1")
        await until_true(partial(_is_seen, store))
        await places.forget_in(HERE, "u1")
    assert await SeenPlaces(store).read() == []


async def _is_told(store: Store) -> bool:
    return await store.outbox.head("mailbox:notices:OPS") is not None


async def _is_seen(store: Store) -> bool:
    return await SeenPlaces(store).read() == [HERE]


async def test_no_place_is_silent_by_itself(store: Store, path: Path) -> None:
    """``never`` takes no message, but what people take back."""
    write(path, '[[place]]\nspeak = "never"\n')
    async with opened(store, path, []) as (harness, _):
        with pytest.raises(AssertionError):
            await harness.receive("Hi", "m1")
    assert harness.model.requests == []
