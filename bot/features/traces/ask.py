"""Ask again: what a recorded request asked, of a model that the operator names. Nothing is executed
and nothing delivered."""

from __future__ import annotations

from typing import Any

from bot.agent.single_request import read_response
from bot.agent.turn import NOBODY
from bot.channels import InboundEvent
from bot.errors import KaiwaError, ModelError, SettingsError
from bot.features.traces.asked import asked_in
from bot.features.traces.reading import TracedTurn, TurnWords, usd_of
from bot.features.traces.records import Words
from bot.features.traces.settings import Config
from bot.features.traces.store import Traces
from bot.pipeline.feature import TurnRequest
from bot.pipeline.services import Services
from bot.providers import Request, ToolChoice
from bot.transcript import Message, Spending, encode, new_id

MOST_REASON = 300  # characters of why a model has not answered


class Refused(KaiwaError):
    """The page gets a sentence in place of what it asked.

    Args:
        key: of the table ``inside``.
    """

    def __init__(self, status: int, key: str, detail: str = "") -> None:
        super().__init__(key)
        self.status = status
        self.key = key
        self.detail = detail


class AskAgain:
    """Asks one model once.

    Attributes:
        models: that may be asked, each ``provider:model``.
    """

    def __init__(self, services: Services, config: Config, traces: Traces) -> None:
        self._services = services
        self._traces = traces
        first = f"{services.provider.name}:{services.provider.model}"
        self.models = list(dict.fromkeys((first, *config.fallback_models, *config.reviewers)))

    def check(self, model: str) -> None:
        """Refuse a model that is not among them."""
        if model not in self.models:
            raise Refused(400, "no_model")

    async def ask(
        self, turn: TracedTurn, kept: TurnWords, words: Words, model: str
    ) -> dict[str, Any]:
        """The answer to the same instructions and messages, with the tools that were declared, as
        they are today, and without the vendor's own."""
        conversation = kept.conversation
        if not conversation or await self._traces.is_private(conversation):
            raise Refused(409, "private")
        asked = asked_in(kept.body(words.pieces) or b"", kept.cached(words))
        if asked is None:
            raise Refused(409, "not_a_request")
        known = self._services.tools
        tools = [known[name].definition for name in asked.tools if name in known]
        request = Request(asked.system, asked.messages, tools, ToolChoice(server_tools=False))
        event = InboundEvent(Message(new_id("msg"), "user", (), self._traces.clock()))
        limits = self._services.features.limits
        left = await limits.tokens_left(new_id("turn"), TurnRequest(conversation, event, NOBODY))
        if left is not None and left <= 0:
            raise Refused(409, "no_tokens")
        try:
            provider = self._services.models((model,), "")
            response = await read_response(
                provider.stream(request),
                "again",
                provider.model,
                self._services.metrics,
            )
        except SettingsError as error:
            raise Refused(409, "not_answered", str(error)) from None
        except ModelError as error:
            raise Refused(502, "not_answered", error.cause[:MOST_REASON]) from None
        spending = Spending(response.model, response.usage, NOBODY, 0, is_first=False)
        limits.spend(conversation, spending)
        calls = [{"name": one.name, "arguments": one.arguments} for one in response.message.calls]
        return {
            "model": response.model,
            "messages": len(asked.messages),
            "text": response.message.text,
            "calls": encode(calls).decode() if calls else "",
            "stop_reason": response.stop_reason,
            "tokens": response.usage.total,
            "usd": usd_of({response.model: response.usage}),
        }
