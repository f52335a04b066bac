"""The tool contract: what a tool declares, the context of a call, and the validation around every
call.

    arguments → normalise → validate → call with a deadline → validate the response → cap its size

Every call ends in exactly one ``ToolOutcome``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args
from zoneinfo import ZoneInfo

import httpx
from pydantic import BaseModel

from toolset.schema import BadSchema, Schema, is_deeper, shortened
from toolset.shares import Shares
from toolset.shown import Card, ModelUse, Shown, ToolFile, bounded_card, bounded_choices
from toolset.stores import FindStore, Uses, find_no_store
from toolset.titles import Words, complaint, words_in

# The call of this context in W3C Trace Context, for servers of MCP and of OpenAPI documents; empty
# where turns are not traced. Nobody else is sent it.
TRACEPARENT: ContextVar[str] = ContextVar("traceparent", default="")
Risk = Literal["low", "high"]
EVERY = ("*",)  # every argument that is an address

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
NAME_CAP = 64
OUTPUT_CAP = 64 * 1024  # bytes of JSON that a model gets
# levels of a response: a vendor may refuse more, and then every request that has it in its history
DEEPEST = 32
# of a response that becomes a text; how many more Python itself could write differs by version
MOST_LEVELS = 200
ERROR_CAP = 2000  # characters of a tool's own error
DEFAULT_TIMEOUT_S = 30.0
DEFAULT_CONCURRENCY = 16
FOREIGN_PER_TURN = 8  # calls of a tool that asks a foreign server
USED_UP = (
    "not called: this person has used {name} {limit} times today, which is the limit; more is "
    "possible tomorrow"
)
COMMAND = re.compile(r"[^\W_][\w-]{0,31}")

Forget = Callable[[str], Awaitable[int]]
T = TypeVar("T")

log = logging.getLogger(__name__)


class ToolError(Exception):
    """Raised by a tool that cannot answer. The text goes to the model: no paths, hosts, keys or
    tracebacks."""


class ToolSetupError(Exception):
    """A tool that cannot be offered: bad name, duplicate, bad schema. Stops start-up."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What a model gets to know about a tool.

    Attributes:
        own: one of Kaiwa's; false for an operator's, a package's and a server's.
        needs_conversation: works on what a conversation holds; a call from elsewhere finds nothing.
        titles: the tool's names for people, by language.
        labels: of its arguments for people, by argument and language.
        public: its results hold nothing of the person or the place.
        addresses: names of arguments that are addresses, which a call opens; or ``EVERY``.
        unaccepted: differs from what the operator knows of it: no rule and no reviewer takes a
            person's place.
        response: the schema, of a tool that declares it; else empty.
        keywords: words that people use for it.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    response: Mapping[str, Any]
    risk: Risk = "low"
    idempotent: bool = True
    strict: bool = False
    writes: bool = False
    own: bool = True
    needs_conversation: bool = False
    titles: Words = field(default_factory=dict)
    labels: Mapping[str, Words] = field(default_factory=dict)
    unaccepted: bool = False
    public: bool = False
    addresses: tuple[str, ...] = ()
    keywords: str = ""

    def title(self, locale: str) -> str:
        """What people call the tool, in the language of a locale; its name where it has no
        title."""
        return words_in(locale, self.titles) or self.name

    def labels_in(self, locale: str) -> dict[str, str]:
        """The labels of the arguments, in the language of a locale."""
        return {name: words_in(locale, words) for name, words in self.labels.items()}

    @property
    def only_reads(self) -> bool:
        """Whether a call changes nothing, here or elsewhere."""
        return self.risk == "low" and not self.writes


