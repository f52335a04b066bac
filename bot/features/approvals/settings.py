"""The settings of approvals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from bot.checks import CheckResult, Result
from bot.errors import SettingsError
from bot.settings import FeatureConfig, Settings
from bot.settings.types import Names


class Config(FeatureConfig):
    """Fields are the variables in lower case.

    Attributes:
        approval_ttl_s: seconds until a question expires.
        approvers: ids of people who may decide besides the asker.
        review_mode: what votes do: a person reads them, or most against reject, or all in favour
            approve.
        review_tools: names of the tools that ``decide`` holds for.
    """

    approval_mode: Literal["ask", "auto_reject", "auto_approve"] = "ask"
    auto_approve_anyway: bool = False
    approval_ttl_s: int = Field(default=3_600, ge=30, le=86_400)
    approvers: Names = ()
    review_mode: Literal["advise", "veto", "decide"] = "advise"
    review_tools: Names = ()

    def with_approvers(self, approvers: tuple[str, ...] | None) -> Config:
        """The settings where a place has approvers of its own; None: it has not."""
        return self if approvers is None else self.model_copy(update={"approvers": approvers})

    def check(self, settings: Settings, ways_in: Sequence[str]) -> None:
        """Refuse a mode of review that could never have an effect; and approval without a person
        where others can write, unless a second setting confirms it."""
        mode = self.review_mode
        if mode != "advise" and not (settings.reviewers or settings.places):
            fix = f"REVIEW_MODE={mode} needs reviewers; name models here"
            raise SettingsError("REVIEWERS", fix)
        if mode == "decide" and not self.review_tools:
            fix = "REVIEW_MODE=decide holds for the tools that are named here; name some"
            raise SettingsError("REVIEW_TOOLS", fix)
        if self.auto_approve_anyway or not ways_in:
            return
        where = f"is refused where others can reach Kaiwa ({ways_in[0]})"
        if self.approval_mode == "auto_approve":
            fix = f"auto_approve {where}; use ask, or set AUTO_APPROVE_ANYWAY=1"
            raise SettingsError("APPROVAL_MODE", fix)
        if mode == "decide":
            fix = f"decide {where}; use advise or veto, or set AUTO_APPROVE_ANYWAY=1"
            raise SettingsError("REVIEW_MODE", fix)

    def describe(self, settings: Settings) -> list[CheckResult]:
        """A line for a mode that is not the default, and one for reviewers; a warning where calls
        are made unasked."""
        found = []
        if self.approval_mode != "ask":
            result: Result = "ok"
            what = "every call that acts is rejected"
            if self.approval_mode == "auto_approve":
                result, what = "warning", "every call that acts is made, and nobody is asked"
            detail = f"{self.approval_mode}: {what}"
            fix = "set APPROVAL_MODE=ask to have people decide"
            found.append(CheckResult(result, "approvals", detail, fix))
        if settings.reviewers:
            result = "ok"
            detail = f"{self.review_mode}: {', '.join(dict.fromkeys(settings.reviewers))}"
            if self.review_mode == "decide":
                tools = ", ".join(self.review_tools)
                result = "warning"
                detail += f"; if all are in favour, nobody is asked about {tools}"
            fix = "unset REVIEWERS to ask people without votes"
            found.append(CheckResult(result, "reviewers", detail, fix))
        return found
