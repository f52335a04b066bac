"""The Protocol of a channel: routes for what comes in, delivery for what goes out.

``registry`` lists the packages that implement it. Everybody else knows only this Protocol.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct
from starlette.routing import BaseRoute

from bot.clock import now_ms
from bot.live_events import Watcher
from bot.safe_text.arguments import render_arguments
from bot.texts import Texts
from bot.transcript import FileRef, Media, Message
from toolset.shown import Card

MOST_FILES = 4  # of one tool call, and of one answer


class Question(Struct, frozen=True, omit_defaults=True):
    """A tool call that waits for a person's approval.

    Attributes:
        id: a decision carries it.
        arguments: of the call, exactly as the tool will get them.
        asker: display name of the person who asked for the call; may be empty.
        asker_id: the platform's id of that person, who alone decides.
        until: when the question expires, milliseconds since the epoch.
        title: the tool's name for people; may be empty.
        labels: names of arguments for people.
        remarks: sentences to show apart from the arguments: the model's reason, the votes of reviewers.
    """

    id: str
    call_id: str
    tool: str
    arguments: dict[str, Any]
    asker: str = ""
    asker_id: str = ""
    until: int = 0
    title: str = ""
    labels: dict[str, str] = {}
    remarks: tuple[str, ...] = ()

    @property
    def shown_tool(self) -> str:
        """The tool's title with its name, which alone is unique."""
        return f"{self.title} ({self.tool})" if self.title else self.tool

    @property
    def shown_arguments(self) -> str:
        """The arguments, one a line, safe to show."""
        return render_arguments(self.arguments, self.labels)


class Poll(Struct, frozen=True, omit_defaults=True):
    """A poll as it stands.

    Attributes:
        kept_in: the conversation whose outbox shows it anew; a press carries it.
        options: each with its number of votes in ``counts``, in the same order.
        voters: number of people.
        multiple: a voter may choose several options.
        language: of the sentences around it.
    """

    id: str
    kept_in: str
    question: str
    options: tuple[str, ...]
    counts: tuple[int, ...] = ()
    voters: int = 0
    multiple: bool = False
    is_closed: bool = False
    language: str = "en"


class Fetch(Struct, frozen=True):
    """A press of the button for late answers.

    Attributes:
        conversation: whose late answers are meant.
        language: of the sentence if there are none.
    """

    conversation: str
    language: str


