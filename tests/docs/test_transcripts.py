"""The conversations of docs/conversations.md: signed webhooks in, and what people then see in LINE and Slack."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext

import pytest

from bot.channels import Accept, Host
from bot.channels.line.channel import Line
from bot.channels.slack.channel import Slack
from bot.store import Store
from bot.texts import LANGUAGES, load
from tests.bot.channels.line.late_turns import held_step, late_turn
from tests.bot.channels.line.pipeline import LinePipeline
from tests.bot.channels.line.pipeline import open_pipeline as open_line
from tests.bot.channels.line.rig import line_config
from tests.bot.channels.slack.rig import QUICK, slack_config
from tests.docs.pipeline import Pipeline, open_pipeline
from tests.fakes.line import LineFake, line_fake
from tests.fakes.line_events import BOT as LINE_BOT
from tests.fakes.line_events import USER, text_message, webhook
from tests.fakes.line_traffic import Sent
from tests.fakes.slack import Call, SlackFake, slack_fake
from tests.fakes.slack_blocks import button, read
from tests.fakes.slack_events import BOT, CHANNEL, as_interaction, as_json, deleted, edited, mention, press, signed
from tests.fakes.slack_rules import JSON
from tests.fakes.slack_streams import is_own
from tests.fakes.wttr import WttrFake, wttr_fake
from tests.project import ROOT
from tests.waiting import until
from toolset.choices import OfferChoices
from toolset.weather import GetWeather

USERS = {"Emma": "U00000002", "Hanako": "U00000001"}  # in Slack
EMMA = "U" + "2" * 32  # in LINE
LATE_TALKS = (
    ("Hanako", USER, "京都の歴史を調べて", "京都は794年に都となりました。", "回答を見る"),
    ("Emma", EMMA, "Look into the history of Kyoto.", "Kyoto became the capital in 794.", "Show the answer"),
)
DOCUMENT = ROOT / "docs" / "conversations.md"
TIMES = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(?: UTC)?|\d\d:\d\d UTC")
DATES = re.compile(r"([A-Z][a-z]{2}) \d+/\d+|\d+/\d+ \([月火水木金土日]\)")
THINKING = {load().get("slack_status.thinking", language) for language in LANGUAGES}
STATUS_LINE = f"{'':8}[Kaiwa "
TITLES = {tool.name: tool.titles for tool in (GetWeather, OfferChoices)}
STATUS, STREAM, POST, CHANGE = "assistant.threads.setStatus", "chat.startStream", "chat.postMessage", "chat.update"
DELETE = "chat.delete"


class Transcript:
    """The lines of one conversation, as the document has them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def said(self, name: str, text: str) -> None:
        """Somebody's words, below their name; a forecast has other dates on each day."""
        first, *more = DATES.sub(lambda found: "Wed 1/7" if found[1] else "1/7 (水)", text).splitlines()
        self.lines += [f"{name + ':':8}{first}", *(f"{'':8}{line}".rstrip() for line in more)]

    def happened(self, text: str) -> None:
        """What people see beside words, or do."""
        self.lines.append(f"{'':8}[{text}]")

    def status(self, text: str) -> None:
        """The status that Slack shows; one after another stand in one line."""
        if self.lines and self.lines[-1].startswith(STATUS_LINE):
            self.lines[-1] = f"{self.lines[-1][:-1]} → {text}]"
        else:
            self.lines.append(f"{STATUS_LINE}{text}]")


def compare(name: str, transcript: Transcript, *, write: bool) -> None:
    """Compare a transcript with the document's, or write it there."""
    document = DOCUMENT.read_text("utf-8")
    block = re.compile(rf"(<!-- {name} -->\n```text\n)(.*?)(```\n)", re.DOTALL)
    text = "\n".join(transcript.lines) + "\n"
    if write:
        DOCUMENT.write_text(block.sub(lambda found: found[1] + text + found[3], document), "utf-8")
        return
    found = block.search(document)
    assert found is not None
    assert found[2] == text, "make transcripts writes it anew"


@pytest.fixture
def write(pytestconfig: pytest.Config) -> bool:
    """Whether the document is written and not compared."""
    return bool(pytestconfig.getoption("--write-tables"))


@pytest.fixture
async def wttr() -> AsyncIterator[WttrFake]:
    """The weather in Tokyo and Osaka."""
    async with wttr_fake() as fake:
        for place in ("Tokyo", "東京", "Osaka", "大阪"):
            fake.place(place, high=24, low=16, condition="Partly cloudy", condition_ja="所により曇り", rain=20)
        yield fake


