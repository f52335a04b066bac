"""What each generation of Anthropic's models takes: fields about thinking, forced calls, strict
tools."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

JSON = dict[str, Any]
Version = tuple[int, int]

# Names are claude-3-7-sonnet-latest, claude-opus-4-20250514, claude-haiku-4-5-20251001,
# claude-fable-5-2.
FAMILY = re.compile(
    r"claude-(?:(?P<old>\d)(?:-(?P<old_minor>\d))?-)?(?P<line>[a-z]+)(?:-(?P<major>\d)(?!\d)(?:-(?P<minor>\d)(?!\d))?)?"
)
ALWAYS_THINK = {"fable", "mythos"}
BUDGETS = {"minimal": 0, "low": 1024, "medium": 8192, "high": 24_576}  # tokens
EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}

# https://platform.claude.com/docs/en/build-with-claude/thinking
FIRST_TO_THINK: Version = (3, 7)
FIRST_WITH_STRICT_TOOLS: Version = (4, 5)
# Models from this version take an effort in place of a budget; they think only when asked to.
FIRST_WITH_EFFORT: Version = (4, 6)
FIRST_THINKING_UNASKED: Version = (5, 0)
# From this version on, calls cannot be forced, and thinking cannot be turned off.
FIRST_WITHOUT_FORCED_CALLS: Version = (5, 1)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one model takes. A request to a model with an unknown name has no field about thinking.

    Attributes:
        version: (0, 0) where the name has none.
        thinks_always: its thinking cannot be turned off.
    """

    version: Version
    thinks_always: bool
    level: str

    @property
    def takes_forced_calls(self) -> bool:
        """Whether a tool choice may force a call; other models answer 400."""
        return self.version < FIRST_WITHOUT_FORCED_CALLS

    @property
    def takes_strict_tools(self) -> bool:
        """Whether a tool may be declared strict."""
        return self.version >= FIRST_WITH_STRICT_TOOLS

    @property
    def has_budget(self) -> bool:
        """Whether thinking has a budget: then a turn that began without a thought must go on
        without one."""
        return FIRST_TO_THINK <= self.version < FIRST_WITH_EFFORT

    def thinking(self, max_output_tokens: int, *, wanted: bool) -> JSON:
        """The fields about thinking and the output limit; a budget comes on top of the limit."""
        if self.version >= FIRST_WITH_EFFORT:
            fields: JSON = {
                "max_tokens": max_output_tokens,
                "output_config": {"effort": EFFORTS[self.level]},
            }
            if self.thinks_always or (wanted and self.level != "minimal"):
                return {**fields, "thinking": {"type": "adaptive"}}
            if self.version >= FIRST_THINKING_UNASKED:
                return {**fields, "thinking": {"type": "disabled"}}
            return fields
        budget = 0
        if wanted and self.has_budget:
            budget = BUDGETS[self.level]
        if not budget:
            return {"max_tokens": max_output_tokens}
        thinking = {"type": "enabled", "budget_tokens": budget}
        return {"max_tokens": max_output_tokens + budget, "thinking": thinking}


def capabilities_of(model: str, thinking_level: str) -> Capabilities:
    """The capabilities of a model, by its name."""
    match = FAMILY.match(model)
    if match is None:
        return Capabilities((0, 0), False, thinking_level)
    major = match["old"] or match["major"]
    minor = match["old_minor"] if match["old"] else match["minor"]
    version = (int(major or 0), int(minor or 0))
    always = version >= FIRST_WITHOUT_FORCED_CALLS or (
        match["line"] in ALWAYS_THINK and version >= (5, 0)
    )
    return Capabilities(version, always, thinking_level)
