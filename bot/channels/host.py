"""What a channel gets from Kaiwa."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bot.channels.places import SettingsOf, as_everywhere
from bot.clock import now_ms
from bot.texts import Texts
from bot.transcript import FileRef, channel_named

if TYPE_CHECKING:
    from bot.channels import InboundEvent


class KeyValue(Protocol):
    """Small named values with a lifetime, which processes share.

    Every method raises ``StoreUnavailable`` if the store does not answer.
    """

    def prefetch(self, name: str) -> None:
        """Read a value with the process's next request, for a ``get`` that follows soon."""
        ...

    async def get(self, name: str) -> bytes | None:
        """The value, or None if there is none or it has expired."""
        ...

    async def set(self, name: str, value: bytes, ttl_s: int, person: str = "") -> None:
        """Store a value for ``ttl_s`` seconds.

        Args:
            person: channel and id of somebody with whom it is forgotten. The names
                ``profile:{person}``, ``member:{person}``, ``direct:{person}``,
                ``newest_card:{person}`` and ``card:{conversation}`` say it themselves; the
                store holds digests of all names.
        """
        ...

    def set_later(self, name: str, value: bytes, ttl_s: int, person: str = "") -> None:
        """The same with the process's next request; a failure is not reported."""
        ...

    async def incr(self, name: str, ttl_s: int) -> int:
        """Add one to a count and return it; its lifetime begins anew."""
        ...


class Files(Protocol):
    """The files of tool calls, for a day.

    Every method raises ``StoreUnavailable`` if the store does not answer.

    Attributes:
        public_url: PUBLIC_URL; may be empty.
    """

    public_url: str

    async def read(self, file: FileRef) -> bytes | None:
        """The content; None if it is gone."""
        ...

    async def path(self, file: FileRef) -> str:
        """Where this server serves the file; empty if it was not stored."""
        ...

    async def url(self, file: FileRef) -> str:
        """The same for everybody on the internet; empty without PUBLIC_URL."""
        ...


class NoFiles:
    """Has no file (``Files``)."""

    public_url = ""

    async def read(self, file: FileRef) -> bytes | None:
        return None

    async def path(self, file: FileRef) -> str:
        return ""

    async def url(self, file: FileRef) -> str:
        return ""


NO_FILES = NoFiles()


class Upload(NamedTuple):
    """A file that somebody has uploaded."""

    mime: str
    data: bytes


class Uploads(Protocol):
    """The files that people upload to a conversation, for a day; a ``ref`` names one within its
    conversation only.

    Every method raises ``StoreUnavailable`` if the store does not answer.
    """

    async def keep(self, conversation: str, ref: str, upload: Upload) -> None:
        """Store a file, or the same again."""
        ...

    async def read(self, conversation: str, ref: str) -> Upload | None:
        """A file; None if its day is over, or it had to make room."""
        ...


class KeptItem(NamedTuple):
    """Something that a feature keeps for a person.

    Attributes:
        key: names it to ``Overviews``.
        place: the conversation, or its ``Place``.
    """

    key: str
    text: str
    place: str


class Confirmation(NamedTuple):
    """A question before something that cannot be undone, and the labels of its two buttons."""

    title: str
    text: str
    confirm: str
    deny: str


class KeptCommand(NamedTuple):
    """A command about all that is kept for a person, which a button gives in their 1:1.

    Attributes:
        given: is shown from then on, in place of all sections.
    """

    words: str
    question: Confirmation
    given: str


class KeptSection(NamedTuple):
    """What one feature shows a person about themselves.

    Attributes:
        empty: stands there where there are no items.
        action: of the button of each item, which deletes it; ``label`` is its text.
        word: what people write in an item's place to see all that are kept there.
        command: the section has one button, which gives it, in place of items.
    """

    title: str
    empty: str
    action: str = ""
    label: str = ""
    items: Sequence[KeptItem] = ()
    word: str = ""
    command: KeptCommand | None = None


