"""The agent's loop: ask the model, run its tool calls, send it the results, until it answers.

This module knows no channel, no store and no vendor. A high-risk call comes with the model's reason
for it: Kaiwa's own property beside the tool's parameters. It is recorded apart from the arguments;
only the vendor's own form of the message (``Message.opaque``) holds it where it was. A question for
approval shows it and reviewers read it, the tool does not.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from copy import copy
from functools import lru_cache, partial
from hashlib import sha256

from msgspec.structs import asdict, replace

from bot.agent.hooks import Hook, Hooks
from bot.agent.provenance import Provenance
from bot.agent.tool_runner import INTERRUPTED, ToolRunner
from bot.agent.turn import RecordedResponse, Turn
from bot.errors import ModelError, TurnFailed
from bot.live_events import AnswerRestarted, AnswerText
from bot.providers import (
    AUTO,
    NONE,
    Completed,
    ModelResponse,
    Provider,
    Request,
    Restarted,
    TextDelta,
    ToolChoice,
)
from bot.telemetry import Metrics, Span
from bot.transcript import (
    Message,
    Part,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    encode,
    is_blank,
    new_id,
)
from toolset.offer.rules import Rule
from toolset.offer.search import found_in
from toolset.tool import ToolDefinition
from toolset.tool_map import FIND_TOOLS, ToolMap

CANCELLED = "cancelled by the user"
STOPPED = "somebody wanted it to end"
TOKEN_CHARACTERS = 3  # about; the vendor counts exactly, but only afterwards
TOLERANCE = 1.2
LEAST_CHARACTERS = 4_000  # of all results: enough to answer with
CUT = "[cut: the limit of today leaves no room for more]"
REASON = "reason"
REASON_CAP = 200  # characters
MOST_KNOWN = 64  # groups of tools
Tools = tuple[ToolDefinition, ...]
PROPERTY = {
    "type": "string",
    "maxLength": REASON_CAP,
    "description": "One short sentence for the person who decides about this call: "
    "why you want to make it.",
}
TOOL_COMMAND = re.compile(r"\s*[/／](\S+)\s*(.*)", re.DOTALL)
# Keywords through which a schema may know, or forbid, a property that is not in ``properties``.
UNCLEAR = frozenset(
    {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "propertyNames"}
).union(
    {
        "maxProperties",
        "dependentSchemas",
        "dependentRequired",
        "unevaluatedProperties",
        "const",
        "enum",
    }
)


class Declarations:
    """The tools as models get them: those that act ask for a reason."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Tools, Tools]] = {}

    def of(self, tools: Tools) -> Tools:
        """The same object each time for the same tools: providers write a request's prefix once for
        it."""
        if id(tools) not in self._known:
            if len(self._known) == MOST_KNOWN:
                self._known.clear()
            # The tools are kept, so no others can have their id.
            declared = tuple(
                _with_reason(tool) if asks_for_reason(tool) else tool for tool in tools
            )
            self._known[id(tools)] = tools, declared
        return self._known[id(tools)][1]


@dataclasses.dataclass(frozen=True, slots=True)
class Configuration:
    """What differs in a turn, as for a place or a person; what is not given is as usual.

    Attributes:
        persona: stands behind the system prompt, or in place of the usual persona in it.
        provider: a model with its fallbacks.
        offers: each gives the rule of tools and risks for the person who asks, and is asked at each
            request and call: of the tools that are on offer anyway, those are that all offer.
        max_tool_turns: rounds of tool calls, at most.
    """

    persona: str = ""
    replaces_persona: bool = False
    provider: Provider | None = None
    offers: tuple[Callable[[str], Rule], ...] = ()
    max_tool_turns: int = sys.maxsize

    def then(self, other: Configuration) -> Configuration:
        """Both, where the other one comes later: its model counts, personas are added to each
        other, both must offer a tool, the lower limit holds."""
        personas = (self.persona, other.persona)[other.replaces_persona :]
        return Configuration(
            "\n\n".join(filter(None, personas)),
            self.replaces_persona or other.replaces_persona,
            other.provider or self.provider,
            (*self.offers, *other.offers),
            min(self.max_tool_turns, other.max_tool_turns),
        )


USUAL = Configuration()


@lru_cache(maxsize=64)
def digest_of_persona(text: str) -> str:
    """Names a whole persona in records of turns, so that two versions can be compared."""
    return sha256(text.encode()).hexdigest()[:8]


