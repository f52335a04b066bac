"""The Lua scripts in ``lua/``: each changes one conversation, as a whole or not at all.

A script is put together from its file's first line, local names of keys and constants, ``shared.lua``, and the rest of
its file. ``ARGV[1]`` is the conversation, ``ARGV[2]`` the fencing token of a fenced script.

A full store refuses a script without the flag ``allow-oom``. Only ``accept`` and ``summarise`` lack it: a full store
accepts nothing new, but accepted work is finished.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Literal, get_args

from redis.exceptions import ResponseError

from bot.errors import LeaseLost
from bot.store.clients import Client, translate_errors
from bot.store.keys import (
    DEAD_LETTERS,
    DEAD_S,
    HISTORY_BYTES,
    HISTORY_SHARE,
    INBOX_BYTES,
    INBOX_ENTRIES,
    INBOX_FEW,
    INDEX_S,
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
    "replace_head",
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
]
NAMES: tuple[Name, ...] = get_args(Name)

Argument = str | int | bytes


class Scripts:
    """Runs scripts by name.

    Args:
        history_s: seconds a history lives after its last turn.
    """

    def __init__(self, client: Client, history_s: int) -> None:
        self._client = client
        self._scripts = {name: _read(name, history_s) for name in NAMES}

    async def run(self, name: Name, conversation: str, *arguments: Argument, message_id: str = "") -> Any:
        """Run a script on a conversation.

        Args:
            message_id: its seen-key is the script's last key.

        Raises:
            LeaseLost: the script is fenced and its token is not the lease's.
            StoreUnavailable: see ``translate_errors``.
        """
        keys = Keys(conversation)
        names = (*keys.for_scripts, keys.seen(message_id))
        async with translate_errors():
            try:
                return await self._client.eval(self._scripts[name], len(names), *names, conversation, *arguments)
            except ResponseError as error:
                if str(error) == "LEASELOST":
                    raise LeaseLost(conversation) from error
                raise


def _read(name: Name, history_s: int) -> str:
    folder = files(__package__) / "lua"
    constants = {
        "SEEN_S": SEEN_S,
        "WORK_S": WORK_S,
        "INDEX_S": INDEX_S,
        "HISTORY_S": history_s,
        "DEAD_S": DEAD_S,
        "DEAD_LETTERS": DEAD_LETTERS,
        "INBOX_ENTRIES": INBOX_ENTRIES,
        "INBOX_BYTES": INBOX_BYTES,
        "INBOX_FEW": INBOX_FEW,
        "HISTORY_BYTES": HISTORY_BYTES,
        "HISTORY_SHARE": HISTORY_SHARE,
    }
    first_line, _, body = (folder / f"{name}.lua").read_text("utf-8").partition("\n")
    names = f"local {', '.join(SCRIPT_KINDS)}, seen = unpack(KEYS)"
    values = f"local {', '.join(constants)} = {', '.join(map(str, constants.values()))}"
    shared = (folder / "shared.lua").read_text("utf-8")
    return "\n".join([first_line, names, values, shared, body])
