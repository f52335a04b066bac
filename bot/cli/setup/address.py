"""The public address of Kaiwa, where platforms send their webhooks."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from bot.checks import CheckResult
from bot.cli.setup.answers import Answers, Question, say
from bot.settings.types import check_public_url

VARIABLE = "PUBLIC_URL"


def ask_address(
    answers: Answers,
    here: str,
    test: Callable[[str], Coroutine[Any, Any, Sequence[CheckResult]]],
) -> str:
    """The public address, written into ``.env``; raises as ``Answers.ask``.

    Args:
        here: where Kaiwa runs.
        test: gets an address of the right form.
    """

    async def try_formed(given: str) -> Sequence[CheckResult]:
        try:
            address = check_public_url(given)
        except ValueError:
            return [CheckResult("failure", VARIABLE, "is no public address", "write https://host")]
        return await test(address)

    say(f"Which public https address leads to {here}/? A tunnel gives one, from another terminal:")
    say(f"    cloudflared tunnel --url {here}")
    say(f"    ngrok http {here}")
    address = answers.ask(Question((VARIABLE,), try_formed, is_secret=False)).rstrip("/")
    answers.write({VARIABLE: address})
    return address
