"""People who wait for an answer: features are told of them, and of addresses that expire."""

from __future__ import annotations

import asyncio

from bot.channels import Abilities, InboundEvent, Validity
from bot.pipeline.feature import Feature, ParkedTurn
from bot.providers.scripted import Step
from bot.store import Lease, Store
from tests.bot.harness import Harness, Mailbox
from tests.waiting import until


class Expires(Mailbox):
    """Its addresses hold for no time."""

    abilities = Abilities(expires=True)

    def validity(self, address: str) -> Validity:
        return Validity("", "", left_s=0)


class Notes(Feature):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    async def while_waiting(
        self,
        lease: Lease,
        asked: InboundEvent | None = None,
        parked: ParkedTurn | None = None,
    ) -> float | None:
        if asked:
            self.told.append(("waits", asked.address))
        return None

    async def address_expired(self, lease: Lease, event: InboundEvent, *, private: bool) -> None:
        self.told.append(("expired", event.address))


async def test_features_are_told_of_who_waits_and_of_expired_addresses(store: Store) -> None:
    """The first while the answer is made, the second before it is stored."""
    notes, step = Notes(), Step("Hello!", gate=asyncio.Event())
    harness = Harness(store, [step], Expires(), also=[lambda _: notes])
    await harness.receive("hi", "m1", "token")
    turn = asyncio.create_task(harness.process())
    await until(lambda: notes.told == [("waits", "token")])
    assert step.gate is not None
    step.gate.set()
    await turn
    assert notes.told == [("waits", "token"), ("expired", "token")]
    assert [one.address for one in harness.box.delivered] == [""]
