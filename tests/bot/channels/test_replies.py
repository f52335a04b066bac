"""What an answer may consist of, in each channel: delivered, within its limits, nothing lost,
nothing read as markup.

The stand-ins refuse what LINE and Slack refuse: more than five messages, long labels, large
bubbles, empty texts.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count, product
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from bot import texts
from bot.channels import Delivery, Reply, say_buttons
from bot.channels.console.channel import Console, Reads
from bot.channels.line.formatting import NO_WORDS
from bot.features.approvals.questions import Question, card_of
from bot.features.polls.poll import Poll
from bot.live_events import Answered, CardShown, LiveEvent, decode_event
from bot.safe_text.arguments import code_block
from bot.terminal.screen import beside_text, card_text
from bot.transcript import FileRef
from tests.bot.channels.line import rig as line_rig
from tests.bot.channels.slack import rig as slack_rig
from tests.bot.channels.test_contract import nothing, take
from tests.bot.harness import ours
from tests.fakes.line import LineFake, line_fake
from tests.fakes.line_events import GROUP, USER
from tests.fakes.live import LocalLive
from tests.fakes.slack import SlackFake, slack_fake
from tests.fakes.slack_blocks import read
from tests.fakes.slack_events import CHANNEL, DIRECT
from tests.fakes.stored_files import CHART, LocalFiles, LocalUploads
from tests.waiting import until
from toolset.shown import Card, bounded_card, bounded_choices

HOSTILE = "<!channel> <@U0001> &amp; *a* `b` [c](https://d.example) </p><script>\u202e | e"
TABLE = "| City | High |\n|---|---|\n| TABLE-Tokyo | 24 |\n| TABLE-Osaka | 25 |"
LONGEST = "T" * 100
MARK = re.compile(r"[A-Z]+-\w")
MORE = {
    language: tuple(texts.load().get(f"line.{key}", language) for key in ("more", "more_group"))
    for language in texts.LANGUAGES
}


class Words(NamedTuple):
    """What one kind of answer says.

    Attributes:
        fill: stands in every text.
        language: of the texts.
    """

    text: str
    fill: str
    language: str


WORDS = {
    "short": Words("TEXT-1 Here it is.", "word", "en"),
    "in Japanese": Words("TEXT-1 こちらです。", "言葉", "ja"),
    "empty": Words("", "word", "en"),
    "longest": Words("TEXT-1 " + "All work and no play. " * 1_200, LONGEST * 4, "en"),
    "longest in Japanese": Words("TEXT-1 " + "とても長い文です。" * 2_000, "🍣言葉" * 100, "ja"),
    "hostile": Words(f"TEXT-1 {HOSTILE.replace('|', '')}", HOSTILE, "en"),
}


def answers(words: Words) -> Iterator[Reply]:
    """Combinations that one answer may have, every two parts together in some; the last has all."""
    card = bounded_card(
        Card(
            f"CARD-title {words.fill}", ((f"CARD-label {words.fill}", f"CARD-value {words.fill}"),)
        )
    )
    full = bounded_card(
        Card(
            "CARD-full",
            tuple((f"ROW-{number} {words.fill}", words.fill) for number in range(99)),
            words.fill,
        )
    )
    empty = Card("", (("", "CARD-value alone"), ("CARD-label alone", "")), "CARD-note")
    assert card
    assert full
    choices = bounded_choices([f"CHOICE-{number} {words.fill}" for number in range(9)])
    options = (f"OPTION-1 {words.fill}"[:60], "OPTION-2")
    poll = Poll(f"poll_{'0' * 32}", "QUESTION-1", options, (0, 0), language=words.language)
    reported = [
        FileRef("", "a.csv", "text/csv", f"PICTURE-{number} {words.fill[:500]}")
        for number in range(2)
    ]
    every = product(
        ((), (card,), (full, empty, card)),
        ("", TABLE),
        ((), (CHART,), (CHART, *reported, CHART)),
        ((), choices),
        (None, poll.card(texts.load())),
    )
    for cards, table, files, offered, asked in list(every)[1::5]:
        text = "\n\n".join(filter(None, (words.text, table)))
        if text or asked:
            yield Reply(text, files=files, card=asked, cards=cards, buttons=say_buttons(offered))


def tokens(reply: Reply) -> set[str]:
    """What must be there of an answer, apart from its text."""
    spoken = [
        *(card.text for card in reply.cards),
        *(file.text for file in reply.files if not file.id),
        *(one.value for one in reply.buttons),
    ]
    if reply.card:
        spoken += [reply.card.title, *(label for label, _ in reply.card.rows)]
    found = {word for text in spoken for word in text.split() if MARK.match(word)}
    return found | ({CHART.text} if any(file.id for file in reply.files) else set())


Show = Callable[[Reply], Awaitable[str]]


class Place(NamedTuple):
    """Where an answer goes.

    Attributes:
        show: delivers an answer; what people then see.
        cuts: a long text is cut, and offers to go on.
    """

    show: Show
    cuts: bool = False
    shows_cards: bool = True


@asynccontextmanager
async def in_line(*, group: bool) -> AsyncIterator[Place]:
    """In LINE, where pictures have public addresses."""
    with line_fake() as fake:
        async with line_rig.open_rig(fake, files=LocalFiles()) as rig:

            async def show(reply: Reply) -> str:
                where = (GROUP, line_rig.IN_GROUP) if group else (USER, line_rig.IN_PRIVATE)
                await rig.say(reply, rig.address(fake.token(where[0])), conversation=where[1])
                return _read_line(fake, group=group)

            yield Place(show, cuts=True)


def _read_line(fake: LineFake, *, group: bool) -> str:
    [sent] = fake.sent
    fake.sent.clear()
    quick = [message for message in sent.messages if "quickReply" in message]
    assert quick in ([], sent.messages[-1:])
    assert not (group and quick)
    for message, words in zip(sent.messages, sent.texts, strict=True):
        if message["type"] == "flex":  # notifications show its alternative text
            assert next(word for word in words.split() if word != NO_WORDS) in message["altText"]
    spoken = [action.get("text", label) for label, action in sent.buttons.items()]
    return "\n".join([*sent.texts, *spoken]).replace(CHART.id, CHART.text)


@asynccontextmanager
async def in_slack(*, alone: bool = False, **address: str) -> AsyncIterator[Place]:
    """In a thread of Slack, in a 1:1, or as the answer to a slash command, for one person alone."""
    numbers = count()
    with slack_fake() as fake:
        fake.add_user()
        fake.add_message(CHANNEL, slack_rig.TS, "A question")
        async with slack_rig.open_rig(fake, files=LocalFiles()) as rig:

            async def show(reply: Reply) -> str:
                for part in rig.slack.split(reply):
                    number = next(numbers)
                    url = {"response_url": f"{fake.origin}/commands/{number}"} if alone else {}
                    sent = replace(
                        slack_rig.delivery("", number, 1, **(address | url)),
                        reply=part,
                        asker="U0001",
                    )
                    await rig.slack.deliver(slack_rig.THREAD, sent, ours)
                return _read_slack(fake)

            yield Place(show, shows_cards=not alone)


def _read_slack(fake: SlackFake) -> str:
    posted = [*fake.posted, *(one for given in fake.responses.values() for one in given)]
    blocks = [block for message in posted for block in message.get("blocks") or ()]
    marked = [block["text"] for block in blocks if block["type"] == "markdown"]
    marked += [message.get("markdown_text") or "" for message in posted]
    assert not any(
        "<!channel" in text
        for text in (*marked, *(message.get("text") or "" for message in posted))
    )
    assert all("markdown_text" in message or message["text"].strip() for message in posted)
    spoken = [*map(read, blocks), *marked, *([CHART.text] if fake.shared else [])]
    for past in (fake.calls, fake.responses, fake.shared):
        past.clear()
    return "\n".join(spoken)


@asynccontextmanager
async def in_console() -> AsyncIterator[Place]:
    """On the page, and as a terminal writes it."""
    live = LocalLive()
    console = Console(
        take, live, Reads(nothing, files=LocalFiles()), texts.load(), "en", LocalUploads()
    )

    async def show(reply: Reply) -> str:
        for number, part in enumerate(console.split(reply)):
            await console.deliver("console:x", Delivery(f"d{number}", "turn", part), ours)

        def shown() -> list[LiveEvent]:
            return [decode_event(event) for event in live.published]

        def is_last(event: LiveEvent) -> bool:
            return isinstance(event, Answered) or (isinstance(event, CardShown) and event.until > 0)

        await until(lambda: any(map(is_last, shown())))
        events = shown()
        live.published.clear()
        if waiting := [event for event in events if isinstance(event, CardShown) and event.until]:
            return "\n".join([*(value for _, value in waiting[0].rows), waiting[0].note])
        [answered] = [event for event in events if isinstance(event, Answered)]
        assert (answered.cards, answered.buttons) == (reply.cards, reply.buttons)
        polls = [card_text(event, "Vote.") for event in events if isinstance(event, CardShown)]
        return "\n".join([answered.text, beside_text(answered), *polls])

    yield Place(show)


PLACES = {
    "LINE, 1:1": lambda: in_line(group=False),
    "LINE, a group": lambda: in_line(group=True),
    "Slack, a thread": in_slack,
    "Slack, 1:1": lambda: in_slack(channel=DIRECT, thread=""),
    "Slack, a slash command": lambda: in_slack(alone=True),
    "console": in_console,
}


@pytest.mark.parametrize("language", texts.LANGUAGES)
@pytest.mark.parametrize("place", PLACES)
async def test_every_question_shows_its_call_and_how_to_decide(place: str, language: str) -> None:
    """Tool, arguments and remarks; two buttons, which page and terminal have of their own."""
    arguments = {"what": f"VALUE-1 {HOSTILE}", "when": "VALUE-2"}
    about = "c1", "launch", arguments, "Hanako", "U0001", 4_000_000_000_000
    shown = "TITLE-1", {"what": "LABEL-1"}, ("REMARK-1",)
    question = Question(f"question_{'0' * 32}", *about, *shown, language=language)
    spoken = {
        "tool": question.shown_tool,
        "arguments": code_block(question.shown_arguments),
        "remarks": "\nREMARK-1\n",
    }
    async with PLACES[place]() as where:
        seen = await where.show(
            Reply(
                texts.load().get("approval.question", language, **spoken),
                card=card_of(question, texts.load()),
            )
        )
    sentences = texts.load().table("approval", language)
    buttons = [sentences["yes"], sentences["no"]] if place != "console" else []
    call = "TITLE-1", "launch", "LABEL-1", "VALUE-1", "VALUE-2", "REMARK-1"
    assert [word for word in (*call, *buttons) if word not in seen] == []


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("place", PLACES)
async def test_every_answer_arrives_whole(place: str, kind: str) -> None:
    """Each part alone and all together; the rest of a long text is asked for."""
    words = WORDS[kind]
    async with PLACES[place]() as where:
        for reply in answers(words):
            if reply.card and not where.shows_cards:
                continue
            seen = await where.show(reply)
            assert [token for token in tokens(reply) if token not in seen] == []
            is_cut = where.cuts and any(more in seen for more in MORE[words.language])
            assert is_cut == (where.cuts and len(words.text) > 15_000)
            assert is_cut or all(word in seen for word in ("Tokyo", "Osaka") if TABLE in reply.text)
            plain = words.text if kind != "hostile" else "TEXT-1"
            assert is_cut or re.sub(r"\s", "", plain) in re.sub(r"\s", "", seen)
