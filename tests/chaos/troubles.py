"""What goes wrong at the platforms: poured over their stand-ins, to be met by whatever calls
next."""

from __future__ import annotations

from collections.abc import Callable

from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake

POST = "chat.postMessage"
STREAMS = ("chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update")
LOOKS = ("conversations.replies", "conversations.history")
CALLS = (*[POST] * 6, *STREAMS, *LOOKS, "assistant.threads.setStatus", "users.info")


def line_troubles(line: LineFake) -> dict[str, Callable[[str], None]]:
    """What can happen to a call of LINE's; ``cut`` and ``timeout`` come after the call was
    obeyed."""
    return {
        "429": lambda call: line.fail(
            call, 429, "The API rate limit has been exceeded. Try again later."
        ),
        "500": lambda call: line.fail(call, 500),
        "cut": lambda call: line.trouble(call, "cut"),
        "unheard": lambda call: line.fail(call, 503, raw=b"<html>Service Unavailable</html>"),
        "timeout": lambda call: line.trouble(call, "stalled"),
    }


def slack_troubles(slack: SlackFake) -> dict[str, Callable[[str], None]]:
    """What can happen to a call of Slack's; ``cut`` and ``timeout`` come after the call was
    obeyed."""
    return {
        "429": lambda method: slack.limit(method, 1),
        "500": lambda method: slack.break_down(method, after=True, status=500),
        "cut": lambda method: slack.hang_up(method, after=True),
        "unheard": lambda method: slack.hang_up(method),
        "timeout": lambda method: slack.stall(method, after=True),
    }
