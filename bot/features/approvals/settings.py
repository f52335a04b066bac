"""The settings of approvals."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from bot.settings import Names


class Config(BaseModel):
    """Fields are the variables in lower case.

    Attributes:
        approval_ttl_s: seconds until a question expires.
        approvers: ids of people who may decide besides the asker.
        review_mode: what votes do: a person reads them, or most against reject, or all in favour
            approve.
        review_tools: names of the tools that ``decide`` holds for.
    """

    approval_mode: Literal["ask", "auto_reject", "auto_approve"] = "ask"
    approval_ttl_s: int = Field(default=3_600, ge=30, le=86_400)
    approvers: Names = ()
    review_mode: Literal["advise", "veto", "decide"] = "advise"
    review_tools: Names = ()
