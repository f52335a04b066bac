"""Four times the text takes four times the work, whoever wrote it: nobody stops a process with
words."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
from rich.console import Console

from bot import texts
from bot.agent.loop import choice_in
from bot.channels import InboundEvent, Reply
from bot.channels.console import channel as console
from bot.channels.line import inbound as line_reading
from bot.channels.line.formatting import Formatter, plain_text, split_messages
from bot.channels.line.types import Chat, Content, Mention, Mentionee
from bot.channels.markdown import parse, split_markdown
from bot.channels.replies import head, split, units
from bot.channels.slack import formatting as slack_text
from bot.channels.slack.contents import with_text
from bot.channels.slack.live_answer import TextBuffer
from bot.channels.slack.lookups import render_thread
from bot.channels.slack.types import SlackMessage
from bot.commands import SpokenCommands
from bot.errors import DeliveryRefused
from bot.features.memory.feature import FEW, facts_message
from bot.features.memory.store import Fact
from bot.live_events import Answered, AnswerText, ToolStarted
from bot.pipeline.prepare import context_line
from bot.providers.demo.request import read_turn
from bot.providers.shared.failures import Failures
from bot.safe_text import arguments as disclosure
from bot.safe_text import glyphs
from bot.safe_text.addresses import keys_in
from bot.safe_text.glyphs import one_line, quotable
from bot.safe_text.links import LinkFilter
from bot.terminal import printable
from bot.terminal.markdown import ChatMarkdown
from bot.terminal.screen import Screen, call_text, result_text
from bot.transcript import Author, Message, Text
from tests.fakes.tools import Echo, tool_map
from tests.growth import LETTERS, SHAPES, assert_grows, assert_linear

TEXTS = texts.load()
TERMINAL = TEXTS.table("terminal", "en")
COMMANDS = SpokenCommands(TEXTS)
# What rules of ours look for, beside those of the library.
PARSED = (
    *("*a ", "_a ", "~~a ", "`", "\\*", "- a\n", "> ", "a\n\n", "a|\n-|\n", "<http://a"),
    *("[", "![", "[a](", "[a](http://x", "http://a)", "links within each other"),
    *("a table with many cells", "parentheses in an address", "all marks within each other"),
)
MARKDOWN = ("w", "*a ", "> ", "```\n", "[a](http://x", "links within each other", "base64")


def user_message(text: str, author: Author | None = None) -> Message:
    return Message("m", "user", (Text(text),), 1, author)


def pieces(text: str, size: int = 40) -> list[str]:
    """As a fast stream brings it, gathered for a moment."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def without_a_mention(text: str) -> str | None:
    there = Mention([Mentionee(index, 2, is_self=True) for index in range(0, len(text), 10)])
    return line_reading.text_for_bot(Content(id="1", type="text", text=text, mention=there))


def line_reply(text: str) -> None:
    with suppress(DeliveryRefused):  # there may be nothing but marks in it
        Formatter(TEXTS, "en").messages(Reply(text), Chat("b", "user", "U1"))


def slack_stream(text: str) -> list[str]:
    """Words of an answer that nobody can be shown yet, and then can."""
    unfinished = TextBuffer()
    for piece in pieces(text, 5):
        unfinished.add(piece)
    return list(iter(unfinished.take, ""))


def named_context(text: str) -> str:
    return context_line(
        InboundEvent(user_message("hi", Author("u", text)), group=True), "line", "UTC"
    )


