"""Traces: the hooks. Whoever writes ``/private on`` has no words of the conversation kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from bot.agent.turn import NOBODY
from bot.channels import InboundEvent, KeptSection, Reply
from bot.features.traces.bounds import Bounds
from bot.features.traces.inside import Inside
from bot.features.traces.recorder import Recorder
from bot.features.traces.settings import Config
from bot.features.traces.store import KIND, Traces
from bot.features.traces.weekly import WeeklyReport
from bot.pipeline.feature import CommandContext, Feature
from bot.pipeline.services import Services
from bot.safe_text.glyphs import safe_name
from bot.store import Lease
from bot.telemetry.observed import Observe
from bot.transcript import Message

OPEN = ("console",)  # channels whose words are kept where nothing is set: the operator's own
HOURS = 24  # for which they are kept then
BOUND_S = 10
REPORT_S = 3_600  # between two looks at whether the week's report is due


class Deletions(Feature):
    """What deletes words; it is there also where nothing is traced any more."""

    def __init__(self, services: Services, config: Config) -> None:
        self._services = services
        self._traces = Traces(services.store, max(config.trace_days, 1))
        self.commands = {"private_on": self._private_on, "private_off": self._private_off}
        self.unrecorded = tuple(self.commands)
        self.kept = {KIND: self._traces.erase}

    async def change(
        self, lease: Lease, edits: Mapping[str, Message | None], events: Sequence[InboundEvent]
    ) -> None:
        """Delete the words among which are those that are edited or taken back: later requests of
        the conversation hold them too."""
        await self._traces.delete_words(lease.conversation)

    async def forget_in(self, conversation: str, author_id: str | None) -> None:
        await self._traces.delete_words(conversation)

    async def reset(self, conversation: str) -> None:
        await self._traces.delete_words(conversation)

    async def is_private(self, conversation: str) -> bool:
        return await self._traces.is_private(conversation)

    async def _private_on(self, context: CommandContext) -> Reply:
        return await self._set_private(context, private=True)

    async def _private_off(self, context: CommandContext) -> Reply:
        return await self._set_private(context, private=False)

    async def _set_private(self, context: CommandContext, *, private: bool) -> Reply:
        """Switch it, and say so: in a group also who did it."""
        conversation, event = context.lease.conversation, context.event
        await self._traces.set_private(conversation, private=private)
        key = "traces.private_on" if private else "traces.private_off"
        if not event.group:
            return Reply(self._services.sentence(key, event))
        (known,) = await self._services.known(conversation, [event])
        name = safe_name((known.message.author or NOBODY).name)
        someone = name or self._services.sentence("traces.someone", event)
        return Reply(self._services.sentence(f"{key}_by", event, name=someone))


class KeptTraces(Deletions):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services, config: Config) -> None:
        super().__init__(services, config)
        self._config = config
        self._recorder = Recorder(self._traces, self._hours, services.place, version("kaiwa"))
        self.routes = Inside(services, config, self._traces, self._hours).routes()
        self.every = {BOUND_S: Bounds(services.store, self._traces, self._hours).keep}
        if config.weekly_report:
            self.every[REPORT_S] = WeeklyReport(services, self._traces, services.store.clock).send

    def observer(self, conversation: str, turn_id: str) -> Observe:
        return self._recorder.observer(conversation, turn_id)

    def add_line(self, key: str, conversation: str, event: InboundEvent) -> str:
        """That words are kept, in /help and greetings."""
        hours = self._hours()
        return self._services.sentence("traces.line", event, hours=hours) if hours else ""

    async def overview(self, conversation: str, event: InboundEvent) -> KeptSection | None:
        """That words are kept; None where they are not."""
        if not (hours := self._hours()):
            return None
        title = self._services.sentence("traces.title", event)
        return KeptSection(title, self._services.sentence("traces.line", event, hours=hours))

    async def aclose(self) -> None:
        await self._recorder.aclose()

    def _hours(self) -> int:
        """For how many hours words are kept."""
        if self._config.trace_words_hours is not None:
            return self._config.trace_words_hours
        is_open = all(name in OPEN for name in self._services.channels)
        return HOURS if is_open else 0


def make(services: Services, config: Config) -> Feature:
    """The feature; where nothing is traced, what deletes words alone."""
    return (KeptTraces if config.trace_days else Deletions)(services, config)


FEATURE = make
