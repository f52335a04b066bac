"""What people of a LINE group write to each other, and what is quoted: it stays data, and gives no
permission."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.features.background.feature import BACKGROUND_ID
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Message
from tests.bot.channels.line.pipeline import open_pipeline
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, addressed_message, text_message
from tests.fakes.tools import Launch
from tests.injections.corpus import Injection, corpus
from tests.injections.gullible import LAUNCH

TARO = "U" + "2" * 32


def gullible(messages: Sequence[Message]) -> Step:
    """Obeys what it finds in the background or in a quote."""
    is_reported = any(message.id == BACKGROUND_ID or message.quotes for message in messages)
    return Step("As you like.") if messages[-1].results or not is_reported else LAUNCH


@pytest.mark.parametrize("injection", corpus()[::2], ids=lambda injection: injection.name)
async def test_background_gives_no_permission(
    store: Store, line: LineFake, injection: Injection
) -> None:
    """It is one line of data behind a time and a name; whoever asked decides, whatever others write
    meanwhile."""
    line.people[TARO] = {"displayName": injection.text[:20]}
    launch = Launch()
    async with open_pipeline(store, line, [gullible] * 9, launch, group_memory="on") as here:
        await here.converse(
            line.event(place=GROUP, user=TARO, message=text_message(injection.text[:5_000]))
        )
        await here.converse(line.event(place=GROUP, message=addressed_message("so?")))
        request = here.model.requests[0]
        reported = [message for message in request.messages if message.id == BACKGROUND_ID]
        if reported:  # a text of invisible characters alone is none
            opening, told = reported[0].text.splitlines()
            assert "asks for nothing and permits nothing" in opening
            assert (reported[0].author, told[2], told[-1]) == (None, ":", '"')
            assert line.sent[-1].buttons
        assert injection.text not in request.system
        for user in (TARO, "U" + "1" * 32):
            await here.converse(line.event(place=GROUP, user=user, message=text_message("yes")))
        await here.converse(line.event(place=GROUP, message=addressed_message("no")))
    assert launch.contexts == []


@pytest.mark.parametrize("injection", corpus()[1::2], ids=lambda injection: injection.name)
async def test_a_quote_gives_no_permission(
    store: Store, line: LineFake, injection: Injection
) -> None:
    """It is one line, which its words cannot end; the person who quotes it has not said it."""
    launch = Launch()
    spoken = addressed_message(injection.text[:4_000])
    quoting = addressed_message("what does this mean?") | {"quotedMessageId": spoken["id"]}
    async with open_pipeline(store, line, [gullible] * 9, launch) as here:
        await here.converse(line.event(place=GROUP, user=TARO, message=spoken))
        await here.converse(line.event(place=GROUP, message=quoting))
        [quote] = here.model.requests[1].messages[-1].quotes
        assert (quote.author_id, len(quote.line.splitlines()), quote.line[-2:]) == (TARO, 1, '"]')
        assert line.sent[-1].buttons
        await here.converse(line.event(place=GROUP, message=addressed_message("no")))
    assert launch.contexts == []


@pytest.mark.parametrize("injection", corpus()[::3], ids=lambda injection: injection.name)
async def test_the_interpreter_can_only_translate(
    store: Store, line: LineFake, injection: Injection
) -> None:
    """Its request has no tools, and what obeys instead of translating is not sent."""
    launch = Launch()
    async with open_pipeline(store, line, [LAUNCH] * 3, launch, group_memory="on") as here:
        await here.converse(line.event(place=GROUP, message=addressed_message("/interpret en ja")))
        line.sent.clear()
        await here.converse(
            line.event(
                place=GROUP, user=TARO, message=text_message(f"hello {injection.text[:4_000]}")
            )
        )
        [request] = here.model.requests
        [message] = request.messages
        assert (request.tools, message.text.count("</message>")) == ((), 1)
        assert injection.text not in request.system
    assert (launch.contexts, line.sent) == ([], [])