class Agent:
    """A model with tools.

    Args:
        system: the system prompt without the channel's style.
        max_tool_turns: rounds of tool calls before the model must answer without tools.
        rules: the end of the system prompt, which no other persona takes the place of.
    """

    def __init__(
        self,
        provider: Provider,
        tools: ToolMap,
        system: str,
        metrics: Metrics,
        max_tool_turns: int = 10,
        hooks: Sequence[Hook] = (),
        rules: str = "",
    ) -> None:
        self.provider = provider
        self.tools = tools
        self.system = system
        self.max_tool_turns = max_tool_turns
        self._rules = rules
        self._configuration = USUAL
        self._hooks = Hooks(hooks)
        self._metrics = metrics
        self._declarations = Declarations()

    def configured(self, configuration: Configuration) -> Agent:
        """The agent of a turn with what differs in it."""
        if configuration == USUAL:
            return self
        agent, parts = copy(self), (self.system, configuration.persona)
        if configuration.replaces_persona:
            parts = configuration.persona, self._rules
        agent.system = "\n\n".join(filter(None, parts))
        agent.provider = configuration.provider or self.provider
        agent.max_tool_turns = min(self.max_tool_turns, configuration.max_tool_turns)
        agent._configuration = configuration
        return agent

    @property
    def persona(self) -> str:
        """The digest of the system prompt without the channel's style."""
        return digest_of_persona(self.system)

    async def run(self, turn: Turn) -> Message | None:
        """Run a turn from its present state to its answer; None if all its user messages were taken
        back.

        Raises:
            ModelError: the request to the model failed.
            TurnFailed: the model's response cannot be used, or somebody stopped the turn.
            TurnParked: the turn waits for a person's decision.
        """
        if turn.calls:
            waiting = [call.name for _, call in turn.open_calls()]
            await self.tools.arrival(waiting, turn.deadline)
        while turn.answer is None:
            if turn.calls:
                await self._runner_of(turn).run(turn)
            await turn.check_inbox()
            if turn.stopped:
                raise TurnFailed("stopped", STOPPED)
            if turn.withdrawn:
                return None
            room = room_for_results([*turn.history, *turn.added], turn.tokens_left)
            rounds = sum(message.role == "tool" for message in turn.added)
            may_call = rounds < self.max_tool_turns and room is None
            tools = self._tools_of(turn)
            limit = turn.asking()
            try:
                async with limit:
                    response = await self._ask(turn, tools, may_call, room)
            except TimeoutError:
                if not limit.expired():
                    raise
                # A message that it answers was changed meanwhile.
                turn.unfinished.clear()
                await turn.context.watcher.show(AnswerRestarted())
                continue
            _refuse_useless(response, may_call)
            message = _recorded(response.message, turn.added, tools)
            await turn.record_response(
                RecordedResponse(message, response.stop_reason, response.grounding)
            )
        return turn.answer

    async def close(self, turn: Turn, *, stopped: bool = False) -> None:
        """Give every open call an error as its result: a transcript has one result for each
        call."""
        await self._runner_of(turn).close(turn, CANCELLED if stopped else INTERRUPTED)

    def provenance(self, turn: Turn) -> Provenance:
        """Where the addresses of the turn's next request come from."""
        return Provenance(turn, self._tools_of(turn))

    def _runner_of(self, turn: Turn) -> ToolRunner:
        find_tools = partial(self._tools_of, turn)
        return ToolRunner(find_tools, self._hooks, self._metrics, self.provenance(turn))

    def _tools_of(self, turn: Turn) -> ToolMap:
        """The tools of this place and person, as they are now: a server may list its tools anew
        during a turn, and rules may change."""
        asker = turn.asker.id
        also = [offer(asker) for offer in self._configuration.offers]
        return self.tools.of_place(turn.context.conversation, asker, also)

    async def _ask(
        self, turn: Turn, tools: ToolMap, may_call: bool, room: int | None
    ) -> ModelResponse:
        """The model's response, shown while it is written.

        Args:
            room: characters of all results, if the day has no tokens for more.
        """
        context, show = turn.context, turn.context.watcher.show
        turn.unfinished.clear()
        messages = await turn.request()
        if room is not None:
            messages = with_results_cut(messages, room)
        choice = NONE
        if may_call:
            is_first = not any(message.role == "model" for message in turn.added)
            choice = context.tool_choice if is_first else AUTO
            if choice.mode == "one" and choice.name not in tools:
                choice = AUTO
        provenance = self.provenance(turn)
        if provenance.is_judged:
            choice = dataclasses.replace(choice, opens_addresses=False)
        searches = self.provider.searches
        links = provenance.link_filter(context.withheld, searches=searches)
        offered = tools.offered(lambda: _used(messages, choice))
        system = system_prompt(self.system, context.style)
        request = Request(system, messages, self._declarations.of(offered), choice)
        call = Span("model", self._metrics)
        try:
            async with aclosing(self.provider.stream(request)) as events:
                async for event in events:
                    match event:
                        case TextDelta(text):
                            if shown := links.feed(text) if links else text:
                                turn.unfinished.append(shown)
                                await show(AnswerText(shown))
                        case Restarted():
                            turn.unfinished.clear()
                            links = provenance.link_filter(context.withheld, searches=searches)
                            await show(AnswerRestarted())
                        case Completed(response):
                            if links and (rest := links.end()):
                                await show(AnswerText(rest))
                            await turn.spend(response, self.persona)
                            reason, turn.model = response.stop_reason, response.model
                            tokens = asdict(response.usage)
                            call.end("model.called", reason, turn.model, tokens=tokens)
                            return response
        except ModelError:
            call.end("model.called", "failed", self.provider.model, tokens=asdict(Usage()))
            raise
        raise TurnFailed("malformed", "the model's stream ended without an answer")