async def no_picture() -> tuple[str, bytes] | None:
    """The newest picture where there is no conversation."""
    return None


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The caller and the circumstances of a call; never part of the schema that the model sees.

    Attributes:
        batch_id: the same for all calls of one model response.
        call_index: position in that response, from 0; calls are not scheduled by it.
        locale: BCP 47 tag of the user (``ja``, ``en-US``).
        time_zone: IANA name.
        idempotency_key: the same when a call is repeated after a crash.
        deadline: ``time.monotonic()`` seconds by which the call must end.
        find_store: finds what features keep for the user and this place; see ``store``.
        newest_picture: type and content of the newest picture of the conversation, sent or made;
            None if there is none.
        shows_pictures: people see the pictures among the call's files, and not only their words.
    """

    call_id: str
    batch_id: str
    call_index: int
    conversation: str
    user: str
    locale: str
    time_zone: str
    idempotency_key: str
    deadline: float
    find_store: FindStore = find_no_store
    newest_picture: Callable[[], Awaitable[tuple[str, bytes] | None]] = no_picture
    shows_pictures: bool = True

    def store(self, kind: type[T]) -> T | None:
        """What a feature keeps for the user here; None where it keeps nothing."""
        found: T | None = self.find_store(kind)
        return found

    @property
    def zone(self) -> ZoneInfo:
        """The user's time zone; UTC where it is unknown."""
        try:
            return ZoneInfo(self.time_zone)
        except (
            KeyError,
            ValueError,
            OSError,
        ):  # no zone, not a relative path, or a folder of zones
            return ZoneInfo("UTC")


class NoConfig(BaseModel):
    """The ``Config`` of a tool without variables."""