class SlackTalk:
    """People and the bot in threads of Slack.

    Attributes:
        user, name: who speaks now.
    """

    def __init__(self, fake: SlackFake, transcript: Transcript) -> None:
        self.pipeline: Pipeline
        self.user, self.name = USERS["Emma"], "Emma"
        self._fake = fake
        self._transcript = transcript
        self._told = 0  # calls
        self._ts = 0
        self._thread = ""
        self._said = "", ""  # the newest message: timestamp and text

    @asynccontextmanager
    async def channel(self, accept: Accept, store: Store) -> AsyncIterator[Slack]:
        """The channel, open."""
        host = Host(accept, store.kv, store.priority_kv, load(), listens=nullcontext)
        async with Slack(slack_config(self._fake.api_base_url), host, timing=QUICK) as slack:
            yield slack

    async def wait(self, seen: str) -> None:
        """Wait until the status or the stream is there."""
        if seen == "text":
            await until(lambda: any(message.get("streaming_state") == "in_progress" for message in self._messages))
        else:
            names = (seen, *TITLES.get(seen, {}).values())
            await until(lambda: any(name in _name(self._status) for name in names))

    async def say(self, words: str, *, in_thread: bool = True) -> None:
        """They mention the bot."""
        self._ts += 1
        ts = f"17000000{self._ts:02}.000100"
        self._thread = self._thread if in_thread else ts
        self._fake.add_message(CHANNEL, ts, words, user=self.user, thread_ts=self._thread)
        self._transcript.said(self.name, f"@Kaiwa {words}")
        self._said = ts, f"<@{BOT}> {words}"
        await self._receive(
            as_json(mention(words, ts, user=self.user, **{"thread_ts": self._thread} if in_thread else {}))
        )

    async def edit(self, words: str) -> None:
        """They edit what they have written last."""
        ts, old = self._said
        self._transcript.happened(f"{self.name} edits the message: @Kaiwa {words}")
        new = f"<@{BOT}> {words}"
        await self._receive(as_json(edited(new, old, ts, user=self.user)))
        self._said = ts, new

    async def delete(self) -> None:
        """They delete what they have written last."""
        ts, old = self._said
        self._transcript.happened(f"{self.name} deletes the message")
        await self._receive(as_json(deleted(old, ts, user=self.user)))

    async def press(self, action: str) -> None:
        """They press a button of the newest message."""
        asked = self._messages[-1]
        element, _ = button(asked, action)
        self._transcript.happened(f"{self.name} presses {element['text']['text']}")
        await self._receive(as_interaction(press(asked, action, user=self.user, name=self.name)), asked["ts"])

    @property
    def _messages(self) -> list[JSON]:
        return [message for message in self._fake.messages[CHANNEL] if is_own(message)]

    @property
    def _status(self) -> str:
        return str((self._fake.called(STATUS) or [{"status": ""}])[-1]["status"])

    @property
    def _new(self) -> list[Call]:
        return self._fake.calls[self._told :]

    async def _receive(self, body: bytes, pressed: str = "") -> None:
        await self.pipeline.receive("/webhooks/slack", body, signed(body))
        await until(lambda: not self._status)
        if pressed:  # in the background
            await until(lambda: any(call.arguments["ts"] == pressed for call in self._new if call.method == CHANGE))
        new, self._told = self._new, len(self._fake.calls)
        for call in sorted(new, key=lambda call: call.method != CHANGE or call.arguments["ts"] != pressed):
            arguments = call.arguments
            if call.method == STATUS and arguments["status"]:
                self._transcript.status(arguments["status"])
            elif call.method == STREAM:
                self._transcript.happened("the answer appears while it is written")
                self._transcript.said("Kaiwa", _shown(self._messages[-1]))
            elif call.method == DELETE:
                self._transcript.happened("the answer disappears")
            elif call.method == POST:
                self._transcript.said("Kaiwa", _shown(arguments))
            elif call.method == CHANGE and arguments["ts"] == pressed:
                outcome = _shown(arguments).splitlines()[-1]
                self._transcript.happened(f"the buttons become: {outcome}")


def _name(status: str) -> str:
    """What a status says, as the model waits for it."""
    return status if status not in THINKING else "thinking"


def _shown(arguments: JSON) -> str:
    """What people see of a message; the time is another one on each day."""
    blocks = "\n".join(map(read, arguments.get("blocks", ())))
    text = TIMES.sub("18:30", blocks or str(arguments.get("markdown_text") or arguments["text"]))
    for name, user in USERS.items():
        text = text.replace(user, name)
    return text


class LineTalk:
    """Somebody alone with the bot in LINE."""

    def __init__(self, fake: LineFake, transcript: Transcript) -> None:
        self.pipeline: Pipeline
        self.user, self.name = USER, "Hanako"
        self._fake = fake
        self._transcript = transcript
        self._told = 0  # messages
        self._loading = 0

    @asynccontextmanager
    async def channel(self, accept: Accept, store: Store) -> AsyncIterator[Line]:
        """The channel, open."""
        host = Host(accept, store.kv, store.priority_kv, load(), "ja")
        async with Line(line_config(self._fake.base_url), host) as line:
            yield line

    async def wait(self, seen: str) -> None:
        """LINE shows no more than its animation, which is there before the model is asked."""
        await until(lambda: len(self._fake.loading) > self._loading)

    async def follow(self) -> None:
        """They add the bot as a friend."""
        self._transcript.happened(f"{self.name} adds Kaiwa as a friend")
        await self._receive(self._fake.event("follow", self.user, self.user))

    async def say(self, words: str) -> None:
        """They write a message."""
        self._transcript.said(self.name, words)
        await self._receive(self._fake.event("message", self.user, self.user, message=text_message(words)))

    async def press(self, label: str) -> None:
        """They press a button."""
        self._transcript.happened(f"{self.name} presses {label}")
        await self._receive(self._fake.press(label, self.user))

    async def _receive(self, event: JSON) -> None:
        self._loading = len(self._fake.loading)
        await self.pipeline.receive("/webhooks/line", *webhook(event))
        if len(self._fake.loading) > self._loading:
            self._transcript.happened("the loading animation")
        new, self._told = self._fake.sent[self._told :], len(self._fake.sent)
        for sent in new:
            _note(self._transcript, sent)