def system_prompt(persona: str, style: str) -> str:
    """The whole system prompt of a channel: the same bytes in every turn, so that caches of prompts
    hold."""
    return f"{persona}\n\n{style}" if style else persona


def _used(messages: Iterable[Message], choice: ToolChoice) -> Iterator[str]:
    """The names of the tools that were called, found or asked for, the first one first."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                yield part.name
            elif isinstance(part, ToolResult) and part.name == FIND_TOOLS:
                yield from found_in(part.response)
    yield choice.name


def _recorded(message: Message, before: Sequence[Message], tools: ToolMap) -> Message:
    """The message as it is recorded: the reasons of its calls apart, and a new id for each call
    whose id is taken.

    Decisions and results refer to calls by id.
    """
    taken = {call.id for other in before for call in other.calls}
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            tool = tools.get(part.name)
            part = with_reason_apart(part, tool.definition if tool else None)
            if part.id in taken:
                part = replace(part, id=new_id("call"))
            taken.add(part.id)
        parts.append(part)
    return replace(message, parts=tuple(parts))


def _refuse_useless(response: ModelResponse, may_call: bool) -> None:
    """Check that a response has text for the user or calls to run.

    Raises:
        TurnFailed: it has neither, or calls that were not allowed.
    """
    reason = response.stop_reason
    if reason == "blocked":
        raise TurnFailed("blocked", f"{response.model} declined to answer: {response.detail}")
    calls = response.message.calls
    if (
        reason == "malformed"
        or (calls and not may_call)
        or (not calls and is_blank(response.message.text))
    ):
        raise TurnFailed(
            "malformed", f"{response.model} gave no usable answer: {reason} {response.detail}"
        )


def room_for_results(messages: Sequence[Message], tokens_left: int | None) -> int | None:
    """The characters that all results of a request may have; None if the request costs no more than
    the day has left.

    Only what a conversation can make grow is estimated. The system prompt and the tools are the
    same in each request, and a file costs what it holds, which its size does not tell.

    Args:
        tokens_left: None without a limit.
    """
    if tokens_left is None:
        return None
    of_results = of_others = 0
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                of_results += _characters(part)
            elif not message.opaque:
                of_others += _characters(part)
        if message.opaque:  # is sent in place of the parts
            of_others += len(message.opaque.data)
        else:
            of_others += len(message.context) + sum(len(quote.line) for quote in message.quotes)
    if of_results + of_others <= tokens_left * TOKEN_CHARACTERS * TOLERANCE:
        return None
    return max(LEAST_CHARACTERS, tokens_left * TOKEN_CHARACTERS - of_others)


def with_results_cut(messages: Iterable[Message], characters: int) -> list[Message]:
    """The messages with so many characters of results, those of the newest round first."""
    shorter: list[Message] = []
    for message in reversed(list(messages)):
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                text = encode(part.response).decode()
                if len(text) > characters:
                    part = replace(part, response={"output": f"{text[:characters]}{CUT}"})
                characters = max(0, characters - len(text))
            parts.append(part)
        shorter.append(replace(message, parts=tuple(parts)) if message.results else message)
    shorter.reverse()
    return shorter


def _characters(part: Part) -> int:
    if isinstance(part, Text):
        return len(part.text)
    if isinstance(part, ToolCall | ToolResult):
        return len(encode(part.arguments if isinstance(part, ToolCall) else part.response).decode())
    return 0


def asks_for_reason(tool: ToolDefinition) -> bool:
    """Whether the property is Kaiwa's: the tool acts, and its own schema has none of that name."""
    schema = tool.parameters
    return (
        tool.risk == "high"
        and REASON not in schema.get("properties", {})
        and not UNCLEAR & schema.keys()
    )


def with_reason_apart(call: ToolCall, tool: ToolDefinition | None) -> ToolCall:
    """The call as it is recorded; a reason that is no text is left out."""
    if tool is None or REASON not in call.arguments or not asks_for_reason(tool):
        return call
    arguments = {name: value for name, value in call.arguments.items() if name != REASON}
    reason = call.arguments[REASON]
    return ToolCall(call.id, call.name, arguments, reason if isinstance(reason, str) else "")


def _with_reason(tool: ToolDefinition) -> ToolDefinition:
    schema = {
        **tool.parameters,
        "properties": {**tool.parameters.get("properties", {}), REASON: PROPERTY},
        "required": [*tool.parameters.get("required", ()), REASON],
    }
    return dataclasses.replace(tool, parameters=schema)


def choice_in(messages: Sequence[Message], tools: ToolMap) -> ToolChoice:
    """The tool that the newest message such as ``/weather Tokyo`` names, which the model must call
    first; auto without one.

    A bare command forces no tool with required arguments: the model would invent them.
    """
    for message in reversed(messages):
        match = TOOL_COMMAND.fullmatch(message.text)
        name = tools.commands.get(match[1].casefold()) if match else None
        if match is None or name is None:
            continue
        if match[2] or not tools[name].definition.parameters.get("required"):
            return ToolChoice("one", name)
    return AUTO