WORK: dict[str, Callable[[str], object]] = {
    "LINE's plain text": plain_text,
    "LINE's bubbles": lambda text: split_messages(text, "More?"),
    "pieces of a text": lambda text: list(split(text, 5_000)),
    # Short pieces: each reads two of them ahead, which would be all of the smaller text.
    "pieces of Markdown": lambda text: split_markdown(text, 1_000),
    "a reply in LINE": line_reply,
    "a mention in LINE": without_a_mention,
    "Slack's text made plain": slack_text.plain_text,
    "mentions in Slack": lambda text: (
        slack_text.mentioned_users(text),
        slack_text.without_mentions(text, ()),
        slack_text.with_names(text, {}),
    ),
    "what goes to Slack": lambda text: (
        slack_text.without_broadcasts(text),
        slack_text.escape(text),
        slack_text.open_tag_start(text),
    ),
    "a thread in Slack": lambda text: render_thread(
        [SlackMessage(ts="1", text=text, user="U1")], {}
    ),
    "blocks in Slack": lambda text: with_text(
        SlackMessage(blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": text}}])
    ),
    "a stream in Slack": slack_stream,
    "UTF-16": lambda text: (units(text), head(text, len(text) // 2)),
    "a name in the context line": named_context,
    "the language": lambda text: texts.language_for(text, "ja", "en"),
    "spoken commands": lambda text: (COMMANDS.read(text), COMMANDS.answer(text)),
    "tool commands": lambda text: choice_in([user_message(text)], tool_map(Echo())),
    "a fact": one_line,
    "facts": lambda text: facts_message([Fact(1, "tea")] * (FEW + 1), [user_message(text)]),
    "the demo's wishes": lambda text: read_turn([user_message(text)], "en"),
    "what the page posts": lambda text: console._complaint(text, ()),
    "a vendor's words": lambda text: Failures("model", "KEY", "key").refusal(400, "", text),
}
BY_LETTER: dict[str, Callable[[str], object]] = {
    "a question's arguments": lambda text: disclosure.render_arguments({"text": text}),
    "a question's frame": disclosure.code_block,
    "a model's reason": lambda text: quotable(text, len(text)),
    "lookalikes, invisible": lambda text: (
        glyphs.lookalikes(text),
        glyphs.invisible(text),
        glyphs.isolate_rtl(text),
    ),
    "a display name": lambda text: (glyphs.safe_name(text), glyphs.isolated_name(text)),
    "what a terminal can show": printable,
    "addresses in a text": lambda text: list(keys_in(text)),
    "links of an answer": lambda text: LinkFilter(str.isascii, "(withheld)").text(text),
    "links of a streamed answer": lambda text: links_streamed(text),
    "a call on a terminal": lambda text: call_text(ToolStarted("c1", "echo", {"text": text})),
    "a result on a terminal": lambda text: result_text({"error": text}),
}


def test_a_quadratic_function_is_found() -> None:
    """One that looks through all that stands before each of its places."""

    def looks_back(text: str) -> None:
        for end in range(0, len(text), 20):
            text[:end].split(",")

    with pytest.raises(AssertionError, match="times the work for 4 times the text"):
        assert_linear(looks_back, {"[1,": SHAPES["'[1,'"]})


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_four_times_the_text_takes_four_times_the_work(work: Callable[[str], object]) -> None:
    """With every nasty shape, up to 25,000 characters."""
    assert_linear(work)


@pytest.mark.parametrize("work", BY_LETTER.values(), ids=BY_LETTER)
def test_what_looks_at_letters_looks_once(work: Callable[[str], object]) -> None:
    """With letters of every kind."""
    assert_linear(work, LETTERS)


def links_streamed(text: str) -> str:
    links = LinkFilter(str.isascii, "(withheld)")
    return "".join(links.feed(text[at : at + 512]) for at in range(0, len(text), 512)) + links.end()


def drawn(text: str) -> None:
    Console(file=io.StringIO(), width=80).print(ChatMarkdown(text))


@pytest.mark.parametrize("shape", PARSED)
def test_markdown_is_read_once(shape: str) -> None:
    """Whatever Markdown has a meaning for."""
    shapes = {shape: SHAPES.get(shape) or SHAPES[repr(shape)]}
    assert_grows(parse, shapes)


@pytest.mark.parametrize("shape", MARKDOWN)
def test_markdown_on_a_terminal_grows_with_its_text(shape: str) -> None:
    """The library that reads it is not fast, so it is given the shapes that Markdown has a meaning
    for."""
    shapes = {shape: SHAPES.get(shape) or SHAPES[repr(shape)]}
    assert_grows(drawn, shapes)


def streamed_on_a_screen(events: Sequence[str]) -> None:
    """One answer that grows, which is drawn again and again."""
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    screen = Screen(TERMINAL, None, console)
    with screen.answering():
        for words in events:
            screen.draw(AnswerText(words))
            screen.tick()
        screen.draw(Answered("t", "".join(events)))


def test_an_answer_that_grows_is_not_drawn_anew_with_every_word() -> None:
    """However many pieces it comes in."""
    assert_grows(
        streamed_on_a_screen,
        {"words": lambda size: pieces("word " * (size // 5)), "w": lambda size: pieces("w" * size)},
    )