class Overviews(Protocol):
    """Shows and deletes what a person has used today, and what is kept for them, wherever they talk
    to the bot.

    Every method raises ``StoreUnavailable`` if the store does not answer. The person is the author
    of ``event``, whose profile gives language and time zone; ``conversation`` is their 1:1.
    """

    async def overview(self, conversation: str, event: InboundEvent) -> Sequence[KeptSection]:
        """Everything, as it is now."""
        ...

    async def delete_kept(
        self, conversation: str, event: InboundEvent, action: str, key: str
    ) -> bool:
        """Delete an item; false if the person has none with this key."""
        ...


# Takes an event of a conversation in: durable before it returns, then enqueued; false if its id was
# seen before. Raises ``StoreUnavailable``: it is not stored, and the platform must send it again.
Accept = Callable[[str, "InboundEvent"], Awaitable[bool]]
# Finds the conversation of a message that was accepted as ``indexed``, by its id; empty if it is
# unknown. Raises ``StoreUnavailable``.
FindConversation = Callable[[str], Awaitable[str]]


async def find_no_conversation(message_id: str) -> str:
    """Find nothing (``FindConversation``)."""
    return ""


class Notify(Protocol):
    """Sends the operator an alert, at most one a day for each cause. Never raises."""

    async def __call__(self, cause: Any, detail: str = "", *, platform: str = "") -> None:
        """Send one alert.

        Args:
            cause: a key of the catalogue's table ``alert``.
            detail: for its sentence.
            platform: the channel the alert is about; the alert is not sent through it.
        """
        ...


async def notify_nobody(cause: Any, detail: str = "", *, platform: str = "") -> None:
    """Send no alert (``Notify``)."""


class DailyUse(NamedTuple):
    """A person's use of something that has a limit of its own a day.

    Attributes:
        what: a word of ours.
        limit: 0 is none.
        key: is counted once; empty: nothing is counted, only compared.
        amount: counts as so many uses, all of them or none.
    """

    what: str
    limit: int
    conversation: str
    author: str
    key: str = ""
    amount: int = 1


# Whether the use is within its limit; raises ``StoreUnavailable``.
MayUse = Callable[[DailyUse], Awaitable[bool]]


async def allow_use(use: DailyUse) -> bool:
    """Allow everything (``MayUse``)."""
    return True


Listens = Callable[[str], AbstractAsyncContextManager[object]]


@dataclass(frozen=True, slots=True)
class Host:
    """What a channel gets from Kaiwa.

    Attributes:
        accept: takes events in.
        kv: small values, shared by all processes.
        priority_kv: the same values through a connection that no turn uses, for reads before a
            webhook is answered.
        language: of catalogue sentences, where the user's text shows none.
        tool_commands: the words that call a tool after a slash.
        listens: a channel without a webhook connects to its platform while it holds this context,
            by the channel's name; of the processes that share a port one does. None: this process
            takes no messages in.
        is_start: Kaiwa starts with this process, which ends if a platform refuses its secrets.
        files: of tool calls.
        clock: milliseconds since the epoch by the store's clock, which all processes share.
        days: how long conversations are kept.
        overviews: None: only checks run.
        find_conversation: of a message, for events that do not name it.
        may_use: counts what has a limit a day.
        settings_of: what differs in a place.
        account: of the platform, to which the channel belongs; empty for the only one.
        named: the ids of conversations that the operator's file names, for checks.
    """

    accept: Accept
    kv: KeyValue
    priority_kv: KeyValue
    texts: Texts
    language: str = "en"
    bot_name: str = "Kaiwa"
    notify: Notify = notify_nobody
    tool_commands: Collection[str] = ()
    listens: Listens | None = None
    is_start: bool = False
    files: Files = NO_FILES
    clock: Callable[[], int] = now_ms
    days: int = 30
    overviews: Overviews | None = None
    find_conversation: FindConversation = find_no_conversation
    may_use: MayUse = allow_use
    settings_of: SettingsOf = as_everywhere
    account: str = ""
    named: Collection[str] = ()

    def channel(self, platform: str) -> str:
        """The channel's name: the first part of its conversations' ids, and of what is stored."""
        return channel_named(platform, self.account)
