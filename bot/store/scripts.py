"""The Lua scripts in ``lua/``: each changes one conversation, as a whole or not at all.

A script is put together from its file's first line, local names of keys and constants, the
definitions of
``shared.lua`` and the rest of its file; it gets only what it uses. ``ARGV[1]`` is the conversation,
``ARGV[2]`` the fencing token of a fenced script.

A full store refuses a script without the flag ``allow-oom``. Only ``accept``, ``remind``,
``summarise``, ``start_poll`` and ``vote`` lack it: a full store accepts nothing new, but accepted
work is finished.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, get_args

from redis.exceptions import ResponseError

from bot.errors import LeaseLost, MessagesChanged
from bot.store.clients import Client, translate_errors
from bot.store.keys import (
    ANSWERED_S,
    BACKGROUND_MESSAGES,
    BACKGROUND_S,
    DEAD_LETTERS,
    DEAD_S,
    EARLY_EDITS,
    EARLY_S,
    HISTORY_BYTES,
    HISTORY_SHARE,
    INBOX_BYTES,
    INBOX_ENTRIES,
    INBOX_FEW,
    INDEX_S,
    INTERPRETER_S,
    LATE_ANSWERS,
    MOMENT_S,
    POLL_S,
    REMINDER_S,
    SCRIPT_KINDS,
    SEEN_S,
    WORK_S,
    Keys,
)

Name = Literal[
    "accept",
    "acquire",
    "open",
    "release",
    "begin",
    "give_back",
    "join",
    "record",
    "commit",
    "reopen",
    "replace_head",
    "amend",
    "split_head",
    "remove_head",
    "move_head_to_dead_letters",
    "recall",
    "summarise",
    "rewrite",
    "purge",
    "erase",
    "withdraw",
    "forget",
    "shorten",
    "fail",
    "revive",
    "post",
    "reopen_older",
    "remind",
    "ring",
    "amend_reminder",
    "drop_reminders",
    "start_poll",
    "vote",
    "show_poll",
    "keep_head",
    "remove_late",
    "hear",
]
NAMES: tuple[Name, ...] = get_args(Name)
# The keys of two message ids, of the first one's index entry, and of a poll:
SEEN, CHANGED, INDEX_ENTRY, POLL = "seen", "changed", "index_entry", "poll"
REFUSALS = {"LEASELOST": LeaseLost, "MESSAGESCHANGED": MessagesChanged}  # by what scripts say

Argument = str | int | bytes


class Script(NamedTuple):
    """A script's text, and the kinds of the keys it gets."""

    text: str
    kinds: Sequence[str]


class Scripts:
    """Runs scripts by name.

    Args:
        history_s: seconds a history lives after its last turn.
    """

    def __init__(self, client: Client, history_s: int) -> None:
        self._client = client
        self._scripts = {name: _read(name, history_s) for name in NAMES}

    async def run(
        self,
        name: Name,
        conversation: str,
        *arguments: Argument,
        message_id: str = "",
        changed_id: str = "",
        poll_id: str = "",
    ) -> Any:
        """Run a script on a conversation.

        Args:
            message_id: for scripts that use its seen-key or its index entry.
            changed_id: of another message, likewise.
            poll_id: for scripts that use its key.

        Raises:
            LeaseLost: the script is fenced and its token is not the lease's.
            MessagesChanged: from ``commit``.
            StoreUnavailable: see ``translate_errors``.
        """
        script, keys = self._scripts[name], Keys(conversation)
        others = {
            SEEN: lambda: keys.seen(message_id),
            CHANGED: lambda: keys.seen(changed_id),
            INDEX_ENTRY: lambda: keys.message(message_id),
            POLL: lambda: keys.poll(poll_id),
        }
        names = [others[kind]() if kind in others else keys.of(kind) for kind in script.kinds]
        async with translate_errors():
            try:
                return await self._client.eval(
                    script.text, len(names), *names, conversation, *arguments
                )
            except ResponseError as error:
                if (refusal := REFUSALS.get(str(error))) is not None:
                    raise refusal(conversation) from error
                raise


@cache
def _read(name: Name, history_s: int) -> Script:
    folder = files(__package__) / "lua"
    constants = {
        "SEEN_S": SEEN_S,
        "WORK_S": WORK_S,
        "ANSWERED_S": ANSWERED_S,
        "MOMENT_S": MOMENT_S,
        "INDEX_S": INDEX_S,
        "REMINDER_S": REMINDER_S,
        "POLL_S": POLL_S,
        "BACKGROUND_S": BACKGROUND_S,
        "INTERPRETER_S": INTERPRETER_S,
        "BACKGROUND_MESSAGES": BACKGROUND_MESSAGES,
        "HISTORY_S": history_s,
        "DEAD_S": DEAD_S,
        "DEAD_LETTERS": DEAD_LETTERS,
        "LATE_ANSWERS": LATE_ANSWERS,
        "EARLY_EDITS": EARLY_EDITS,
        "EARLY_S": EARLY_S,
        "INBOX_ENTRIES": INBOX_ENTRIES,
        "INBOX_BYTES": INBOX_BYTES,
        "INBOX_FEW": INBOX_FEW,
        "HISTORY_BYTES": HISTORY_BYTES,
        "HISTORY_SHARE": HISTORY_SHARE,
    }
    first_line, _, body = (folder / f"{name}.lua").read_text("utf-8").partition("\n")
    for definition in reversed((folder / "shared.lua").read_text("utf-8").split("\n\n")):
        if _defined_by(definition) in _words(body):
            body = f"{definition}\n{body}"
    kinds = [
        kind for kind in (*SCRIPT_KINDS, SEEN, CHANGED, INDEX_ENTRY, POLL) if kind in _words(body)
    ]
    values = [
        f"local {constant} = {value}"
        for constant, value in constants.items()
        if constant in _words(body)
    ]
    return Script(
        "\n".join([first_line, f"local {', '.join(kinds)} = unpack(KEYS)", *values, body]), kinds
    )


def _defined_by(definition: str) -> str:
    """The name that a part of ``shared.lua`` defines."""
    return str(re.findall(r"^local (?:function )?(\w+)", definition, re.MULTILINE)[0])


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", re.sub("--.*", "", text)))
