"""What a storm has left behind: gathered from the platforms, the store and the processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from tests.chaos.judge import Verdict, judge
from tests.chaos.plan import Plan
from tests.chaos.talk import MARKER, Chronicle, Event, Shown, Talk
from tests.chaos.troubles import LOOKS
from tests.fakes import line_events, slack_events
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fakes.slack_streams import is_own, show
from tests.process.kaiwa_process import KaiwaProcess


@dataclass(slots=True)
class Evidence:
    """Everything a report needs.

    Attributes:
        left: what the store still holds of work, endless keys and processes that ended by
            themselves; all should be empty.
        waits: seconds from a kill until a conversation of the killed process went on.
    """

    plan: Plan
    chronicle: Chronicle
    line: LineFake
    slack: SlackFake
    talks: list[Talk] = field(default_factory=list)
    processes: dict[str, KaiwaProcess] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def shown(self) -> dict[str, list[Shown]]:
        """What people saw, by conversation, in order."""
        found: dict[str, list[Shown]] = {}
        for message in (*_in_line(self.line), *_in_slack(self.slack)):
            found.setdefault(message.conversation, []).append(message)
        return found

    def answered(self) -> set[str]:
        """The markers that have been shown."""
        return {
            marker
            for messages in self.shown().values()
            for message in messages
            for marker in message.markers
        }

    def verdicts(self) -> dict[str, Verdict]:
        """The judgement on every conversation."""
        shown = self.shown()
        return {
            talk.conversation: judge(
                talk, shown.get(talk.conversation, []), self._looks(talk.conversation)
            )
            for talk in self.talks
        }

    def timeline(self, conversation: str) -> list[Event]:
        """All that concerns a conversation, in order of time."""
        reported = [
            event for event in self.chronicle.events if event.conversation in ("", conversation)
        ]
        shown = [
            Event(one.at, "SHOWN", f"{one.via} {one.delivery}: {one.text}")
            for one in self._shown_in(conversation)
        ]
        return sorted(
            [*reported, *shown, *self._attempts(conversation), *self._logged(conversation)],
            key=lambda e: e.at,
        )

    def _shown_in(self, conversation: str) -> list[Shown]:
        return self.shown().get(conversation, [])

    def _looks(self, conversation: str) -> list[float]:
        """When it was looked for an answer that may have been posted; reading what others wrote has
        no ``oldest``."""
        place = conversation.split(":")
        return [
            call.at
            for call in self.slack.calls
            if call.method in LOOKS
            and call.arguments.get("oldest")
            and call.arguments.get("channel") in place
            and (len(place) < 4 or call.arguments.get("ts") in place)
        ]

    def _attempts(self, conversation: str) -> Iterator[Event]:
        """Calls of the platforms that were to say something in it, obeyed or not."""
        markers = {
            asked.marker
            for talk in self.talks
            if talk.conversation == conversation
            for asked in talk.asked
        }
        for request in self.line.requests:
            if request.call in ("reply", "push") and markers & set(
                MARKER.findall(request.raw.decode())
            ):
                yield Event(request.at, "LINE", f"was called: {request.call}")
        for call in self.slack.calls:
            spoken = str(
                [call.arguments.get(name, "") for name in ("markdown_text", "blocks", "chunks")]
            )
            is_look = call.method in LOOKS and call.at in self._looks(conversation)
            if is_look or markers & set(MARKER.findall(spoken)):
                yield Event(call.at, "Slack", f"was called: {call.method}")

    def _logged(self, conversation: str) -> Iterator[Event]:
        """What the processes have logged about it."""
        for name, process in self.processes.items():
            for line in process.lines:
                if not line.startswith("{") or conversation not in line:
                    continue
                entry = json.loads(line)
                at = datetime.fromisoformat(entry.pop("timestamp")).timestamp()
                stored = {
                    key: value
                    for key, value in entry.items()
                    if key not in ("conversation", "level", "logger")
                }
                yield Event(at, name, " ".join(f"{key}={value}" for key, value in stored.items()))


def _in_line(line: LineFake) -> Iterator[Shown]:
    for sent in (
        sent for sent in line.sent if sent.messages[0]["type"] != "flex"
    ):  # a late answer's button is none
        yield Shown(
            sent.at, f"line:{line_events.BOT}:user:{sent.to}", "\n".join(sent.texts), sent.call
        )


def _in_slack(slack: SlackFake) -> Iterator[Shown]:
    for channel, messages in list(slack.messages.items()):
        for message in filter(is_own, list(messages)):
            thread = (
                f":{message['thread_ts']}" if channel[0] == "C" and "thread_ts" in message else ""
            )
            conversation = f"slack:{slack_events.TEAM}:{channel}{thread}"
            delivery = message.get("metadata", {}).get("event_payload", {}).get("id", "")
            yield Shown(
                slack.written_at[message["ts"]], conversation, show(message), "post", delivery
            )
