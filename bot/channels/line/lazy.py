"""LINE's SDK is loaded when it is first needed, in a thread: neither the start nor a webhook waits for it."""

from __future__ import annotations

import asyncio
import gc
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.channels.line.client import Api


class LazyApi:
    """Opens the API once; call it to get it.

    Args:
        timeout_s: of one request.
    """

    def __init__(self, access_token: str, base_url: str, data_base_url: str, timeout_s: float = 10.0) -> None:
        self._arguments = (access_token, base_url, data_base_url, timeout_s)
        self._opening = asyncio.Lock()
        self._api: Api | None = None

    async def __call__(self) -> Api:
        async with self._opening:
            if self._api is None:
                module = await asyncio.to_thread(import_module, "bot.channels.line.client")
                self._api = module.Api(*self._arguments)
                gc.freeze()  # the SDK's thousands of classes stay: no full collection need look at them again
            return self._api

    async def aclose(self) -> None:
        """Close the API, if it was opened."""
        if self._api is not None:
            await self._api.aclose()
