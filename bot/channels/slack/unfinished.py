"""The words of an answer on their way into a stream, which takes what is added and gives nothing back."""

from __future__ import annotations

from bot.channels.slack.splitting import LIMIT
from bot.channels.slack.words import harmless, open_tag
from bot.channels.utf16 import head, units

ENOUGH = 80  # characters; a shorter answer is there as fast in one piece
BREAK = "\n\n"


class Unfinished:
    """What has been written and not been shown.

    Attributes:
        is_void: all that was said has been taken back.
    """

    def __init__(self) -> None:
        self.is_void = False
        self._pieces: list[str] = []
        self._length = 0
        self._shown = 0

    @property
    def is_enough(self) -> bool:
        """Whether it is worth beginning to show."""
        return self._length >= ENOUGH

    def add(self, text: str) -> None:
        """More words."""
        self._pieces.append(text)
        self._length += len(text)
        self.is_void = False

    def pause(self) -> None:
        """What was said so far was no answer yet: it is left out, or ends its paragraph where it can be seen."""
        self._wait("".join(self._pieces).rstrip() + BREAK if self._shown else "")

    def restart(self) -> None:
        """What was said so far is void: what can be seen of it ends its paragraph."""
        self._wait(BREAK if self._shown else "")
        self.is_void = True

    def take(self) -> str:
        """The words that may be shown now, no more in all than one message holds."""
        waiting = "".join(self._pieces)
        if not waiting.strip():
            return ""
        ready = waiting[: open_tag(waiting)]
        self._wait(waiting[len(ready) :])
        words = head(harmless(ready), LIMIT - self._shown)
        self._shown += units(words)
        return words

    def _wait(self, text: str) -> None:
        self._pieces, self._length = [text], len(text)
