"""People and the bot in Slack: what they do goes out as signed webhooks, and what Slack then shows
is noted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from bot.channels import Host
from bot.channels.slack.channel import Slack
from bot.features.choices.tools import OfferChoices
from bot.features.memory.tools import Remember
from bot.features.reminders.tools import SetReminder
from bot.texts import LANGUAGES, load
from tests.bot.channels.slack.rig import QUICK, slack_config
from tests.docs.pipeline import Pipeline
from tests.docs.tools.invite import Invite
from tests.docs.transcript import Transcript
from tests.fakes import slack_events
from tests.fakes.slack import Call, SlackFake
from tests.fakes.slack_blocks import button, read
from tests.fakes.slack_events import BOT, CHANNEL, as_interaction, as_json, signed
from tests.fakes.slack_rules import JSON
from tests.fakes.slack_views import read_view
from tests.waiting import until
from toolset.create_image import CreateImage
from toolset.weather import GetWeather

USERS = {"Emma": "U00000002", "Hanako": "U00000001"}
THINKING = {load().get("slack_status.thinking", language) for language in LANGUAGES}
TITLES = {
    tool.name: tool.titles
    for tool in (GetWeather, OfferChoices, SetReminder, Remember, CreateImage, Invite)
}
STATUS, STREAM, POST, CHANGE = (
    "assistant.threads.setStatus",
    "chat.startStream",
    "chat.postMessage",
    "chat.update",
)
DELETE, HOME, OPEN, UPDATE = "chat.delete", "views.publish", "views.open", "views.update"
UPLOAD = "files.completeUploadExternal"
# A stream's words come in pieces and a mode that depend on time: its message is looked at.
SHOWING = (STATUS, POST, CHANGE, DELETE, HOME, OPEN, UPDATE, UPLOAD)


class SlackTalk:
    """Who speaks now, and where.

    Attributes:
        name: who speaks.
        transcript: what has happened so far.
    """

    def __init__(self, fake: SlackFake, transcript: Transcript) -> None:
        self.pipeline: Pipeline
        self.name = "Emma"
        self._fake = fake
        self.transcript = transcript
        self._slack: Slack
        self._transcribed = 0  # calls
        self._homes: dict[str, list[str]] = {}
        self._shown: set[str] = set()  # timestamps of messages
        self._answered = 0  # response URLs
        self._ts = 0
        self._thread = ""
        self._is_alone = False  # the answer goes to a 1:1
        self._newest = "", ""  # message: timestamp and text

    @asynccontextmanager
    async def channel(self, host: Host) -> AsyncIterator[Slack]:
        """The channel, open."""
        async with Slack(slack_config(self._fake.api_base_url), host, timing=QUICK) as self._slack:
            yield self._slack

    async def wait(self, seen: str) -> None:
        """Wait until the status or the stream is there; a 1:1 has no status."""
        if self._is_alone:
            return
        if seen == "text":
            await until(
                lambda: any(
                    message.get("streaming_state") == "in_progress" for message in self._messages
                )
            )
        else:
            names = (seen, *TITLES.get(seen, {}).values())
            await until(lambda: any(name in _name(self._status) for name in names))

    @property
    def user(self) -> str:
        """The id of who speaks."""
        return USERS[self.name]

    async def say(self, words: str, *, in_thread: bool = True) -> None:
        """They mention the bot."""
        ts = self.write(words, mentioned=True, in_thread=in_thread)
        where = {"thread_ts": self._thread} if in_thread else {}
        await self._receive(as_json(slack_events.mention(words, ts, user=self.user, **where)))

    def write(self, words: str, *, mentioned: bool = False, in_thread: bool = False) -> str:
        """They write a message, which Slack shows; its timestamp."""
        self._ts += 1
        ts = f"17000000{self._ts:02}.000100"
        self._thread = self._thread if in_thread else ts
        self._fake.add_message(CHANNEL, ts, words, user=self.user, thread_ts=self._thread)
        self.transcript.add_words(self.name, f"@Kaiwa {words}" if mentioned else words)
        self._newest = ts, f"<@{BOT}> {words}"
        return ts

    async def delete(self) -> None:
        """They delete what they have written last."""
        ts, old = self._newest
        self.transcript.happened(f"{self.name} deletes the message")
        await self._receive(as_json(slack_events.deleted(old, ts, user=self.user)))

    async def press(self, action: str) -> None:
        """They press a button of the newest message."""
        asked = self._messages[-1]
        element, _ = button(asked, action)
        self.transcript.happened(f"{self.name} presses {element['text']['text']}")
        pressed = slack_events.press(
            asked,
            action,
            user=self.user,
            name=self.name,
            trigger=self._fake.trigger(),
            response_url=self._url,
        )
        await self._receive(as_interaction(pressed), asked["ts"])

    async def rate(self, choice: str) -> None:
        """They press a button for feedback: ``positive`` or ``negative``."""
        asked = self._messages[-1]
        element, _ = button(asked, "kaiwa_feedback")
        self.transcript.happened(
            f"{self.name} presses {element[f'{choice}_button']['text']['text']}"
        )
        pressed = slack_events.press(
            asked, "kaiwa_feedback", user=self.user, choice=choice, response_url=self._url
        )
        await self._receive(as_interaction(pressed))

    async def open_home(self) -> None:
        """They open the app's Home tab."""
        self.transcript.happened(f"{self.name} opens the Home tab")
        await self._receive(as_json(slack_events.home_opened(user=self.user)))

    async def press_in_view(self, action: str) -> None:
        """They press the first button with this action in their Home tab, or in the newest
        modal."""
        home = action.startswith("kaiwa_home")
        view = self._fake.homes[self.user] if home else list(self._fake.modals.values())[-1]
        pressed = slack_events.view_press(view, action, user=self.user)
        pressed["user"]["name"] = self.name
        element = pressed["actions"][0]
        self.transcript.happened(f"{self.name} presses {element['text']['text']}")
        if "confirm" in element:
            title, text, yes, no = (
                element["confirm"][part]["text"] for part in ("title", "text", "confirm", "deny")
            )
            self.transcript.happened(f"Slack asks: {title} {text} · {yes} · {no}")
            self.transcript.happened(f"{self.name} presses {yes}")
        await self._receive(as_interaction(pressed), "" if home else self._messages[-1]["ts"])

    async def choose(self, shortcut: str, callback_id: str) -> None:
        """They choose a shortcut in the menu of the newest message."""
        self.transcript.happened(f"{self.name} chooses “{shortcut}” in the menu of this message")
        chosen = next(one for one in self._fake.messages[CHANNEL] if one["ts"] == self._newest[0])
        trigger = self._fake.trigger()
        self._is_alone = True
        await self._receive(
            as_interaction(
                slack_events.shortcut(
                    chosen, callback_id, trigger=trigger, user=self.user, url=self._url
                )
            )
        )

    async def submit(self, words: str) -> None:
        """They type words in the newest modal and send it."""
        view = list(self._fake.modals.values())[-1]
        self.transcript.happened(
            f"{self.name} writes “{words}” and presses {view['submit']['text']}"
        )
        await self._receive(
            as_interaction(slack_events.submission(view, {"question": words}, user=self.user))
        )

    @property
    def _url(self) -> str:
        return f"{self._fake.origin}/actions/1"

    @property
    def _messages(self) -> list[JSON]:
        return sorted(self._fake.own, key=lambda message: str(message["ts"]))

    @property
    def _status(self) -> str:
        return str((self._fake.called(STATUS) or [{"status": ""}])[-1]["status"])

    @property
    def _new(self) -> list[Call]:
        return self._fake.calls[self._transcribed :]

    async def _receive(self, body: bytes, pressed: str = "") -> None:
        """Post a webhook, and note what Slack shows of all that follows.

        Args:
            pressed: the timestamp of a message whose buttons may become an outcome.
        """
        await self.pipeline.receive("/webhooks/slack", body, signed(body))
        await until(lambda: not self._status)
        await self._slack.tasks.join()
        messages = iter([message for message in self._messages if message["ts"] not in self._shown])
        new, self._transcribed = self._new, len(self._fake.calls)
        for call in sorted(
            new, key=lambda call: call.method != CHANGE or call.arguments["ts"] != pressed
        ):
            self._note(
                call,
                messages,
                pressed,
                {one.arguments["ts"] for one in new if one.method == CHANGE},
            )
        for response in self._fake.responses["/actions/1"][self._answered :]:
            self.transcript.add_request("response_url", response)
            self.transcript.happened(f"only {self.name} sees: {response['text']}")
        self._answered = len(self._fake.responses["/actions/1"])

    def _note(self, call: Call, messages: Iterator[JSON], pressed: str, changed: set[str]) -> None:
        arguments = call.arguments
        if call.method in SHOWING:
            self.transcript.add_request(call.method, arguments)
        if call.method == STATUS and arguments["status"]:
            self.transcript.status(arguments["status"])
        elif call.method in (STREAM, POST):
            message = next(messages)
            self._shown.add(message["ts"])
            if call.method == STREAM:
                shown = {key: message[key] for key in message if key != "streaming_mode"}
                self.transcript.add_request(STREAM, shown)
            if call.method == STREAM or message["ts"] in changed:
                self.transcript.happened("the answer appears while it is written")
            self.transcript.add_words("Kaiwa", _words(message))
        elif call.method == UPLOAD:
            message = next(messages)
            self._shown.add(message["ts"])
            self.transcript.add_words("Kaiwa", f"[picture: {message['files'][0]['name']}]")
        elif call.method == DELETE:
            self.transcript.happened("the answer disappears")
        elif call.method == CHANGE and arguments["ts"] == pressed:
            lines = reversed(_words(arguments).splitlines())
            outcome = next(
                line for line in lines if not line.startswith("[")
            )  # above the buttons for feedback
            self.transcript.happened(f"the buttons become: {outcome}")
        elif call.method == HOME:
            self._note_home(read_view(arguments["view"]))
        elif call.method in (OPEN, UPDATE):
            self.transcript.add_words("Modal", _named("\n".join(_modal(arguments["view"]))))

    def _note_home(self, lines: list[str]) -> None:
        """All of a tab that is opened; what is new on one that changes."""
        before = self._homes.get(self.name)
        self._homes[self.name] = lines
        if before is None:
            self.transcript.add_words("Home", _named("\n".join(lines)))
        else:
            new = (line for line in lines if line not in before)
            self.transcript.happened(f"the tab now says: {' '.join(new)}")


def _name(status: str) -> str:
    """What a status says, as the model waits for it."""
    return status if status not in THINKING else "thinking"


def _words(message: JSON) -> str:
    """What people see of a message."""
    return _named("\n".join(map(read, message.get("blocks", ()))) or str(message["text"]))


def _named(text: str) -> str:
    """The text with names in place of ids, as Slack shows it."""
    for name, user in USERS.items():
        text = text.replace(user, name)
    return text.replace(f"<#{CHANNEL}>", "#general")


def _modal(view: JSON) -> list[str]:
    """What people see of a modal: its title, its blocks, and its buttons at the bottom."""
    buttons = [f"[{view[part]['text']}]" for part in ("close", "submit") if part in view]
    return [view["title"]["text"], *read_view(view), " ".join(buttons)]
