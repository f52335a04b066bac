"""Whether platforms take our secrets: asked at the start, and until each has answered.

A refusal ends the start; with accounts, only if no other channel is up. A platform that is away
does not: what people send waits there, and answers wait in the outbox.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from bot.channels import Channel, Notify
from bot.errors import DeliverLater, TokenRefused
from bot.tasks import run_beside

log = structlog.stdlib.get_logger(__name__)

START_S = 3.0
AGAIN_S = 1.0  # doubled after each attempt
LONGEST_S = 60.0
REFUSED_S = 300.0


class Access:
    """Asks the platforms.

    Args:
        ends: a refusal while the start waits ends it.
        start_s: so long the start waits for answers.
        again_s: before a platform that is away is asked for the second time, and longer each time
            after that; ``refused_s`` if it has refused.

    Attributes:
        missing: the channels whose platform has not taken the secrets yet, each with the cause.
    """

    def __init__(
        self,
        notify: Notify,
        *,
        ends: bool,
        start_s: float = START_S,
        again_s: float = AGAIN_S,
        refused_s: float = REFUSED_S,
    ) -> None:
        self._notify = notify
        self._ends = ends
        self._start_s = start_s
        self._again_s = again_s
        self._refused_s = refused_s
        self.missing: dict[str, str] = {}
        self._goes_on = asyncio.Event()

    @asynccontextmanager
    async def check(self, channels: Mapping[str, Channel]) -> AsyncIterator[None]:
        """Ask the platforms of these channels; while the context is open, ask those again that are
        away.

        Raises:
            TokenRefused: a platform refuses a secret, if that is to end the start.
        """
        loop = asyncio.get_running_loop()
        answers = {name: loop.create_future() for name in channels}
        async with AsyncExitStack() as stack:
            for name, channel in channels.items():
                asking = self._ask_until_taken(name, channel, answers[name])
                await stack.enter_async_context(run_beside(asking))
            if answers:
                await asyncio.wait(answers.values(), timeout=self._start_s)
            for name, answer in answers.items():
                if not answer.done():
                    self._note(name, "no answer yet")
            self._end_or_go_on({one: it.result() for one, it in answers.items() if it.done()})
            yield

    def _end_or_go_on(self, answered: Mapping[str, TokenRefused | None]) -> None:
        """Raise a refusal that is to end the start; others are told from now on."""
        has_accounts = any("@" in name for name in answered)
        is_up = any(not cause and name not in self.missing for name, cause in answered.items())
        for name, refused in answered.items():
            if refused and not (has_accounts and is_up):
                raise TokenRefused(f"{name}: {refused}" if "@" in name else str(refused))
            if refused:
                self._note(name, str(refused))
        self._ends = False
        self._goes_on.set()

    def _note(self, name: str, cause: str) -> None:
        if name not in self.missing:
            log.warning("platform.away", channel=name, cause=cause)
        self.missing[name] = cause

    async def _ask_until_taken(
        self, name: str, channel: Channel, answer: asyncio.Future[TokenRefused | None]
    ) -> None:
        """Ask a platform until it takes the secrets.

        Args:
            answer: gets the refusal that may end the start, or None for any other first answer.
        """
        again_s = self._again_s
        while True:
            try:
                await channel.check_access()
            except TokenRefused as refused:
                if self._ends and not answer.done():
                    answer.set_result(refused)
                    await self._goes_on.wait()
                cause, detail, wait_s = "token_refused", str(refused), self._refused_s
            except DeliverLater as later:
                cause, detail, wait_s = "platform_away", str(later), max(again_s, later.after)
                again_s = min(again_s * 2, LONGEST_S)
            except Exception as error:  # whatever it is, the platform is asked again
                log.exception("platform.not_asked", channel=name)
                cause, detail, wait_s = "platform_away", type(error).__name__, LONGEST_S
            else:
                if self.missing.pop(name, ""):
                    log.info("platform.back", channel=name)
                if not answer.done():
                    answer.set_result(None)
                return
            self._note(name, detail)
            if not answer.done():
                answer.set_result(None)
            await self._notify(cause, detail, platform=name)
            await asyncio.sleep(wait_s)