def _note(transcript: Transcript, sent: Sent) -> None:
    """What people see of a message in LINE."""
    for text in sent.texts:
        transcript.said("Kaiwa", text)
    if sent.buttons:
        transcript.happened("buttons: " + " · ".join(sent.buttons))


@pytest.fixture
def slack() -> Iterator[SlackFake]:
    """Slack, with both in it."""
    with slack_fake() as fake:
        fake.add_user(USERS["Emma"], "Emma", "en-GB")
        fake.add_user(USERS["Hanako"], "Hanako")
        yield fake


@pytest.fixture
def line() -> Iterator[LineFake]:
    """LINE, with both in it."""
    with line_fake() as fake:
        fake.people[EMMA] = {"displayName": "Emma", "language": "en"}
        yield fake


async def test_slack_as_the_document_shows_it(store: Store, wttr: WttrFake, slack: SlackFake, write: bool) -> None:
    """Status, streamed answer, approval by button, and the same in Japanese."""
    transcript = Transcript()
    talk = SlackTalk(slack, transcript)
    async with open_pipeline(store, wttr, talk.wait, talk.channel, "en") as talk.pipeline:
        await talk.say("What will the weather be like in Tokyo tomorrow?", in_thread=False)
        await talk.say("Remind me at 18:00 to call Hanako.")
        await talk.press("kaiwa_approve")
        await talk.say("And the weather?", in_thread=False)
        await talk.press("kaiwa_choice_1")
        await talk.say("Compare Tokyo and Osaka in a table.")
        talk.user, talk.name = USERS["Hanako"], "Hanako"
        await talk.say("大阪の明日の天気は？", in_thread=False)
        await talk.say("18時に花子さんへの電話をリマインドして")
        await talk.press("kaiwa_reject")
    compare("slack", transcript, write=write)


async def test_changed_messages_as_the_document_shows_them(
    store: Store, wttr: WttrFake, slack: SlackFake, write: bool
) -> None:
    """Edited and deleted right after their answers, in both languages."""
    transcript = Transcript()
    talk = SlackTalk(slack, transcript)
    async with open_pipeline(store, wttr, talk.wait, talk.channel, "en") as talk.pipeline:
        await talk.say("What will the weather be like in Tokyo tomorrow?", in_thread=False)
        await talk.edit("What will the weather be like in Osaka tomorrow?")
        talk.user, talk.name = USERS["Hanako"], "Hanako"
        await talk.say("こんにちは", in_thread=False)
        await talk.delete()
    compare("slack, changed messages", transcript, write=write)


async def test_line_as_the_document_shows_it(store: Store, wttr: WttrFake, line: LineFake, write: bool) -> None:
    """Greeting with quick replies, loading animation, approval by button, in both languages."""
    transcript = Transcript()
    talk = LineTalk(line, transcript)
    async with open_pipeline(store, wttr, talk.wait, talk.channel, "ja") as talk.pipeline:
        await talk.follow()
        await talk.press("東京の天気")
        await talk.say("18時に花子さんへの電話をリマインドして")
        await talk.press("はい")
        await talk.say("東京と大阪を表で比べて")
        talk.user, talk.name = EMMA, "Emma"
        await talk.say("How is the weather?")
        await talk.press("Tokyo")
        await talk.say("Remind me at 18:00 to call Hanako.")
        await talk.press("No")
    compare("line", transcript, write=write)


async def test_a_late_answer_as_the_document_shows_it(store: Store, line: LineFake, write: bool) -> None:
    """The button after 45 seconds, pressed early, pressed later, and once more, in both languages."""
    transcript = Transcript()
    for name, user, words, answer, label in LATE_TALKS:
        step = held_step(answer)
        asked = line.event("message", user, user, message=text_message(words))
        async with open_line(store, line, [step], line_push="never") as here:

            async def press(here: LinePipeline = here, name: str = name, user: str = user, label: str = label) -> None:
                transcript.happened(f"{name} presses {label}")
                await here.hear(line.press(label, user))
                _note(transcript, line.sent[-1])

            transcript.said(name, words)
            async with late_turn(here, step, asked, f"line:{LINE_BOT}:user:{user}"):
                transcript.happened("45 seconds later")
                _note(transcript, line.sent[-1])
                await press()
            await press()
            await press()
    compare("late", transcript, write=write)
