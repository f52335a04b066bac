"""Reviewers that follow a script, and a conversation in which they vote on a launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.channels import ButtonCard, InboundEvent
from bot.features.approvals.review import Reviewers
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.telemetry import Metrics
from bot.transcript import Author, Message, Text, ToolCall, Usage
from tests.bot.harness import HERE, WRITTEN_AT, Harness
from tests.fakes.tools import Echo, Launch, tool_map

LAUNCH = Step(calls=(ToolCall("c1", "launch", {"what": "rocket", "reason": "You asked for it."}),))


def votes(verdict: str, sentence: str = "So it was asked.") -> Step:
    """One vote."""
    call = ToolCall("", "vote", {"verdict": verdict, "sentence": sentence})
    return Step(calls=(call,), usage=Usage(input=10, output=1))


YES, NO = votes("approve"), votes("reject", "Nobody asked for it.")


def named(*scripts: Scripted) -> dict[str, Scripted]:
    """Models named ``a``, ``b`` …"""
    return dict(zip("abcdefgh"[: len(scripts)], scripts, strict=True))


def reviewers(*scripts: Scripted, limit_s: float = 10.0) -> Reviewers:
    """Reviewers with these names."""
    return Reviewers(named(*scripts), "REVIEW", Metrics(), limit_s)


@dataclass
class Scene:
    """A conversation in which a rocket may be launched after a review."""

    store: Store
    scripts: Sequence[Scripted]
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[Step] = (LAUNCH, Step("Done"))
    launch: Launch = field(default_factory=Launch)

    def __post_init__(self) -> None:
        tools = tool_map(self.launch, Echo())
        models = named(*self.scripts)
        self.harness = Harness(
            self.store, self.steps, None, tools, self.settings, other_models=models
        )

    async def say(self, text: str, message_id: str, user: str = "u1") -> None:
        """Let somebody speak."""
        message = Message(message_id, "user", (Text(text),), WRITTEN_AT, Author(user, user.upper()))
        await self.harness.arrive(InboundEvent(message))
        await self.harness.runner.process(HERE)

    @property
    def question(self) -> ButtonCard | None:
        """What a person was asked last."""
        asked = [one.reply.card for one in self.harness.box.delivered if one.reply.awaited]
        return asked[-1] if asked else None

    @property
    def result(self) -> object:
        """What the model was told of its call."""
        return self.harness.model.requests[-1].messages[-1].results[0].response
