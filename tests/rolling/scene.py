"""The world of the fixtures: what people wish, what the model does, and the tools it has."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from bot.cli.new_tool import write_tool
from tests.chaos.model import unanswered
from tests.chaos.talk import MARKER
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, answer_of
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fixtures_fakes import everything_on

JSON = dict[str, Any]

# People by what has become of their messages when the earlier version ends; even numbers are in LINE, odd in Slack.
ANSWERED = (0, 1)
SUMMARISED = 2  # has had a long conversation
AT_THE_LIMIT = 4  # of messages in a day
DEAD_LETTER = 5  # the answer was refused
ASKED = (6, 7)  # for an approval
BEGUN = (8, 9)  # the model has not answered yet; a further message waits
IN_A_CALL = (10, 11)  # one of two calls has its result
WITH_RESULTS = (12, 13)  # the model has not answered them yet
IN_A_UNIQUE_CALL = (14, 15)  # that must not be made again
UNSENT = 16  # the second of two messages was taken back meanwhile
EDITED = 17  # the message has been changed meanwhile
JOINED = (18, 19)  # a second message has joined the turn after its calls
UNDELIVERED = (20, 21)  # the answer is written, and was sent to a platform that has not got it
UNCONFIRMED = (22, 23)  # the answer is shown, without a word from the platform
ACCEPTED = (24, 25)  # two messages, and nobody has begun

DAILY_MESSAGES = 6
NOTES = "They like tea."
LONG = "something long: " + "words without end " * 150
SHOUT, STAMP, LOOK, BOTH = "shout", "stamp", "look", "calculate and look"


def settings(line: LineFake, slack: SlackFake, gemini: GeminiFake, store_url: str, folder: Path) -> Mapping[str, str]:
    """Everything on, with little room for history and few messages a day."""
    return {
        "REDIS_URL": store_url,
        **everything_on(line, slack, gemini),
        "HISTORY_TOKENS": "1000",
        "DAILY_USER_MESSAGES": str(DAILY_MESSAGES),
        "TOOLS_DIR": str(write_tools(folder)),
    }


def write_tools(folder: Path) -> Path:
    """An operator's tools, which write down each call: ``shout`` acts; the others wait until a file has the name they
    are given, and ``stamp`` must not be called twice."""
    for name in (SHOUT, STAMP, LOOK):
        file = write_tool(name, folder / "tools").tool
        source = file.read_text("utf-8").replace("import annotations\n", "import annotations\n\nimport asyncio\n", 1)
        noted = f"with open({str(folder / 'calls')!r}, 'a') as file:\n            file.write(f'{name} {{text}}\\n')\n"
        waits = f"        while not __import__('pathlib').Path({str(folder)!r}, text).exists():\n"
        waits += "            await asyncio.sleep(0.01)\n"
        source = source.replace("return {", f"{noted}{'' if name == SHOUT else waits}        return {{")
        if name == SHOUT:
            source = source.replace('] = "low"', '] = "high"')
        if name == STAMP:
            source = source.replace("    Config:", "    idempotent: ClassVar[bool] = False\n    Config:", 1)
        file.write_text(source, "utf-8")
    return folder / "tools"


def task_of(person: int) -> str:
    """The argument of calls for a person; it is no marker, as it stands in questions."""
    return f"task-{person}"


def calls_in(folder: Path) -> list[str]:
    """The calls of these tools so far."""
    path = folder / "calls"
    return path.read_text("utf-8").splitlines() if path.exists() else []


class Model:
    """Calls the tools that a message names, then answers with the markers of all messages since its last answer.

    Attributes:
        gate: its answers go out when this is set, calls at once.
    """

    def __init__(self, gemini: GeminiFake) -> None:
        self.gate = Event()
        gemini.always = self.answer

    def hold(self) -> None:
        """Answer nobody from now on."""
        self.gate = Event()

    def answer(self, body: JSON) -> Answer:
        """What it says to a request."""
        words, has_called = unanswered(body)
        if "<transcript>" in words:
            return answer_of([{"text": NOTES}])
        markers = MARKER.findall(words)
        named = [tool for tool in (SHOUT, STAMP, LOOK) if tool in words]
        if named and not has_called:
            both = [_call("calculate", expression="6 * 7")] if BOTH in words else []
            person = int(markers[0][1:].partition("n")[0])
            return answer_of([*both, *(_call(tool, text=task_of(person)) for tool in named)])
        return replace(answer_of([{"text": f"{' '.join(markers)}: answered."}]), gate=self.gate)


def _call(name: str, **arguments: str) -> JSON:
    return {"functionCall": {"name": name, "args": arguments, "id": secrets.token_hex(4)}, "thoughtSignature": ""}
