"""The channel under test and its surroundings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from importlib import import_module

import pytest

from tests.bot.channels.line.rig import Rig, open_rig
from tests.fakes.line import LineFake, line_fake
from tests.fakes.line_traffic import Request

MODELS = {
    "reply": "ReplyMessageRequest",
    "push": "PushMessageRequest",
    "loading": "ShowLoadingAnimationRequest",
    "mark": "MarkMessagesAsReadByTokenRequest",
    "set": "SetWebhookEndpointRequest",
    "test": "TestWebhookEndpointRequest",
    "menu": "RichMenuRequest",
}
DEFAULTS = {"notificationDisabled": False}  # that models write out


@pytest.fixture
def fake() -> Iterator[LineFake]:
    """LINE itself. What it is sent must be what the SDK's models write."""
    with line_fake() as fake:
        yield fake
    for request in fake.requests:
        if request.call in MODELS:
            assert _modelled(request) == DEFAULTS | request.body


@pytest.fixture
async def rig(fake: LineFake) -> AsyncIterator[Rig]:
    """The channel with its settings as they come."""
    async with open_rig(fake) as rig:
        yield rig


def _modelled(request: Request) -> object:
    """A request read and written by the SDK, which raises for values that LINE does not know, and
    drops other names."""
    model = getattr(import_module("linebot.v3.messaging"), MODELS[request.call])
    return DEFAULTS | model.from_dict(request.body).to_dict()