class Tool(Protocol):
    """A tool: a class with these attributes in a file of this folder. Kaiwa's own derive from it.

    Its schemas are ``schemas/<name>/parameters.json`` and ``response.json``.

    Attributes:
        description: says when to use the tool; the model chooses by it.
        risk: ``low`` reads, ``high`` acts.
        idempotent: optional; by default true for ``low``, false for ``high``. After a crash an
            idempotent call is repeated with the same ``idempotency_key``; for another one the model
            learns that it was interrupted.
        timeout_s: optional, 30; seconds for a call, including the wait for ``concurrency``.
        concurrency: optional, 16; calls at once in this process, of which one conversation gets
            half.
        foreign: optional, false; a call asks a server that is neither Kaiwa's nor the operator's.
        per_turn: optional; calls of one turn, 0 for any number; by default 8 for a ``foreign``
            tool, else 0.
        per_day: optional, 0 for any number; calls of one person in a day. Page and terminal have no
            such limit.
        strict: optional; vendors that can enforce the schema on the model do so, if all its
            properties are required.
        writes: optional, false; a ``low`` call changes what Kaiwa stores, so READ_ONLY does not
            offer it.
        needs_conversation: optional, false; works on what a conversation holds, so ``kaiwa mcp``
            does not serve it.
        public: optional, false; results hold only what anybody may read, nothing of the person or
            the place.
        addresses: optional; names of arguments that are addresses, which a call opens
            (docs/security.md).
        keywords: optional; words that people use for it, in any language, where it is needed less
            often: of many own tools, those with keywords are declared once ``find_tools`` has found
            them.
        declares_response: optional; why a model must read the response schema before it calls the
            tool. Without a reason it reads only the results, and what ``description`` says of them.
        commands: optional; words such as ``weather``: ``/weather Tokyo`` calls this tool.
        titles: optional; the tool's names for people, such as ``{"en": "Weather", "ja": "天気"}``.
        labels: optional; the same for each of its arguments, by the argument's name.
        forget: optional; an async method that takes a conversation's id, deletes all that the tool
            keeps of it, and returns the number of deleted files. ``/forget me`` calls it, in any
            process, and again after a crash.
        Config: the tool's own variables; field names are the environment's, in lower case.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    risk: ClassVar[Risk]
    Config: ClassVar[type[BaseModel]] = NoConfig

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: Any) -> Tool | None:
        """Build the tool; None where its settings switch it off.

        ``http`` is shared by all tools; ``config`` is a filled ``Config``.
        """
        return cls()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any] | Shown:
        """Do the work with validated arguments.

        Raises:
            ToolError: with a text for the model.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The one result of a call; ``response`` is ``{"error": "…"}`` where ``is_error``."""

    response: dict[str, Any]
    is_error: bool = False
    is_rejected: bool = False
    files: tuple[ToolFile, ...] = ()
    card: Card | None = None
    choices: tuple[str, ...] = ()
    used: ModelUse | None = None

    @classmethod
    def error(cls, text: str) -> ToolOutcome:
        return cls({"error": text}, is_error=True)


class ValidatedTool:
    """A tool with its two compiled schemas.

    Args:
        origin: where the tool comes from, for people.
        own: see ``ToolDefinition``.

    Attributes:
        size: bytes, about, of its declaration in a request to a model.
        per_turn: calls of one turn; 0 for any number.
        response_schema: of the results, as they are validated.

    Raises:
        ToolSetupError: a bad name, limit, command or schema.
    """

    def __init__(
        self, tool: Tool, parameters: Any, response: Any, origin: str = "", *, own: bool = True
    ) -> None:
        if not NAME.fullmatch(tool.name):
            raise ToolSetupError(f"tool name {tool.name!r} must match {NAME.pattern}")
        if not tool.description.strip():
            raise ToolSetupError(f"tool {tool.name}: the description is empty")
        if tool.risk not in get_args(Risk):
            raise ToolSetupError(
                f"tool {tool.name}: risk must be one of {', '.join(get_args(Risk))}"
            )
        self._parameters = _compile(tool.name, "parameters", parameters)
        self._response = _compile(tool.name, "response", response)
        self._tool = tool
        self._timeout_s, concurrency = _limits(tool)
        self.per_turn, self._per_day = _numbers_of_calls(tool)
        self._slots = asyncio.Semaphore(concurrency)
        self._shares = Shares(-(-concurrency // 2))
        self.origin = origin
        self.commands = _commands(tool)
        self.response_schema = response
        self.definition = _definition(tool, parameters, response, own=own)
        self.size = _size(self.definition)

    def complaint(self, arguments: object) -> str:
        """What is wrong with the arguments; empty for valid ones."""
        return self._parameters.complaint(_normal(arguments))

    async def call(self, arguments: object, context: ToolContext) -> ToolOutcome:
        """Validate, call, validate. Raises nothing but a cancellation."""
        budget = max(min(self._timeout_s, context.deadline - time.monotonic()), 0)
        try:
            shown = await self._validated(arguments, context, budget)
            card, choices = bounded_card(shown.card), bounded_choices(shown.choices)
            return ToolOutcome(
                shown.response,
                files=tuple(shown.files),
                card=card,
                choices=choices,
                used=shown.used,
            )
        except ToolError as error:
            return ToolOutcome.error(shortened(str(error), ERROR_CAP))
        except Exception:  # a crash is a result for the model; details go to the log
            name = self.definition.name
            log.exception("tool.crashed", extra={"tool": name, "call_id": context.call_id})
            return ToolOutcome.error(f"{name} failed unexpectedly")

    def with_risk(self, risk: Risk) -> ValidatedTool:
        """The same tool with another risk."""
        if risk == self.definition.risk or self.definition.unaccepted:
            return self
        other = copy(self)
        other.definition = replace(self.definition, risk=risk)
        return other

    async def forget(self, conversation: str) -> int:
        """Let the tool delete what it keeps of a conversation; returns the number of deleted files.

        Raises:
            Exception: it failed; all or a part of the data is still there.
        """
        forget: Forget | None = getattr(self._tool, "forget", None)
        return await forget(conversation) if forget else 0

    async def _validated(self, arguments: object, context: ToolContext, budget: float) -> Shown:
        given = _normal(arguments)
        if complaint := self._parameters.complaint(given):
            raise ToolError(f"invalid parameters: {complaint}")
        await self._count(context)
        returned = await self._in_time(given, context, budget)
        shown = returned if isinstance(returned, Shown) else Shown(returned)
        if complaint := self._response.complaint(shown.response):
            rule = self._response.rule_broken(shown.response)
            log.error("tool.response_invalid", extra={"tool": self.definition.name, "rule": rule})
            raise ToolError(f"invalid response: {complaint}")
        return shown._replace(response=_capped(shown.response))

    async def _count(self, context: ToolContext) -> None:
        """Count one of the person's calls of the day.

        Raises:
            ToolError: it is one too many, or the store does not answer.
        """
        name, limit = self.definition.name, self._per_day
        uses = context.store(Uses) if limit else None
        if uses and not await uses.take(name, limit, context.idempotency_key):
            raise ToolError(USED_UP.format(name=name, limit=limit))

    async def _in_time(self, arguments: dict[str, Any], context: ToolContext, budget: float) -> Any:
        started = False
        try:
            async with asyncio.timeout(budget), self._shares.of(context.conversation), self._slots:
                started = True
                return await self._tool.call(arguments, context)
        except TimeoutError:
            if started:
                raise ToolError(f"timed out after {budget:.3g} s") from None
            raise ToolError(
                f"not started: {self.definition.name} was busy for {budget:.3g} s"
            ) from None


def read_schemas(name: str, folder: Traversable | None = None) -> tuple[Any, Any]:
    """The two schemas of a tool, parameters and response.

    Args:
        folder: where they are; by default ``schemas/``.

    Raises:
        ToolSetupError: a file is missing or is not JSON.
    """

    def read(kind: str) -> Any:
        try:
            return json.loads(
                ((folder or files("schemas")) / name / f"{kind}.json").read_text("utf-8")
            )
        except (OSError, ValueError) as error:
            shown = f"{folder or 'schemas'}/{name}/{kind}.json"
            raise ToolSetupError(f"tool {name}: {shown} cannot be read: {error}") from error

    return read("parameters"), read("response")


def _definition(tool: Tool, parameters: Any, response: Any, *, own: bool) -> ToolDefinition:
    """The tool's attributes, with the defaults of those that are optional."""
    declared: dict[str, Any] = {"idempotent": tool.risk == "low"}
    for one in fields(ToolDefinition):
        if hasattr(tool, one.name):
            declared[one.name] = getattr(tool, one.name)
    reads_response = bool(getattr(tool, "declares_response", ""))
    declared |= {
        "parameters": parameters,
        "response": response if reads_response else {},
        "own": own,
    }
    if wrong := complaint(declared.get("titles", {}), declared.get("labels", {}), parameters):
        raise ToolSetupError(f"tool {tool.name}: {wrong}")
    return ToolDefinition(**declared)


