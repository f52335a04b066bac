"""A text is at most three messages; what can be said next is offered as buttons, where a button's
words would be heard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels import SAY, Button, Reply
from bot.channels.line.formatting import MAX_MESSAGES, split_messages
from bot.channels.replies import split, units
from bot.providers import ToolChoice
from bot.providers.scripted import Step
from bot.store import Store
from bot.texts import LANGUAGES
from tests.bot.channels.line.pipeline import open_pipeline
from tests.bot.channels.line.rig import IN_GROUP, Rig
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, USER
from tests.fakes.tools import Echo

EXAMPLES = {
    "en": {
        "Weather in Tokyo": "/weather Tokyo",
        "Time in New York": "/time New York",
        "18% of 2,450": "What is 18% of 2,450?",
    },
    "ja": {
        "東京の天気": "/天気 東京",
        "ニューヨークの時刻": "/時刻 ニューヨーク",
        "2,450の18%": "2,450の18%はいくつ？",
    },
}
SUGGESTION = Button("Help", SAY, "/help", style="quick")
HELP = {"en": {"Help": "/help"}, "ja": {"使い方": "使い方"}}


class Weather(Echo):
    """Has commands."""

    name = "get_weather"
    commands = ("weather", "天気")


def offered(fake: LineFake) -> dict[str, str]:
    """What the buttons sent last would say."""
    return {label: action["text"] for label, action in fake.sent[-1].buttons.items()}


@given(st.text("a東🍎 \n.。", max_size=300), st.integers(30, 60))
def test_at_most_three_bubbles_go_out(text: str, limit: int) -> None:
    """None empty, each within the limit; the last says that there is more exactly where there
    is."""
    shown = split_messages(text, "More?", limit)
    assert len(shown) <= MAX_MESSAGES
    assert all(bubble.strip() and units(bubble) <= limit for bubble in shown)
    pieces = [piece for piece in split(text, limit) if piece.strip()]
    assert (bool(shown) and shown[-1].endswith("More?")) == (len(pieces) > MAX_MESSAGES)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_greeting_offers_examples_and_the_help(
    store: Store, fake: LineFake, language: str
) -> None:
    """In the language of the person; the help itself offers the examples only."""
    fake.people[USER] = {"displayName": "Hanako", "language": language}
    async with open_pipeline(store, fake, []) as here:
        await here.converse(fake.event("follow"))
        assert offered(fake) == EXAMPLES[language] | HELP[language]
        await here.converse(fake.press(*HELP[language]))
        assert offered(fake) == EXAMPLES[language]


@pytest.mark.parametrize(
    ("words", "label", "says"), [("All work. ", "More", "more?"), ("仕事。", "続き", "続きは？")]
)
async def test_what_was_too_long_is_read_on_by_a_button(
    fake: LineFake, rig: Rig, words: str, label: str, says: str
) -> None:
    """On the last bubble; an answer that is whole has no buttons."""
    await rig.say(Reply(words * 5_000), rig.address(fake.token()))
    assert offered(fake) == {label: says}
    assert ["quickReply" in message for message in fake.sent[0].messages] == [False, False, True]
    await rig.say(Reply(words), rig.address(fake.token()))
    assert offered(fake) == {}


@pytest.mark.parametrize("reply", [Reply("Hello", buttons=(SUGGESTION,)), Reply("word " * 5_000)])
async def test_among_others_no_button_speaks(fake: LineFake, rig: Rig, reply: Reply) -> None:
    """What it says would lack the mention, and not be heard."""
    await rig.say(reply, rig.address(fake.token(GROUP)), conversation=IN_GROUP)
    assert offered(fake) == {}


@pytest.mark.parametrize(
    ("reply", "end"),
    [
        (Reply("word " * 5_000), "There is more: mention me and write “more?” to read on."),
        (
            Reply("言葉。" * 9_000),
            "続きがあります。メンションを付けて「続きは？」と送ってください。",
        ),
        (Reply("word " * 5_000, keep="if_free"), "word\n\n…"),
    ],
)
async def test_among_others_it_says_what_is_heard(
    fake: LineFake, rig: Rig, reply: Reply, end: str
) -> None:
    """Of an answer the rest comes by a mention, of a translation never."""
    await rig.say(reply, rig.address(fake.token(GROUP)), conversation=IN_GROUP)
    assert fake.texts[0][-1].endswith(end)


async def test_a_pressed_example_is_a_message_that_names_its_tool(
    store: Store, fake: LineFake
) -> None:
    """From the greeting in the follower's language to the model's first request, which must use
    that tool."""
    async with open_pipeline(store, fake, [Step("晴れです。")], Weather()) as here:
        await here.converse(fake.event("follow"))
        await here.converse(fake.press("東京の天気"))
        [request] = here.model.requests
    assert (request.messages[-1].text, request.tool_choice) == (
        "/天気 東京",
        ToolChoice("one", "get_weather"),
    )
    assert fake.texts[1:] == [["晴れです。"]]
