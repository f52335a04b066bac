"""Calls that act are made in the name of whoever asked for them."""

from __future__ import annotations

from bot.agent.turn import ActingCall, ApprovalDecision
from bot.pipeline.feature import CallingTurn, Decisions, Feature
from bot.pipeline.services import Services


class Trust(Feature, Decisions):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self.allowed: list[str] = []  # names of tools

    async def may_call(self, turn: CallingTurn, acting: ActingCall) -> ApprovalDecision:
        """Allow the call."""
        call = acting.call
        self.allowed.append(call.name)
        return ApprovalDecision(call.id, True, call.arguments, by=acting.asker.id)


FEATURE = Trust
