"""People and the bot in LINE: what they do goes out as signed webhooks, and what LINE then shows is
noted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bot.channels import Host
from bot.channels.line.channel import Line
from tests.bot.channels.line.rig import line_config
from tests.docs.pipeline import Pipeline
from tests.docs.transcript import Transcript
from tests.fakes import line_events
from tests.fakes.line import LineFake
from tests.fakes.line_events import (
    GROUP,
    JSON,
    USER,
    addressed_message,
    message_id,
    text_message,
    webhook,
)
from tests.fakes.line_traffic import Sent
from tests.waiting import until

USERS = {"Hanako": USER, "Emma": "U" + "2" * 32, "Taro": "U" + "3" * 32}


class LineTalk:
    """Who speaks now, and where.

    Attributes:
        name: who speaks.
        in_group: they speak in the group, not alone with the bot.
        transcript: what has happened so far.
    """

    def __init__(self, fake: LineFake, transcript: Transcript) -> None:
        self.pipeline: Pipeline
        self.name = "Hanako"
        self.in_group = False
        self.transcript = transcript
        self._fake = fake
        self._transcribed = 0  # messages
        self._loading = 0  # animations
        self._loading_transcribed = 0
        self._words: dict[str, str] = {}  # by quote token
        self._meanwhile: JSON | None = None

    @asynccontextmanager
    async def channel(self, host: Host) -> AsyncIterator[Line]:
        """The channel, open."""
        async with Line(line_config(self._fake.base_url), host) as line:
            yield line

    async def wait(self, seen: str) -> None:
        """LINE shows no more than its animation, in 1:1 only, which is there before the model is
        asked."""
        if not self.in_group:
            await until(lambda: len(self._fake.loading) > self._loading)
        if self._meanwhile is not None:
            event, self._meanwhile = self._meanwhile, None
            self._note_loading()
            self.transcript.happened(f"{self.name} unsends the message")
            await self.pipeline.post("/webhooks/line", *webhook(event))

    async def follow(self) -> None:
        """They add the bot as a friend."""
        self.transcript.happened(f"{self.name} adds Kaiwa as a friend")
        await self._receive(self._fake.event("follow", self._user, self._user))

    async def join(self) -> None:
        """They invite the bot to the group."""
        self.transcript.happened(f"{self.name} invites Kaiwa to a group")
        await self._receive(self._fake.event("join", GROUP, None))

    async def say(
        self, words: str, *, mention: bool = False, quoting: str = "", unsent: bool = False
    ) -> None:
        """They write a message.

        Args:
            quoting: the id of another message.
            unsent: they take it back while the bot answers.
        """
        message = addressed_message(words) if mention else text_message(words)
        quotes = f"> {self._words_of(quoting)}\n" if quoting else ""
        self.transcript.add_words(self.name, f"{quotes}{message['text']}")
        if unsent:
            self._meanwhile = line_events.event(
                "unsend", self._place, self._user, unsend={"messageId": message["id"]}
            )
        await self._send(message | ({"quotedMessageId": quoting} if quoting else {}))

    async def show(
        self, kind: str, described: str, content: bytes, mime: str, **fields: Any
    ) -> str:
        """They send a picture, a recording or a file; its id."""
        message = {"id": message_id(), "type": kind, "quoteToken": "q", **fields}
        self._fake.image(message["id"], content, mime)
        self.transcript.add_words(self.name, f"[{described}]")
        await self._send(message)
        return str(message["id"])

    async def press(self, label: str) -> None:
        """They press a button."""
        self.transcript.happened(f"{self.name} presses {label}")
        await self._receive(self._fake.press(label, self._user))

    @property
    def answer_id(self) -> str:
        """The id of the bot's newest message."""
        return self._fake.sent[-1].ids[-1]

    @property
    def _user(self) -> str:
        return USERS[self.name]

    @property
    def _place(self) -> str:
        return GROUP if self.in_group else self._user

    def _words_of(self, message: str) -> str:
        """The first line of a message of the bot."""
        return next(
            text.partition("\n")[0]
            for sent in self._fake.sent
            for one, text in zip(sent.ids, sent.texts, strict=True)
            if one == message
        )

    async def _send(self, message: JSON) -> None:
        self._words[message["quoteToken"]] = message.get("text", "")
        self._fake.advance(0.001)  # messages of one millisecond have no order
        await self._receive(self._fake.event("message", self._place, self._user, message=message))

    async def _receive(self, event: JSON) -> None:
        self._loading = len(self._fake.loading)
        await self.pipeline.receive("/webhooks/line", *webhook(event))
        self._note_loading()
        new, self._transcribed = self._fake.sent[self._transcribed :], len(self._fake.sent)
        for sent in new:
            note(self.transcript, sent, self._words)

    def _note_loading(self) -> None:
        if len(self._fake.loading) > self._loading_transcribed:
            self.transcript.happened("the loading animation")
        self._loading_transcribed = len(self._fake.loading)


def note(transcript: Transcript, sent: Sent, quotable: Mapping[str, str]) -> None:
    """What people see of a message in LINE.

    Args:
        quotable: words by quote token.
    """
    transcript.add_request(sent.call, sent.messages)
    for message, text in zip(sent.messages, sent.texts, strict=True):
        quoted = quotable.get(message.get("quoteToken", ""))
        words = "[picture]" if message["type"] == "image" else text
        transcript.add_words("Kaiwa", f"> {quoted}\n{words}" if quoted else words)
    if sent.buttons:
        transcript.happened("buttons: " + " · ".join(sent.buttons))
