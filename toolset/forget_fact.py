"""``forget_fact``: deletes a fact that ``remember`` has kept."""

from __future__ import annotations

from typing import Any, ClassVar

from toolset.titles import Words
from toolset.tool import NoSettings, Risk, ToolContext, ToolError

NOWHERE = "nothing is remembered here: it is not known who asks"


class ForgetFact(NoSettings):
    """A second call for the same fact succeeds too, so a call may be repeated after a crash."""

    name: ClassVar[str] = "forget_fact"
    description: ClassVar[str] = (
        "Deletes one remembered fact about the user. Use it when the user wants a fact forgotten, "
        "or says that it is no longer true. The user sees all facts with /memory, and deletes "
        "everything with /forget me."
    )
    keywords: ClassVar[str] = "forget delete remembered fact memory wrong 忘 記憶 消 覚 削除 メモリ"
    risk: ClassVar[Risk] = "low"
    titles: ClassVar[Words] = {"en": "Forget a fact", "ja": "覚えたことを忘れる"}
    writes: ClassVar[bool] = True

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Delete the fact.

        Raises:
            ToolError: nobody is known to ask, no fact has had this number, or the store does not
                answer.
        """
        if context.facts is None:
            raise ToolError(NOWHERE)
        if not await context.facts.forget(arguments["number"]):
            raise ToolError(f"there is no fact with number {arguments['number']}")
        return {"forgotten": arguments["number"]}
