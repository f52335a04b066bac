"""People who write to whole processes by signed webhooks, and what they are shown."""

from __future__ import annotations

from tests.chaos.evidence import Evidence
from tests.chaos.plan import Plan
from tests.chaos.talk import Asked, Chronicle, Talk
from tests.fakes import line_events, slack_events
from tests.fakes.line import LineFake
from tests.fakes.line_events import BOT, JSON
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, TEAM
from tests.process.kaiwa_process import KaiwaProcess

FIRST_S = 1_795_000_000  # when the first message is written in Slack

Webhook = tuple[str, bytes, dict[str, str]]


class People:
    """Those with even numbers write in LINE, the others mention the bot in a Slack thread of their
    own.

    Attributes:
        talks: conversations by the number of their person.
        ids: of messages on their platform, by marker.
    """

    def __init__(self, line: LineFake, slack: SlackFake) -> None:
        self._line = line
        self._slack = slack
        self.talks: dict[int, Talk] = {}
        self.ids: dict[str, str] = {}

    async def write(
        self, person: int, *processes: KaiwaProcess, needs_tool: bool = False, wish: str = ""
    ) -> str:
        """A message, posted to each of the processes in turn, as a platform does that repeats
        itself; its marker."""
        talk = self.talks.setdefault(person, Talk(""))
        marker = f"q{person}n{len(talk.asked)}"
        talk.asked.append(asked := Asked(marker, needs_tool, wish=wish))
        await self._post(
            self._in_slack(person, asked) if person % 2 else self._in_line(person, asked),
            *processes,
        )
        asked.acknowledged = True
        return marker

    async def unsend(self, person: int, marker: str, process: KaiwaProcess) -> None:
        """A message taken back in LINE: it needs no answer."""
        user = user_of(person)
        event = line_events.event("unsend", user, user, unsend={"messageId": self.ids[marker]})
        await self._post(("/webhooks/line", *line_events.webhook(event)), process)
        self._asked(person, marker).acknowledged = False

    async def edit(self, person: int, marker: str, wish: str, process: KaiwaProcess) -> None:
        """Other words for a message in Slack."""
        asked = self._asked(person, marker)
        before, asked.wish = asked.words, wish
        new, old = (f"<@{slack_events.BOT}> {words}" for words in (asked.words, before))
        await self._post(
            _signed(slack_events.edited(new, old, self.ids[marker], user=user_of(person))), process
        )

    async def approve(self, person: int, process: KaiwaProcess) -> None:
        """The press of a button under the newest question."""
        if person % 2:
            own = [
                one
                for one in self._slack.messages[CHANNEL]
                if one.get("thread_ts") == self.ids[f"q{person}n0"]
            ]
            pressed = slack_events.press(own[-1], "approval.approve", user=user_of(person))
            body = slack_events.as_interaction(pressed)
            await self._post(("/webhooks/slack", body, slack_events.signed(body)), process)
        else:
            event = self._press_in_line(user_of(person))
            await self._post(("/webhooks/line", *line_events.webhook(event)), process)

    def evidence(self) -> Evidence:
        """What is there to be judged."""
        return Evidence(
            Plan(seed=0), Chronicle(), self._line, self._slack, list(self.talks.values())
        )

    def shown_to(self, person: int) -> list[str]:
        """What a person has been shown."""
        return [
            shown.text for shown in self.evidence().shown().get(self.talks[person].conversation, [])
        ]

    def is_answered(self, *people: int) -> bool:
        """Whether each message has been answered: of these people, or of all."""
        talks = [self.talks[person] for person in people or self.talks]
        wanted = {asked.marker for talk in talks for asked in talk.asked if asked.acknowledged}
        return wanted <= self.evidence().answered()

    def _asked(self, person: int, marker: str) -> Asked:
        return next(asked for asked in self.talks[person].asked if asked.marker == marker)

    def _in_line(self, person: int, asked: Asked) -> Webhook:
        user = user_of(person)
        self.talks[person].conversation = f"line:{BOT}:user:{user}"
        message = line_events.text_message(asked.words)
        self.ids[asked.marker] = message["id"]
        return "/webhooks/line", *line_events.webhook(
            self._line.event(place=user, user=user, message=message)
        )

    def _in_slack(self, person: int, asked: Asked) -> Webhook:
        ts = self.ids[asked.marker] = f"{FIRST_S + len(self.ids)}.000100"
        root = self.ids[f"q{person}n0"]
        self.talks[person].conversation = f"slack:{TEAM}:{CHANNEL}:{root}"
        thread = {} if ts == root else {"thread_ts": root}
        self._slack.add_message(CHANNEL, ts, asked.words, **thread)
        return _signed(slack_events.mention(asked.words, ts, user=user_of(person), **thread))

    def _press_in_line(self, user: str) -> JSON:
        yes = next(
            sent.buttons["Yes"]
            for sent in reversed(self._line.sent)
            if sent.to == user and sent.buttons
        )
        return self._line.event("postback", user, user, postback={"data": yes["data"]})

    async def _post(self, webhook: Webhook, *processes: KaiwaProcess) -> None:
        for process in processes:
            assert await process.post(*webhook) == 200


def user_of(person: int) -> str:
    """The id of a person on their platform."""
    return f"U{person:08d}" if person % 2 else f"U{person:032x}"


def _signed(payload: JSON) -> Webhook:
    body = slack_events.as_json(payload)
    return "/webhooks/slack", body, slack_events.signed(body)
