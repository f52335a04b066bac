"""``kaiwa setup slack``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import SecretStr

from bot.channels.slack.config import SECRETS, Config, variable_of
from bot.channels.slack.doctor import check_app_token, check_bot_token
from bot.channels.slack.manifest import manifest
from bot.checks import CheckResult
from bot.cli.setup.address import VARIABLE, ask_address
from bot.cli.setup.answers import Answers, GivenUp, Question, say
from bot.cli.setup.running import running
from bot.ops.doctor import check_address
from bot.settings import NO_SECRET, Settings, environment_value, tool_config

APPS = "https://api.slack.com/apps"
BOT, APP, SIGNING = "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"
NEW_APP = (
    f"Open {APPS}?new_app=1, choose From a manifest and your workspace, and put this\n"
    "in place of what stands there under YAML:\n"
)
WAYS = (
    f"How do events come? Open {APPS} and your app, page Basic Information.\n"
    "- Without a public address (Socket Mode): under App-Level Tokens, press Generate Token, add\n"
    "  the scope connections:write, and copy the token, xapp-…\n"
    "- To a public https address: under App Credentials, copy the Signing Secret."
)


def set_up(answers: Answers, settings: Settings) -> None:
    """Ask for the tokens, show the manifest, and wait for a message; raises as ``Answers.ask``."""
    known = {name.lower(): NO_SECRET for name in SECRETS}
    api = tool_config(Config, known).slack_api_base_url

    async def try_bot(value: str) -> Sequence[CheckResult]:
        if variable_of(value) != BOT:
            return [CheckResult("failure", BOT, _belongs(value), SECRETS[BOT])]
        return await check_bot_token(SecretStr(value), api)

    async def try_way(value: str) -> Sequence[CheckResult]:
        if variable_of(value) == APP:
            return await check_app_token(SecretStr(value), api)
        if variable_of(value) == SIGNING:
            return [CheckResult("ok", SIGNING, "has the right form; the first request tests it")]
        detail = f"{_belongs(value)}; an app token begins with xapp-, a signing secret has"
        fix = "copy it again from Basic Information"
        return [CheckResult("failure", "This", f"{detail} 32 characters of 0-9 and a-f", fix)]

    if not answers.knows(BOT):
        say(NEW_APP)
        say(manifest(settings.bot_name))
    say(f"\nOpen {APPS} and your app, page OAuth & Permissions: press Install to …, and copy the")
    say("Bot User OAuth Token, xoxb-…")
    bot = answers.ask(Question((BOT,), try_bot))
    say(WAYS)
    way = answers.ask(Question((APP, SIGNING), try_way))
    answers.write({BOT: bot, variable_of(way): way})
    with running(answers) as kaiwa:
        if variable_of(way) == SIGNING:
            _show_http_manifest(answers, settings, kaiwa.address)
        say(f"In Slack, open {settings.bot_name} under Apps, and write it: hello")
        say("(waiting; Ctrl-C ends)")
        if not kaiwa.wait_for_hello("slack"):
            raise GivenUp
    say("Slack is set up. Kaiwa has stopped; kaiwa run starts it again.")


def _show_http_manifest(answers: Answers, settings: Settings, here: str) -> None:
    asks_again = answers.is_terminal and not environment_value(VARIABLE)
    doubted = set[str]()

    async def try_address(address: str) -> Sequence[CheckResult]:
        result = await check_address(address)
        if result.result == "ok" or address in doubted or not asks_again:
            return [result]
        # Some networks do not lead their own public address back to them.
        doubted.add(address)
        fix = f"lead it to {here}/; Enter takes it all the same"
        return [replace(result, result="failure", fix=fix)]

    address = ask_address(answers, here, try_address)
    say(f"Open {APPS} and your app, page App Manifest, and put this in place of what stands there.")
    say("When you save it, Slack asks Kaiwa at once:\n")
    say(manifest(settings.bot_name, address))
    say()


def _belongs(value: str) -> str:
    """What is wrong with a value of another form."""
    owner = variable_of(value)
    return f"is the value of {owner}" if owner else "has another form"