class Reply(Struct, frozen=True, omit_defaults=True):
    """One answer of a turn, before the channel formats it.

    Attributes:
        text: Markdown of the model, or a sentence of the catalogue.
        failed: the text is an apology.
        note: cause and fix, for channels whose reader is the operator.
        question: the text asks it; a channel with buttons adds them. A typed yes or no answers it too.
        settles: id of a question that has been decided; the text is the outcome. A channel that cannot change a sent
            message sends nothing. Of a poll: it has changed, and ``poll`` is filled in when it is sent.
        poll: is shown below the text with a button for each option; with ``settles`` it replaces what was shown.
        model: that wrote the text; empty for a sentence of the catalogue. A channel may ask what people think of it.
        private: for one person alone, where the channel can do that.
        fleeting: if it cannot be delivered it is dropped; it does not become a dead letter.
        takes_back: unless None, the messages of these deliveries and the stream of the delivery's turn are deleted, and
            nothing is sent. Only for channels that can; earlier versions go by ``settles`` and send nothing either.
        files: shown below the text, or told in words where that is impossible.
        kind: a greeting or the help; a channel with buttons may add suggestions.
        fetched_by: id of a person whose answer is late; the text says so, and a channel with buttons adds one that
            fetches the answer.
        fetches: of a press of that button; what it fetches is looked up when it is sent.
        cards: shown below the text, or told in words where that is impossible.
        choices: short texts that the person may press instead of writing; a press is their message.
        free: it is sent as long as that costs nothing, and otherwise dropped.
    """

    text: str
    failed: bool = False
    note: str = ""
    question: Question | None = None
    settles: str = ""
    private: bool = False
    kind: Literal["", "greeting", "help"] = ""
    fleeting: bool = False
    files: tuple[FileRef, ...] = ()
    poll: Poll | None = None
    free: bool = False
    model: str = ""
    takes_back: tuple[str, ...] | None = None
    fetched_by: str = ""
    fetches: Fetch | None = None
    cards: tuple[Card, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def told_choices(self) -> str:
        """The choices in words, one a line; empty without any."""
        return "\n".join(f"・{choice}" for choice in self.choices)


class LateAnswer(Struct, frozen=True):
    """A delivery that is kept until its asker fetches it.

    Attributes:
        kept_in: the conversation that keeps it.
        id: of the delivery; empty: there was none, and the press got a sentence.
    """

    kept_in: str
    id: str = ""


class Delivery(Struct, frozen=True, omit_defaults=True):
    """A reply in the outbox.

    Attributes:
        id: made with the turn, the same at every attempt.
        address: what the channel needs to send it (reply token and its age, thread …); the channel's own JSON.
        attempts: number of attempts, with the one under way.
        refusals: number of attempts that ended with ``TokenRefused``.
        refused_since: time of the first of these, milliseconds since the epoch.
        not_before: time before which no attempt is made, milliseconds since the epoch.
        asker: the platform's id of the person who is answered; ``/forget`` finds the delivery by it.
        failures: number of attempts that ended with an unforeseen exception.
        answers: ids of the answered messages; when these change, the delivery is void.
        late: what a press of a button has been found to fetch. It stays where it is kept until it has arrived.
        more_late: other answers to the asker are kept; a channel with buttons offers to fetch them.
    """

    id: str
    turn_id: str
    reply: Reply
    address: str = ""
    attempts: int = 0
    refusals: int = 0
    refused_since: int = 0
    not_before: int = 0
    asker: str = ""
    failures: int = 0
    answers: tuple[str, ...] = ()
    late: LateAnswer | None = None
    more_late: bool = False


class InboundEvent(Struct, frozen=True, omit_defaults=True):
    """An event in the inbox.

    Attributes:
        message: the text; for other events an empty message with the event's own id, author and time.
        address: where the answer goes (reply token and its age, thread …); the channel's own JSON.
        group: several people read the conversation.
        event: ``message`` is for the model; ``edited`` replaces the text of message ``target``; ``unsent`` deletes
            message ``target``; ``told`` gets the canned answer ``target`` (a key of the catalogue); ``left`` deletes
            the conversation and everything stored of it; ``stop`` ends the turn under way; ``decision`` answers
            question ``target`` with ``approved``; ``vote`` presses a button of poll ``target``, ``fetch`` the button
            for late answers of conversation ``target``, and neither gets into an inbox.
        album: id of a set of ``album_size`` images that were sent together; they make one question.
        reminder: the event is a reminder of the author whose time has come. The text of one that is ``due``, ``late``
            or ``missed`` is shown; a ``routine`` or a ``late_routine`` is a message for the model. ``target`` is the
            reminder's id. Processes of an older version take it for a message.
        planned_at: of a reminder, milliseconds since the epoch.
        left_out: the event replaces messages that a full inbox did not take. Its answer says so, and ``target`` is
            only for processes of an older version.
        choice: of a vote, the number of an option, from 1; 0 closes the poll. Of a message, the number of the choice
            that was pressed, if the platform tells it from words: then it decides no question.
        courtesy: what a message without words says and asks nothing with, such as a sticker; a row of the catalogue's
            table ``courtesy``.
        quotes: id of the message that this one quotes.
        unmentioned: several people read the conversation, and the message does not call the bot. Processes of an older
            version take it for a message to the bot.
    """

    message: Message
    address: str = ""
    group: bool = False
    event: Literal["message", "edited", "unsent", "told", "left", "stop", "decision", "vote", "fetch"] = "message"
    target: str = ""
    approved: bool = False
    album: str = ""
    album_size: int = 0
    left_out: bool = False
    reminder: Literal["", "due", "late", "missed", "routine", "late_routine"] = ""
    planned_at: int = 0
    choice: int = 0
    courtesy: str = ""
    quotes: str = ""
    unmentioned: bool = False

    @property
    def is_change(self) -> bool:
        """Whether it changes message ``target``."""
        return self.event in ("edited", "unsent")

    @property
    def is_routine(self) -> bool:
        return self.reminder.endswith("routine")

    @property
    def author_id(self) -> str:
        """The platform's id of the author; empty if unknown."""
        return self.message.author.id if self.message.author else ""


Take = Callable[[bytes], bool]  # takes the next piece of a file; false if no more of it is wanted
AssertLease = Callable[[], Awaitable[None]]  # raises LeaseLost if another process holds the conversation now


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

    async def set(self, name: str, value: bytes, ttl_s: int) -> None:
        """Store a value for ``ttl_s`` seconds."""
        ...

    def set_later(self, name: str, value: bytes, ttl_s: int) -> None:
        """The same with the process's next request; a failure is not reported."""
        ...

    async def incr(self, name: str, ttl_s: int) -> int:
        """Add one to a count and return it; its lifetime begins anew."""
        ...


class Files(Protocol):
    """The files of tool calls, for a day.

    Every method raises ``StoreUnavailable`` if the store does not answer.
    """

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

    async def read(self, file: FileRef) -> bytes | None:
        return None

    async def path(self, file: FileRef) -> str:
        return ""

    async def url(self, file: FileRef) -> str:
        return ""


NO_FILES = NoFiles()


class KeptItem(NamedTuple):
    """A reminder or a fact of a person.

    Attributes:
        key: names it to ``Overviews``.
        place: the conversation, or what ``Channel.place`` says of it.
    """

    key: str
    text: str
    place: str


class Overview(NamedTuple):
    """What one person has used today, and what is kept for them.

    Attributes:
        usage: sentences of the catalogue.
    """

    usage: str
    reminders: Sequence[KeptItem]
    facts: Sequence[KeptItem]


class Overviews(Protocol):
    """Reads and deletes what is kept for a person, wherever they talk to the bot.

    Every method raises ``StoreUnavailable`` if the store does not answer. The person is the author of ``event``, whose
    profile gives language and time zone; ``conversation`` is their 1:1.
    """

    async def read(self, conversation: str, event: InboundEvent) -> Overview:
        """Everything, as it is now."""
        ...

    async def cancel_reminder(self, conversation: str, event: InboundEvent, key: str) -> bool:
        """Cancel a reminder; false if the person has none with this key."""
        ...

    async def forget_fact(self, conversation: str, event: InboundEvent, key: str) -> bool:
        """Delete a fact; false if the person has none with this key."""
        ...


class Accept(Protocol):
    """Takes an event in: durable before it returns, then enqueued."""

    async def __call__(self, conversation: str, event: InboundEvent, /) -> bool:
        """Accept one event; false if its id was seen before.

        Raises:
            StoreUnavailable: the event is not stored, and the platform must send it again.
        """
        ...


class Notify(Protocol):
    """Sends the operator an alert, at most one a day for each cause. Never raises."""

    async def __call__(self, cause: Any, *, platform: str = "") -> None:
        """Send one alert.

        Args:
            cause: a key of the catalogue's table ``alert``.
            platform: the channel the alert is about; the alert is not sent through it.
        """
        ...


async def notify_nobody(cause: Any, *, platform: str = "") -> None:
    """Send no alert (``Notify``)."""


class Rating(Struct, frozen=True):
    """What a person thinks of an answer.

    Attributes:
        place: where the answer is (``Channel.place``).
        person: the platform's id.
        model: that wrote the answer.
        answered_at: time of the answer, milliseconds since the epoch; every rating of the answer has the same.
        at: time of the press by the same clock; of two, the later one counts.
    """

    turn_id: str
    place: str
    person: str
    model: str
    is_good: bool
    answered_at: int
    at: int


class Rate(Protocol):
    """Keeps ratings."""

    async def __call__(self, rating: Rating, /) -> bool:
        """Keep a rating; false if it says nothing new.

        Raises:
            StoreUnavailable: it is not kept.
        """
        ...


async def keep_no_rating(rating: Rating, /) -> bool:
    """Keep nothing (``Rate``)."""
    return False


Listens = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Host:
    """What a channel gets from Kaiwa.

    Attributes:
        accept: takes events in.
        kv: small values, shared by all processes.
        priority_kv: the same values through a connection that no turn uses, for reads before a webhook is answered.
        language: of catalogue sentences, where the user's text shows none.
        tool_commands: the words that call a tool after a slash.
        listens: a channel without a webhook connects to its platform while it holds this context; of the processes that
            share a port one does. None: this process takes no messages in.
        files: of tool calls.
        clock: milliseconds since the epoch by the store's clock, which all processes share.
        rate: keeps what people think of answers.

        days: how long conversations are kept.
        overviews: None: only checks run.
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
    files: Files = NO_FILES
    clock: Callable[[], int] = now_ms
    rate: Rate = keep_no_rating
    days: int = 30
    overviews: Overviews | None = None


class KnownQuote(NamedTuple):
    """What a channel knows of a quoted message by its id alone.

    Attributes:
        turn_id: of the turn that it answered, if it is ours.
        picture: that it consists of.
    """

    turn_id: str = ""
    picture: Media | None = None


NOTHING_KNOWN = KnownQuote()


class Recipient(NamedTuple):
    """Whom ALERT_TO may name behind a channel's name and a colon.

    Attributes:
        pattern: of the platform's id, as a regular expression.
        example: for operators.
    """

    pattern: str
    example: str


class Channel(Protocol):
    """A platform on which people talk to the bot.

    Attributes:
        name: first word of its conversations' ids.
        style: how to write on this platform, for the system prompt; the same bytes in every turn.
        is_prompt: a message that arrives while a question is open answers it, as at a terminal's prompt. Elsewhere
            people may write it before they see the question.
        takes_back: it can delete what it has sent.
        poll_pause_s: the least time between two messages or changes of a message that show how a poll stands.
    """

    name: str
    style: str
    is_prompt: bool = False
    takes_back: bool = False
    poll_pause_s: float = 0.0

    @abstractmethod
    def routes(self) -> Sequence[BaseRoute]:
        """What the web server mounts for this channel."""

    @abstractmethod
    def live_view(self, conversation: str, address: str) -> AbstractAsyncContextManager[Watcher]:
        """A watcher that shows a running turn; what it shows as under way ends with the context."""

    @abstractmethod
    async def deliver(self, conversation: str, delivery: Delivery, assert_lease: AssertLease) -> int | None:
        """Send one reply; returning means delivered.

        Args:
            assert_lease: is called before every request that sends; the first may do without if it is made at once.

        Returns:
            When a question was shown, milliseconds since the epoch by the clock that dates people's messages; None if
            the platform does not say, and for other replies.

        Raises:
            DeliverLater: a passing failure.
            DeliverOnPress: only a press of its asker's button could bring it.
            DeliveryRefused: a final failure.
            LeaseLost: from ``assert_lease``.
        """

    def place(self, conversation: str) -> str:
        """Where a conversation is held, by which a person's facts are kept: conversations beside it may share it."""
        return conversation

    def polls_of(self, conversation: str) -> str:
        """The conversation that keeps the polls of a place, and whose outbox shows their votes.

        Where answers must not wait for these it is one in which nobody writes.
        """
        return conversation

    def shows_polls(self, address: str) -> bool:
        """Whether the answer to a message of this address can bring a poll on which people vote."""
        return True

    def fetches_of(self, conversation: str) -> str:
        """The conversation whose outbox answers presses of the button for late answers; one in which nobody writes.

        Empty where an answer can be sent at any time: then there is no such button.
        """
        return ""

    def time_left(self, address: str) -> float | None:
        """Seconds until an answer can no longer use the address's token, which may then be spent on a message with the
        button for late answers; None where there is no token, or it has expired."""
        return None

    def current(self, address: str) -> str:
        """The address of an answer that is ready now: without a token whose time is over."""
        return address

    def prefetch(self, conversation: str, author: str) -> None:
        """Read what ``enrich`` will need for a message of this author."""
        return

    async def enrich(self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool) -> list[InboundEvent]:
        """Look up what the events lack: names, time zones, earlier messages of the thread.

        Never raises: what cannot be looked up is left out.

        Args:
            is_new: the conversation has no history yet.
        """
        return list(arrivals)

    def lasting(self, address: str) -> str:
        """What is left of a message's address when something is to be sent there much later."""
        return address

    async def reaches(self, conversation: str) -> bool:
        """Whether a message that answers nobody would be delivered there, as far as that is known. Never raises."""
        return True

    def hears_all(self, conversation: str) -> bool:
        """Whether a message there need not call the bot."""
        return True

    async def prepare(self, media: Media) -> None:
        """Wait until ``fetch`` need not wait, as for a recording that the platform converts. Never raises."""
        return

    def shows_whole(self, question: Question) -> bool:
        """Whether the message of a question shows the whole call, so that a written yes may approve it."""
        return True

    def overhears(self, conversation: str) -> bool:
        """Whether messages there that do not call the bot are passed on too, marked as unmentioned."""
        return False

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        """Pass the content of a file to ``take``, piece by piece. Never raises.

        Returns:
            Whether the whole content was passed on; False if it is gone or of another type, or ``take`` ended it.
        """
        return False

    async def find_quoted(self, conversation: str, message_id: str) -> KnownQuote:
        """Look up a quoted message that the history does not hold. Never raises."""
        return NOTHING_KNOWN

    def notice_target(self, recipient: str) -> tuple[str, str]:
        """The conversation and the address for a notice to somebody who has not written.

        People never write in that conversation, so a notice waits for no turn.

        Args:
            recipient: the platform's id of a person, group or channel.
        """
        return f"{self.name}:notices:{recipient}", ""

    def split(self, reply: Reply) -> list[Reply]:
        """The reply in pieces that are sent as one message each, so that each is delivered once."""
        return [reply]
