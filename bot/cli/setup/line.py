"""``kaiwa setup line``."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from pydantic import SecretStr

from bot.channels.line import Config
from bot.channels.line.client import Failure
from bot.channels.line.doctor import bad_token, check_bot
from bot.channels.line.doctor import set_up as set_webhook
from bot.channels.line.oauth import find_channel, takes_secret
from bot.channels.line.sdk import Sdk
from bot.checks import CheckResult
from bot.cli.setup.address import ask_address
from bot.cli.setup.answers import Answers, GivenUp, Question, say
from bot.cli.setup.running import running
from bot.settings import NO_SECRET, Settings, tool_config
from bot.texts import load

CONSOLE = "https://developers.line.biz/console/"
TOKEN, SECRET = "LINE_CHANNEL_ACCESS_TOKEN", "LINE_CHANNEL_SECRET"
NO_CHANNEL = (
    "No channel yet? Make an official account at https://manager.line.biz/ and there, under\n"
    "Settings, Messaging API, press Enable Messaging API."
)
SWITCHES = (
    "Open {page}\n"
    "- on: Use webhook, Webhook redelivery and, for groups, Allow bot to join group chats\n"
    "- off: Auto-reply messages, Greeting messages\n"
    "Where the first two are missing: give the address below, switch them on, and press Enter."
)


class _Channel:
    """The channel as far as LINE has said which it is.

    Attributes:
        config: with the values that LINE has taken.
        basic_id: of the account, by which people find it.
        id: of the channel; empty where LINE does not say.
    """

    def __init__(self) -> None:
        self.config = tool_config(Config, {TOKEN.lower(): NO_SECRET, SECRET.lower(): NO_SECRET})
        self.basic_id = ""
        self.id = ""

    def page(self, tab: str) -> str:
        """A tab of its page in LINE's console."""
        return f"{CONSOLE}channel/{self.id}/{tab}" if self.id.isdecimal() else CONSOLE

    async def try_token(self, token: str) -> Sequence[CheckResult]:
        config = self.config.model_copy(update={TOKEN.lower(): SecretStr(token)})
        async with Sdk(config) as sdk:
            try:
                bot = await sdk.get_bot()
            except Failure as failure:
                return [bad_token(failure)]
        try:
            self.id = await find_channel(config)
        except Failure:
            self.id = ""
        self.config, self.basic_id = config, bot.basic_id
        return check_bot(bot)

    async def try_secret(self, secret: str) -> Sequence[CheckResult]:
        config = self.config.model_copy(update={SECRET.lower(): SecretStr(secret)})
        name, is_right, cause = "LINE secret", True, ""
        try:
            # Without an id LINE has not said which channel the token is for.
            is_right = await takes_secret(config, self.id or await find_channel(config))
        except Failure as failure:
            cause = str(failure)
        if not is_right:
            fix = f"copy the Channel secret again: {self.page('basics')}"
            return [CheckResult("failure", name, f"is not that of channel {self.id}", fix)]
        self.config = config
        if cause:
            detail = f"not tested ({cause}); the first webhook shows whether it is right"
            return [CheckResult("warning", name, detail)]
        return [CheckResult("ok", name, f"is that of channel {self.id}")]


def set_up(answers: Answers, settings: Settings) -> None:
    """Ask for token and secret, lead the webhook to Kaiwa, and wait for a message; raises as
    ``Answers.ask``."""
    channel, texts = _Channel(), load()
    if not answers.knows(TOKEN, SECRET):
        say(NO_CHANNEL)
    say(f"Open {CONSOLE}, your provider and channel, and the tab Messaging API.")
    say("At its end, under Channel access token (long-lived), press Issue, and copy the token.")
    token = answers.ask(Question((TOKEN,), channel.try_token))
    say("In the tab Basic settings, copy the Channel secret.")
    secret = answers.ask(Question((SECRET,), channel.try_secret))
    answers.write({TOKEN: token, SECRET: secret})

    async def try_address(address: str) -> Sequence[CheckResult]:
        return await set_webhook(channel.config, address, texts, settings.language)

    with running(answers) as kaiwa:
        say(SWITCHES.format(page=channel.page("messaging-api")))
        ask_address(answers, kaiwa.address, try_address)
        friend = f"https://line.me/R/ti/p/{quote(channel.basic_id)}"
        say(f"Add the bot as a friend, {friend}")
        say("and write it: hello   (waiting; Ctrl-C ends)")
        if not kaiwa.wait_for_hello("line"):
            raise GivenUp
    say("LINE is set up. Kaiwa has stopped; kaiwa run starts it again.")
