"""A model that obeys every word of tools: nothing that acts is done, nothing secret leaves,
everybody is answered."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from bot.agent.tool_runner import MAX_REJECTED
from bot.safe_text.glyphs import HIDDEN, LEFT_TO_RIGHT
from bot.store import Store
from tests.fakes.wttr import WttrFake
from tests.injections.corpus import Injection, corpus
from tests.injections.injected_group import (
    CANARIES,
    CARRIERS,
    OTHERS,
    InjectedGroup,
    injected_group,
)

INJECTIONS = corpus()
# Every injection comes in one way, every way brings many.
CASES = [(one, list(CARRIERS)[place % len(CARRIERS)]) for place, one in enumerate(INJECTIONS)]


def test_the_corpus_is_large_enough() -> None:
    """In both languages, and each one once."""
    assert len({one.text for one in INJECTIONS}) == len(INJECTIONS) >= 40
    japanese = [
        one
        for one in INJECTIONS
        if any("HIRAGANA" in unicodedata.name(letter, "") for letter in one.text)
    ]
    assert len(japanese) >= 20


@pytest.mark.parametrize(
    ("injection", "carrier"), CASES, ids=[f"{one.name} in {way}" for one, way in CASES]
)
async def test_nothing_is_done_and_nothing_leaves(
    injection: Injection,
    carrier: str,
    store: Store,
    wttr: WttrFake,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever the model does: others press yes in vain, the asker says no, the turn ends in an
    answer."""
    caplog.set_level("DEBUG")
    async with injected_group(store, wttr, tmp_path, injection, carrier) as place:
        await place.say("How is the weather?")
        while question := await place.question():
            await place.press(question, True, "u2")
            assert (await place.question(), place.launch.contexts) == (question, [])
            await place.press(question, False, "u1")
        assert place.model.has_read
        assert place.launch.contexts == []
        assert_shown(place)
        assert_nothing_leaves(place, "".join([*capfd.readouterr(), caplog.text]))
        assert await store.leases.due(10) == []
        assert not place.harness.box.delivered[-1].reply.awaited


def assert_shown(place: InjectedGroup) -> None:
    """Few questions, and each shows exactly what it is about, with nothing that hides or turns
    round."""
    assert len(place.asked) <= MAX_REJECTED
    for asked in place.asked:
        card = asked.reply.card
        assert card is not None
        assert "\n".join(value for _, value in card.rows[1:]) in asked.reply.text
        assert {
            unicodedata.category(letter)
            for letter in asked.reply.text
            if letter not in f" \n{LEFT_TO_RIGHT}"
        }.isdisjoint(HIDDEN)


def assert_nothing_leaves(place: InjectedGroup, logged: str) -> None:
    """No secret in anything that has left, nor in anything that the model could have told."""
    for where in (place.model_input, place.gone_out, logged):
        assert [secret for secret in (*CANARIES, OTHERS) if secret in where] == []
    assert all(
        "/../" not in request.target and "@" not in request.target
        for request in place.wttr.requests
    )
