"""``kaiwa setup gemini``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pydantic import SecretStr

from bot.checks import CheckResult
from bot.cli.setup.answers import Answers, GivenUp, Question, say
from bot.cli.setup.running import running
from bot.ops.doctor import check_model
from bot.providers.registry import open_model
from bot.settings import Settings

KEY = "GEMINI_API_KEY"
DEFAULT = "gemini:gemini-flash-latest"
CLICK = "Open https://aistudio.google.com/apikey, press Create API key, and copy the key."


def set_up(answers: Answers, settings: Settings) -> None:
    """Ask for the key, and wait for a message on the page; raises as ``Answers.ask``."""
    model = settings.model if settings.model.startswith("gemini:") else DEFAULT

    async def try_key(key: str) -> Sequence[CheckResult]:
        known = settings.model_copy(update={"gemini_api_key": SecretStr(key)})
        return await check_model("Gemini", model, partial(open_model, known))

    if not answers.knows(KEY):
        say(CLICK)
    answers.write({KEY: answers.ask(Question((KEY,), try_key))})
    if settings.model and settings.model != model:
        say(f"MODEL={settings.model} is still asked in its place: empty MODEL in .env.")
    with running(answers) as kaiwa:
        say(f"Open {kaiwa.address}/ and write: hello   (waiting; Ctrl-C ends)")
        if settings.makes_console_token:
            say(f"The page asks for the token in {settings.console_token_path}.")
        if not kaiwa.wait_for_hello("console"):
            raise GivenUp
    say("Gemini is set up. Kaiwa has stopped; kaiwa run starts it again.")
