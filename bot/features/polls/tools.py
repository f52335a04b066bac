"""``start_poll``: a question with a button for each option, on which the people of a place vote."""

from __future__ import annotations

from typing import Any

from bot.features.polls.tool_polls import ToolPolls
from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError

NOWHERE = (
    "no poll can be started here: only one person sees this answer, or it is not known who asks"
)


class StartPoll(Tool):
    """A repeated call starts no second poll."""

    name = "start_poll"
    description = (
        "Starts a poll: everybody here votes by buttons. Use it when somebody wants a vote, or "
        "people have to choose a date, a place or the like. It is shown below your answer: write "
        "one short sentence and do not repeat it."
    )
    risk = "low"
    titles = words(en="Start a poll", ja="投票を始める")
    writes = True

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Start the poll.

        Raises:
            ToolError: too many are open, an option has no words or comes twice, or the store cannot
                take it.
        """
        polls = context.store(ToolPolls)
        if polls is None:
            raise ToolError(NOWHERE)
        poll_id = await polls.start(
            arguments["question"],
            arguments["options"],
            multiple=arguments.get("multiple", False),
            idempotency_key=context.idempotency_key,
        )
        return {"poll": poll_id}
