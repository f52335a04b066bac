"""Hooks: an operator's own code that runs before and after every tool call.

    before → go on, perhaps with other arguments · refuse · answer instead of the tool · abort the
    turn after  → change the outcome

Hooks run in the same order before and after a call. A hook sees one call at a time; exclusion
between calls belongs into the tool (``toolset.shares``).
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
    """Make the call with these arguments. They are validated, and a question for approval shows
    them."""

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
    """A hook that changes nothing; subclasses override one method or both.

    After a crash both methods may be called again for the same call, and should answer the same. An
    exception ends the turn like any unforeseen error.
    """

    async def before(self, call: ToolCall, context: ToolContext) -> Intervention:
        """Check a call before its validation; None lets it go on."""
        return None

    async def after(
        self, call: ToolCall, context: ToolContext, outcome: ToolOutcome
    ) -> ToolOutcome:
        """Check an outcome before it is recorded and sent to the model."""
        return outcome


class Hooks:
    """Runs all hooks in their order."""

    def __init__(self, hooks: Sequence[Hook] = ()) -> None:
        self._hooks = tuple(hooks)

    async def before(
        self, call: ToolCall, context: ToolContext
    ) -> tuple[ToolCall, ToolOutcome | None]:
        """The call to make, and an outcome if the call must not be made.

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

    async def after(
        self, call: ToolCall, context: ToolContext, outcome: ToolOutcome
    ) -> ToolOutcome:
        """The outcome after all hooks."""
        for hook in self._hooks:
            outcome = await hook.after(call, context, outcome)
        return outcome
