"""Notes for the model about the place that a source found."""

from __future__ import annotations

from toolset.forecast.report import Place


def ambiguous(asked: str, regions: str, found: Place) -> str:
    """Several places have the name."""
    return (
        f"{asked} may be the one in {regions} or elsewhere; this is for {found}. "
        "Unless the user has said which is meant, ask."
    )


def dissimilar(asked: str, found: Place) -> str:
    """The place that was found has another name or region."""
    return (
        f"{asked} was found at {found}. If that is not in or near the place the user means, ask "
        "which is meant."
    )