def _size(tool: ToolDefinition) -> int:
    """Bytes, about, of a declaration. A text may hold half a character, which has no bytes."""
    declared = (tool.name, tool.description, tool.parameters, tool.response)
    return len(json.dumps(declared, ensure_ascii=False).encode(errors="replace"))


def _limits(tool: Tool) -> tuple[float, int]:
    """Seconds a call may take, and calls at once."""
    timeout_s = getattr(tool, "timeout_s", DEFAULT_TIMEOUT_S)
    concurrency = getattr(tool, "concurrency", DEFAULT_CONCURRENCY)
    are_numbers = isinstance(timeout_s, int | float) and isinstance(concurrency, int)
    if not (are_numbers and timeout_s > 0 and concurrency > 0):
        raise ToolSetupError(f"tool {tool.name}: timeout_s and concurrency must be numbers above 0")
    return timeout_s, concurrency


def _numbers_of_calls(tool: Tool) -> tuple[int, int]:
    """The calls of a turn, and those of a person in a day; 0 for any number."""
    per_turn = getattr(tool, "per_turn", FOREIGN_PER_TURN if getattr(tool, "foreign", False) else 0)
    per_day = getattr(tool, "per_day", 0)
    if not all(isinstance(number, int) and number >= 0 for number in (per_turn, per_day)):
        raise ToolSetupError(f"tool {tool.name}: per_turn and per_day must be whole numbers from 0")
    return per_turn, per_day


def _commands(tool: Tool) -> tuple[str, ...]:
    words = getattr(tool, "commands", ())
    if not isinstance(words, tuple) or not all(
        isinstance(word, str) and COMMAND.fullmatch(word) for word in words
    ):
        raise ToolSetupError(
            f"tool {tool.name}: commands must be a tuple of words without the slash"
        )
    return tuple(word.casefold() for word in words)


def _compile(name: str, kind: str, schema: Any) -> Schema:
    try:
        return Schema(schema)
    except BadSchema as error:
        raise ToolSetupError(f"tool {name}: the {kind} schema {error}") from error


def _normal(arguments: object) -> Any:
    """Models write missing arguments as None or an empty text."""
    return {} if arguments is None or arguments == "" else arguments


def _capped(response: dict[str, Any]) -> dict[str, Any]:
    """The response, or a text in its place where it is too large or too deep; ``ToolError`` where
    it is too deep even for a text."""
    if is_deeper(response, MOST_LEVELS):
        raise ToolError("invalid response: nested too deeply")
    text = json.dumps(response, ensure_ascii=False, allow_nan=False).encode()
    if len(text) <= OUTPUT_CAP and not is_deeper(response, DEEPEST):
        return response
    return {"output": truncated(text, OUTPUT_CAP)}


def truncated(text: bytes, cap: int) -> str:
    """The text cut to so many bytes, with a note at the end where something was cut."""
    beginning = text[:cap].decode(errors="ignore")
    dropped = len(text) - cap
    if dropped <= 0:
        return beginning
    return f"{beginning}[truncated: {dropped} bytes dropped, refine your query]"
