"""Google's own tools beside ours: Gemini 3 and later, by an API key.

https://ai.google.dev/gemini-api/docs/tool-combination
"""

from __future__ import annotations

from bot.providers.gemini.failures import ServiceError, names_a_limit, refuses_key
from bot.providers.gemini.request import FAMILY, JSON, is_third
from bot.providers.shared.entry import AUTO_TOOLS

FIELDS = {
    "google_search": "googleSearch",
    "url_context": "urlContext",
    "code_execution": "codeExecution",
}
# These tools open addresses that the model chooses.
OPENING = frozenset({"url_context"})
# A quota whose metric ends so has nothing to do with search.
OF_MODEL = "/generate_content"


def own_tools(chosen: tuple[str, ...], model: str) -> tuple[str, ...]:
    """The names of Google's tools among those chosen; with ``AUTO_TOOLS`` the search, if the model
    takes it."""
    if chosen != AUTO_TOOLS:
        return tuple(name for name in chosen if name in FIELDS)
    match = FAMILY.match(model)
    if match and is_third(match):
        return ("google_search",)
    return ()


def declared(names: tuple[str, ...]) -> JSON:
    """These tools as fields of a ``Tool``."""
    return {FIELDS[name]: {} for name in names}


def may_be_refusal(error: ServiceError) -> bool:
    """Whether Google's own tools may be what is refused; only the same request without them can
    tell.

    Not every 400 names them ("Request contains an invalid argument."). A key without a quota of
    searches, as in the free tier, gets a 429 that names no quota and no time: its details hold only
    ``google.rpc.Help``.
    """
    if error.code == 429:
        return not (names_a_limit(error) or OF_MODEL in error.message)
    return error.code == 400 and not refuses_key(error)
