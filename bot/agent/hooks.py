"""What an operator's own code may do before and after every tool call; the composition root registers it.

    before → go on, with other arguments if need be · refuse · answer in the tool's place · abort the turn
    after  → edit the outcome

Hooks run in their order before a call, and in the same order after it. They see each call by itself: what needs order
or exclusion between calls belongs into the tool (``toolset.ordering``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.errors import TurnFailed
from bot.transcript import ToolCall
from toolset.tool import ToolContext, ToolOutcome


@dataclass(frozen=True, slots=True)
class Proceed:
    """Make the call with these arguments, which are validated, and shown where approval is asked for."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not make the call; the model reads the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Do not make the call; the model reads this as the tool's response."""

    response: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Abort:
    """End the turn with an apology; the cause is for the operator."""

    cause: str


Intervention = Proceed | Refuse | Answer | Abort | None


class Hook:
    """A hook that changes nothing; a hook of yours overrides what it needs.

    Both methods may be called again for the same call after a crash, so they should give the same answer again. What
    they raise ends the turn like any unforeseen error.
    """

    async def before(self, call: ToolCall, context: ToolContext) -> Intervention:
        """Look at a call before it is validated; None lets it go on."""
        return None

    async def after(self, call: ToolCall, context: ToolContext, outcome: ToolOutcome) -> ToolOutcome:
        """Look at an outcome before it is recorded and the model reads it."""
        return outcome


class Hooks:
    """All hooks as one."""

    def __init__(self, hooks: Sequence[Hook] = ()) -> None:
        self._hooks = tuple(hooks)

    async def before(self, call: ToolCall, context: ToolContext) -> tuple[ToolCall, ToolOutcome | None]:
        """The call as it shall be made, or the outcome that stands in its place.

        Raises:
            TurnFailed: a hook has aborted the turn.
        """
        made = ToolCall(call.id, call.name, call.arguments)
        for hook in self._hooks:
            match await hook.before(made, context):
                case Proceed(arguments):
                    made = ToolCall(call.id, call.name, dict(arguments))
                case Refuse(reason):
                    return made, replace(ToolOutcome.error(reason), is_rejected=True)
                case Answer(response):
                    return made, ToolOutcome(dict(response))
                case Abort(cause):
                    raise TurnFailed("aborted", cause)
        return made, None

    async def after(self, call: ToolCall, context: ToolContext, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome as the model shall read it."""
        for hook in self._hooks:
            outcome = await hook.after(call, context, outcome)
        return outcome
