"""What is decided about a call without a person: by the operator's settings, and by votes."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.turn import ActingCall, ApprovalDecision
from bot.channels import InboundEvent
from bot.features.approvals.questions import SENTENCE_CAP
from bot.features.approvals.review import Vote
from bot.features.approvals.settings import Config
from bot.pipeline.feature import rejected
from bot.safe_text.arguments import SHOWN, render_within_limit
from bot.safe_text.glyphs import quotable

SWITCHED_OFF = "rejected: calls that act are switched off here"
NO_ADDRESS = (
    "rejected: only addresses that the user gave or a result of this turn named are opened here"
)
NOBODY_MAY = "rejected: it is not known who asked, and nobody else may approve"
TOO_LONG = (
    f"rejected: nobody can be asked about arguments that take more than {SHOWN} characters to "
    "show, as what is not shown whole must not be approved. Use less at a time."
)
VETOED = "rejected by the reviewers"
CHANGES = frozenset({"edited", "unsent", "left"})


def decide_at_once(config: Config, acting: ActingCall, language: str) -> ApprovalDecision | None:
    """The decision that needs neither votes nor a person, who would be asked in a language."""
    call, mode = acting.call, config.approval_mode
    if mode == "auto_approve" and not acting.address:
        return approved(acting)
    if mode == "auto_reject":
        return rejected(call.id, NO_ADDRESS if acting.address else SWITCHED_OFF)
    if not (acting.asker.id or config.approvers):
        return rejected(call.id, NOBODY_MAY)
    shown = render_within_limit(call.arguments, acting.tool.labels_in(language))
    return rejected(call.id, TOO_LONG) if shown is None else None


def decide_by_votes(
    config: Config,
    acting: ActingCall,
    votes: Sequence[Vote],
    arrivals: Sequence[InboundEvent],
) -> ApprovalDecision | None:
    """The decision that the votes are; None where a person decides.

    Args:
        arrivals: wait to be read; an asker who has said more, and people who change or take back
            words, are asked.
    """
    against = [vote for vote in votes if vote.verdict == "reject"]
    if config.review_mode == "veto" and 2 * len(against) > len(votes):
        sentences = " ".join(quotable(vote.sentence, SENTENCE_CAP) for vote in against)
        return rejected(acting.call.id, f"{VETOED}: {sentences}")
    decides = config.review_mode == "decide" and acting.call.name in config.review_tools
    is_unanimous = bool(votes) and all(vote.verdict == "approve" for vote in votes)
    is_news = any(
        one.event in CHANGES or one.author_id in ("", acting.asker.id) for one in arrivals
    )
    is_for_people = acting.tool.unaccepted or acting.address
    if decides and is_unanimous and not is_for_people and not is_news:
        return approved(acting)
    return None


def approved(acting: ActingCall) -> ApprovalDecision:
    """The call is made as it is."""
    return ApprovalDecision(acting.call.id, approved=True, arguments=acting.call.arguments)
