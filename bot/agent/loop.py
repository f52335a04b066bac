"""The agent's loop: ask the model, run its tool calls, send it the results, until it answers.

This module knows no channel, no store and no vendor.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from copy import copy
from functools import partial

from msgspec.structs import asdict, replace

from bot.agent.hooks import Hook, Hooks
from bot.agent.limits import room_for_results, with_results_cut
from bot.agent.provenance import Provenance
from bot.agent.reasons import Declarations, with_reason_apart
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
from bot.telemetry import Metrics, span
from bot.transcript import Message, Part, ToolCall, ToolResult, Usage, is_blank, new_id
from toolset.offer.search import found_in
from toolset.tool_map import FIND_TOOLS, ToolMap

CANCELLED = "cancelled by the user"
STOPPED = "somebody wanted it to end"


@dataclasses.dataclass(frozen=True, slots=True)
class Configuration:
    """What differs in a turn, as for a place or a person; what is not given is as usual.

    Attributes:
        persona: stands behind the system prompt, or in place of the usual persona in it.
        provider: a model with its fallbacks.
        tools: patterns (``toolset.offer.rules``) of names: of the tools that are on offer anyway,
            these are.
        acting: names of tools whose calls act here, whatever risk they have elsewhere.
        max_tool_turns: rounds of tool calls, at most.
    """

    persona: str = ""
    replaces_persona: bool = False
    provider: Provider | None = None
    tools: tuple[str, ...] = ("*",)
    acting: tuple[str, ...] = ()
    max_tool_turns: int = sys.maxsize

    def then(self, other: Configuration) -> Configuration:
        """Both, where the other one comes later: its model and its tools count, personas are added
        to each other, the lower limit holds."""
        personas = (self.persona, other.persona)[other.replaces_persona :]
        return Configuration(
            "\n\n".join(filter(None, personas)),
            self.replaces_persona or other.replaces_persona,
            other.provider or self.provider,
            self.tools if other.tools == ("*",) else other.tools,
            (*self.acting, *other.acting),
            min(self.max_tool_turns, other.max_tool_turns),
        )


USUAL = Configuration()


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

    async def run(self, turn: Turn) -> Message | None:
        """Run a turn from its present state to its answer; None if all its user messages were taken
        back.

        Raises:
            ModelError: the request to the model failed.
            TurnFailed: the model's response cannot be used, or somebody stopped the turn.
            TurnParked: the turn waits for a person's decision.
        """
        await self.tools.arrival([call.name for _, call in turn.open_calls()], turn.deadline)
        while turn.answer is None:
            if turn.calls:
                await self._runner_of(turn).run(turn)
            await turn.check_inbox()
            if turn.stopped:
                raise TurnFailed("stopped", STOPPED)
            if turn.withdrawn:
                return None
            room = room_for_results([*turn.history, *turn.added], turn.tokens_left)
            may_call = turn.rounds < self.max_tool_turns and room is None
            tools = self._tools_of(turn)
            response = await self._ask_unless_changed(turn, tools, may_call, room)
            if response is not None:
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
        return ToolRunner(self._tools_of(turn), self._hooks, self._metrics, self.provenance(turn))

    def _tools_of(self, turn: Turn) -> ToolMap:
        """The tools of this place and person, as they are now: a server may list its tools anew
        during a turn."""
        tools = self.tools.of_place(turn.context.conversation, turn.asker.id)
        given = self._configuration
        return tools if given is USUAL else tools.only(given.tools, given.acting)

    async def _ask_unless_changed(
        self, turn: Turn, tools: ToolMap, may_call: bool, room: int | None
    ) -> ModelResponse | None:
        """The model's response; None if a message that it answers was changed meanwhile.

        Args:
            room: characters of all results, if the day has no tokens for more.
        """
        limit = turn.asking()
        try:
            async with limit:
                return await self._ask(turn, tools, may_call, room)
        except TimeoutError:
            if not limit.expired():
                raise
        turn.unfinished.clear()
        await turn.context.watcher.show(AnswerRestarted())
        return None

    async def _ask(
        self, turn: Turn, tools: ToolMap, may_call: bool, room: int | None
    ) -> ModelResponse:
        system = system_prompt(self.system, turn.context.style)
        show = turn.context.watcher.show
        turn.unfinished.clear()
        messages = await turn.request()
        if room is not None:
            messages = with_results_cut(messages, room)
        choice = _choice(turn, tools) if may_call else NONE
        provenance = self.provenance(turn)
        if provenance.is_judged:
            choice = dataclasses.replace(choice, opens_addresses=False)
        new_filter = partial(
            provenance.stream_filter, turn.context.withheld, searches=self.provider.searches
        )
        links = new_filter()
        definitions = self._declarations.of(tools.offered(lambda: _used(messages, choice)))
        asked = self.provider.stream(Request(system, messages, definitions, choice))
        with span("model", self._metrics) as call:
            try:
                async with aclosing(asked) as events:
                    async for event in events:
                        match event:
                            case TextDelta(text):
                                if shown := links.feed(text) if links else text:
                                    turn.unfinished.append(shown)
                                    await show(AnswerText(shown))
                            case Restarted():
                                turn.unfinished.clear()
                                links = new_filter()
                                await show(AnswerRestarted())
                            case Completed(response):
                                if links and (rest := links.end()):
                                    await show(AnswerText(rest))
                                await turn.spend(response)
                                turn.model = response.model
                                tokens = asdict(response.usage)
                                call.end(
                                    "model.called",
                                    response.stop_reason,
                                    response.model,
                                    tokens=tokens,
                                )
                                return response
            except ModelError:
                call.end("model.called", "failed", self.provider.model, tokens=asdict(Usage()))
                raise
        raise TurnFailed("malformed", "the model's stream ended without an answer")


def system_prompt(persona: str, style: str) -> str:
    """The whole system prompt of a channel: the same bytes in every turn, so that caches of prompts
    hold."""
    return f"{persona}\n\n{style}" if style else persona


def _choice(turn: Turn, tools: ToolMap) -> ToolChoice:
    """What the turn asks for, unless the tool is not offered here."""
    choice = turn.tool_choice
    return AUTO if choice.mode == "one" and choice.name not in tools else choice


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
            part = replace(part, id=new_id("call")) if part.id in taken else part
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
