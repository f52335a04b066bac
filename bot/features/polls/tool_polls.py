"""The polls of one place for tools."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from bot.features.polls.poll import PREFIX, Poll
from bot.features.polls.store import OPEN_POLLS, StoredPolls
from bot.pipeline.feature import store_errors_for_model
from bot.safe_text.glyphs import one_line
from bot.texts import language_of
from bot.transcript import encode
from toolset.tool import ToolError

NO_WORDS = "invalid parameters: write the question and at least two different options in words"
FULL = (
    f"not started: {OPEN_POLLS} polls are open here already; who started one can close it by its "
    "button"
)
ONE = "not started: one poll in an answer; start the other one when you are asked again"


class ToolPolls:
    """The polls of one place, for the tool that starts them.

    Args:
        stored_in: the conversation that keeps them.
        language: where the question shows none.
    """

    def __init__(self, polls: StoredPolls, stored_in: str, author: str, language: str) -> None:
        self._polls = polls
        self._stored_in = stored_in
        self._author = author
        self._language = language
        self._started = ""

    async def start(
        self, question: str, options: Sequence[str], *, multiple: bool, idempotency_key: str
    ) -> str:
        """Start a poll; its id.

        Raises:
            ToolError: no visible words, an option twice, a second poll in a turn, too many open
                ones, or no store.
        """
        asked, lines = one_line(question), tuple(one_line(option) for option in options)
        if not asked or not all(lines) or len({line.casefold() for line in lines}) < len(lines):
            raise ToolError(NO_WORDS)
        poll_id = f"{PREFIX}{sha256(idempotency_key.encode()).hexdigest()[:32]}"
        if self._started not in ("", poll_id):
            raise ToolError(ONE)
        language = language_of(asked, self._language)
        body = encode(Poll(poll_id, asked, lines, multiple=multiple, language=language))
        self._started = (
            poll_id  # before the store answers, as the calls of a response run side by side
        )
        is_stored = False
        try:
            async with store_errors_for_model():
                is_stored = await self._polls.start(
                    self._stored_in,
                    poll_id,
                    self._author,
                    body,
                    options=len(lines),
                    multiple=multiple,
                )
        finally:
            self._started = poll_id if is_stored else ""
        if not is_stored:
            raise ToolError(FULL)
        return poll_id
