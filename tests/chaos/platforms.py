"""LINE and Slack as they post to webhooks: again where nobody answers, and now and then twice
without a reason."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from tests.chaos.talk import Asked, Chronicle, Talk
from tests.fakes import line_events, slack_events
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake

LINE_TRIES, LINE_PATIENCE_S, LINE_PAUSE_S = 20, 2.0, (0.5, 2.0)
SLACK_WAITS_S, SLACK_PATIENCE_S = (
    (0.0, 0.0, 1.0, 5.0),
    3.0,
)  # at once, a minute and five minutes in real life
TWICE = 0.1  # share of messages that come again although they were acknowledged
LATE = 0.1  # share of LINE's messages that come so late that their reply token is dead
LATE_MS = 120_000


class Router:
    """Hands requests to any process that takes connections."""

    def __init__(
        self, http: httpx.AsyncClient, serving: Callable[[], list[str]], dice: random.Random
    ) -> None:
        self._http = http
        self._serving = serving
        self._dice = dice

    async def post(self, path: str, body: bytes, headers: dict[str, str], timeout_s: float) -> int:
        """The status of the answer, 0 where there is none."""
        doors = self._serving()
        self._dice.shuffle(doors)
        for door in doors:
            try:
                async with asyncio.timeout(timeout_s):
                    return (
                        await self._http.post(door + path, content=body, headers=headers)
                    ).status_code
            except httpx.ConnectError:
                continue
            except (httpx.TransportError, TimeoutError):
                return 0
        return 0


@dataclass(slots=True)
class LinePerson:
    """Somebody who writes to the bot in LINE."""

    router: Router
    line: LineFake
    chronicle: Chronicle
    dice: random.Random
    number: int

    @property
    def user(self) -> str:
        return f"U{self.number:032x}"

    def talk(self) -> Talk:
        """The conversation, before anything is said."""
        return Talk(f"line:{line_events.BOT}:user:{self.user}")

    async def say(self, asked: Asked, conversation: str) -> None:
        """Send one message until it is acknowledged."""
        message = line_events.text_message(asked.words)
        event = self.line.event(place=self.user, user=self.user, message=message)
        if self.dice.random() < LATE:
            self.line.expire(event["replyToken"])
            event |= {
                "timestamp": event["timestamp"] - LATE_MS,
                "deliveryContext": {"isRedelivery": True},
            }
        again = self.dice.random() < TWICE
        for _ in range(LINE_TRIES):
            status = await self._post(event)
            self.chronicle.note(
                "LINE", f"{asked.marker} posted: {status or 'no answer'}", conversation
            )
            asked.acknowledged = asked.acknowledged or status == 200
            if asked.acknowledged and not again:
                break
            again = again and not asked.acknowledged
            event |= {"deliveryContext": {"isRedelivery": True}}
            await asyncio.sleep(self.dice.uniform(*LINE_PAUSE_S))

    async def _post(self, event: line_events.JSON) -> int:
        body, headers = line_events.webhook(event)
        return await self.router.post("/webhooks/line", body, headers, LINE_PATIENCE_S)


@dataclass(slots=True)
class SlackPerson:
    """Somebody who writes to the bot in Slack: in 1:1, or in a thread that mentions it each
    time."""

    router: Router
    slack: SlackFake
    chronicle: Chronicle
    dice: random.Random
    number: int
    spoken: int = 0

    def __post_init__(self) -> None:
        self.slack.add_user(self.user)

    @property
    def user(self) -> str:
        """One account for each person: all their questions together exceed one account's daily
        limit."""
        return f"U1{self.number:07d}"

    @property
    def is_direct(self) -> bool:
        return self.number % 4 == 1

    @property
    def channel(self) -> str:
        return f"D{self.number:08d}" if self.is_direct else f"C{self.number % 5:08d}"

    @property
    def root(self) -> str:
        """The thread, which its first message opens."""
        return self._ts(0)

    def talk(self) -> Talk:
        """The conversation, before anything is said."""
        thread = "" if self.is_direct else f":{self.root}"
        return Talk(f"slack:{slack_events.TEAM}:{self.channel}{thread}")

    async def say(self, asked: Asked, conversation: str) -> None:
        """Send one message, as every event Slack makes of it, until each is acknowledged or given
        up."""
        ts = self._ts(self.spoken)
        in_thread = {"thread_ts": self.root} if self.spoken and not self.is_direct else {}
        self.spoken += 1
        payloads = self._payloads(asked, ts, in_thread)
        self.slack.add_message(self.channel, ts, asked.words, user=self.user, **in_thread)
        await asyncio.gather(*(self._send(payload, asked, conversation) for payload in payloads))

    def _payloads(
        self, asked: Asked, ts: str, in_thread: dict[str, str]
    ) -> Sequence[slack_events.JSON]:
        place = {"channel": self.channel, "user": self.user}
        whole = slack_events.message(asked.words, ts, **place, **in_thread)
        if self.is_direct:
            return (whole,)
        mention = slack_events.mention(asked.words, ts, **place, **in_thread)
        whole["event"]["text"] = mention["event"]["text"]
        return (mention, whole) if self.dice.random() < 0.5 else (whole, mention)

    async def _send(self, payload: slack_events.JSON, asked: Asked, conversation: str) -> None:
        body = slack_events.as_json(payload)
        again = self.dice.random() < TWICE
        for number, wait_s in enumerate(SLACK_WAITS_S):
            await asyncio.sleep(wait_s)
            headers = slack_events.signed(body) | (
                {"X-Slack-Retry-Num": str(number)} if number else {}
            )
            status = await self.router.post("/webhooks/slack", body, headers, SLACK_PATIENCE_S)
            what = f"{asked.marker} posted as {payload['event']['type']}: {status or 'no answer'}"
            self.chronicle.note("Slack", what, conversation)
            asked.acknowledged = asked.acknowledged or status == 200
            if status == 200 and not again:
                break
            again = again and status != 200

    def _ts(self, message: int) -> str:
        return f"{1_795_000_000 + self.number * 100 + message}.000100"
