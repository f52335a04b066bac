"""``kaiwa run`` with accounts of LINE and Slack, of which one has a refused token."""

from __future__ import annotations

import json
import os
import signal
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.bot.channels.accounts.rig import (
    LINE_SECRETS,
    ONE,
    SIGNING,
    TWO,
    answer,
    line_table,
    slack_table,
    variables,
)
from tests.bot.channels.accounts.test_workspaces import open_app, seen_in
from tests.fakes import line_events, slack_events
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.line import LineFake, line_fake
from tests.fakes.slack import APP_TOKEN, SlackFake, slack_fake
from tests.fakes.slack_events import CHANNEL, DIRECT, USER
from tests.fakes.slack_rules import JSON
from tests.process.kaiwa_process import Installation, KaiwaProcess, kaiwa
from tests.process.test_processes import all_ready, members, one_listener
from tests.waiting import until, until_true

pytestmark = pytest.mark.process

NAMES = ["alpha", "bravo", "delta", "omega"]  # a word of each account
FILES = {"APPROVAL_MODE": "auto_approve", "AUTO_APPROVE_ANYWAY": "1", "WORKSPACE_DIR": "files"}


@dataclass
class Platforms:
    """What the accounts lead to."""

    shop: LineFake
    school: LineFake
    one: SlackFake
    two: SlackFake
    gemini: GeminiFake
    here: Installation

    @property
    def counts(self) -> list[int]:
        """How much each has shown."""
        posted = [len(fake.posted) for fake in (self.one, self.two)]
        return [len(self.shop.sent), len(self.school.sent), *posted]

    @property
    def newest(self) -> list[str]:
        """What each has shown last."""
        sent = [str(fake.texts[-1]) for fake in (self.shop, self.school)]
        return [*sent, *(str(fake.posted[-1]) for fake in (self.one, self.two))]

    async def say(
        self,
        running: KaiwaProcess,
        words: str,
        names: list[str],
        number: int,
        *,
        in_group: bool = False,
    ) -> None:
        """The same person, with the same ids and times, says something with a word of their own,
        which stands for ``{}``, in each."""
        for account, fake, name in zip(LINE_SECRETS, (self.shop, self.school), names, strict=False):
            text = words.format(name)
            event = fake.mention(text) if in_group else fake.text(text)
            event["message"]["id"] = f"1000000000000000{number:02}"
            await self.post_line(running, account, {**event, "webhookEventId": f"01E{number}"})
        at = f"17000000{number:02}.000100"
        for slack, name in zip((self.one, self.two), names[2:], strict=True):
            text = words.format(name)
            said = slack_events.message(text, at, channel=DIRECT)
            if in_group:
                slack.add_message(CHANNEL, at, text)
                said = slack_events.message(f"<@{slack.bot}> {text}", at)
            await self.post_slack(running, seen_in("T00000009", said, context_team_id=slack.team))

    async def post_line(self, running: KaiwaProcess, account: str, event: JSON) -> None:
        """What LINE sends to an account."""
        body, headers = line_events.webhook(event, secret=LINE_SECRETS[account])
        assert await running.post(f"/webhooks/line/{account}", body, headers) == 200

    async def post_slack(self, running: KaiwaProcess, payload: JSON) -> None:
        """What Slack sends to the app."""
        body = slack_events.as_body(payload)
        headers = slack_events.signed(body, SIGNING["corp"])
        assert await running.post("/webhooks/slack/corp", body, headers) == 200

    def asked(self) -> list[str]:
        """The requests to the model so far."""
        return [one.raw.decode() for one in self.gemini.requests if one.action != "get"]


def everything(gemini: GeminiFake, redis_url: str) -> dict[str, str]:
    """The variables of Kaiwa with the file, and those that its tables name."""
    return variables() | {
        "PLACES": "places.toml",
        "REDIS_URL": redis_url,
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
    }


@pytest.fixture
async def platforms(tmp_path: Path, gemini: GeminiFake, redis_url: str) -> AsyncIterator[Platforms]:
    """All of them, and an installation with their accounts."""
    with line_fake() as shop, line_fake() as school, slack_fake() as one, slack_fake() as two:
        shop.access_token, school.access_token = "token-of-shop", "token-of-school"
        gemini.always = answer
        tables = [
            line_table("shop", shop),
            line_table("school", school),
            line_table("old", shop).replace("LINE_OLD_", "LINE_SCHOOL_"),
            open_app(one, two),
        ]
        (tmp_path / "places.toml").write_text("\n".join(tables))
        here = Installation(tmp_path, everything(gemini, redis_url))
        yield Platforms(shop, school, one, two, gemini, here)


@pytest.mark.parametrize("options", [(), ("--processes=2",)], ids=["one", "two"])
async def test_accounts_are_served_side_by_side(
    platforms: Platforms, options: tuple[str, ...]
) -> None:
    """Each person is known in their own account alone, also after kill -9 in the middle of their
    turns; the refused account is shown and told, and no secret is in the log."""
    names, here = NAMES, platforms.here
    async with here.run(*options) as running:
        await platforms.say(running, "keep {}", names, 1)
        await until(lambda: platforms.counts == [1, 1, 1, 1], 40)
        async with running.browser() as http:

            async def is_refused() -> bool:
                away = (await http.get("/readyz")).json().get("away", {})
                return list(away) == ["line@old"] and "LINE refuses it" in away["line@old"]

            await until_true(is_refused)
            metrics = (await http.get("/metrics")).text
        for name in ("line@shop", "line@school", "slack@corp.T00000001", f"slack@corp.{TWO}"):
            assert f'kaiwa_messages_accepted_total{{channel="{name}"}} 1.0' in metrics
        await until(lambda: bool(running.log("alert.raised")))
        assert "line@old" in running.log("alert.raised")[0]["notice"]
        first = running.output
        await platforms.say(running, "say {}1", [name[0] for name in names], 2)
        if not options:
            await running.kill()
    async with here.run(*options) as running:
        await until(lambda: min(platforms.counts) == 2, 40)
        await platforms.say(running, "say {}2", [name[0] for name in names], 3)
        await until(lambda: platforms.counts == [3, 3, 3, 3], 40)
        output = first + running.output
    for request in platforms.asked():
        assert sum(name in request for name in names) == 1
    for secret in variables().values():
        assert secret not in output


async def test_two_processes_have_one_socket_for_each_account(
    tmp_path: Path, gemini: GeminiFake, redis_url: str
) -> None:
    """Never two at once; where the process of one is killed, the other process takes it over, and
    each message is answered once."""
    gemini.always = answer
    with slack_fake() as acme, slack_fake() as beta:
        acme.tokens, beta.tokens = {"xoxb-acme"}, {"xoxb-beta"}
        fakes = acme, beta
        for fake in fakes:
            fake.add_user()
        tables = [
            slack_table(name, fake, slack_app_token="APP_TOKEN_OF_ALL")
            for name, fake in zip(("acme", "beta"), fakes, strict=True)
        ]
        (tmp_path / "places.toml").write_text("\n".join(tables))

        def are_connected(sockets: int) -> bool:
            opened = sum(fake.opened for fake in fakes)
            return opened >= sockets and all(fake.connected == 1 for fake in fakes)

        async def say(words: str, number: int) -> None:
            for fake in fakes:
                said = slack_events.message(words, f"170000000{number}.000100", channel=DIRECT)
                fake.send(said)
            await until(lambda: [len(fake.posted) for fake in fakes] == [number] * 2, 40)

        given = everything(gemini, redis_url) | {"APP_TOKEN_OF_ALL": APP_TOKEN}
        here = Installation(tmp_path, given)
        async with (
            here.run("--processes=2") as running,
            one_listener(acme) as never_two_of_acme,
            one_listener(beta) as never_two_of_beta,
        ):
            await until(lambda: are_connected(2), 40)
            await say("say hello", 1)
            os.kill(members(running)[0], signal.SIGKILL)
            await until(lambda: are_connected(3), 40)
            await say("say more", 2)
            assert never_two_of_acme()
            assert never_two_of_beta()


async def test_a_process_that_takes_the_place_of_another_has_its_accounts(
    platforms: Platforms,
) -> None:
    """Until Kaiwa is restarted, whatever the file says by then: the port and its turns are shared
    by all."""
    here, shop = platforms.here, platforms.shop
    async with here.run("--processes=2") as running:
        await all_ready(running, 2)
        (here.folder / "places.toml").write_text(line_table("new", shop, line_pusch="auto"))
        os.kill(members(running)[-1], signal.SIGKILL)
        await until(lambda: bool(running.log("process.replaced")))
        await all_ready(running, 2)
        for number in range(12):
            said = shop.text(f"say {number}", user := f"U{number:032x}", user)
            webhook = line_events.webhook(said, secret=LINE_SECRETS["shop"])
            assert await running.post("/webhooks/line/shop", *webhook) == 200
        await until(lambda: len(shop.sent) == 12, 40)
    async with kaiwa(here.folder, "run", ready="^kaiwa: ", **here.variables) as ended:
        assert await ended.process.wait() == 2


def named_in(*texts: str) -> list[list[str]]:
    """The words of accounts that each of these holds, sorted."""
    return sorted([name for name in NAMES if name in text] for text in texts)


@dataclass
class Day:
    """What a person does who has the same ids in all accounts."""

    platforms: Platforms
    running: KaiwaProcess
    said: int = 0

    async def everywhere(self, words: str, *, in_group: bool = False) -> list[str]:
        """Say something in all accounts; the requests to the model that follow."""
        before, self.said = len(self.platforms.asked()), self.said + 1
        await self.platforms.say(self.running, words, NAMES, self.said, in_group=in_group)
        return await self._requests(before)

    async def send_file(self, account: str, fake: LineFake, data: bytes) -> list[str]:
        """Send a file, whose id is that of a file of the other account."""
        before = len(self.platforms.asked())
        fake.image("100000000000000099", data, "text/plain")
        file = {"id": "100000000000000099", "type": "file", "fileName": "note.txt"}
        event = fake.event(message={**file, "fileSize": len(data)})
        await self.platforms.post_line(self.running, account, event)
        return await self._requests(before)

    async def rate(self, fake: SlackFake, choice: str) -> None:
        """Rate the newest answer."""
        rated = [one for one in fake.messages[DIRECT] if "kaiwa_feedback" in str(one)][-1]
        press = slack_events.press(rated, "kaiwa_feedback", channel=DIRECT, choice=choice)
        await self.platforms.post_slack(self.running, press)

    async def homes(self) -> list[str]:
        """The home tab of each workspace, opened anew."""
        fakes = (self.platforms.one, self.platforms.two)
        for fake in fakes:
            fake.homes.clear()
            await self.platforms.post_slack(
                self.running, seen_in(fake.team, slack_events.home_opened())
            )
        await until(lambda: all(fake.homes for fake in fakes))
        return [str(fake.homes[USER]) for fake in fakes]

    async def _requests(self, before: int) -> list[str]:
        await self.running.idle(seconds=30)
        return self.platforms.asked()[before:]


async def printed(here: Installation, *words: str) -> Any:
    """What a command prints as JSON."""
    async with kaiwa(here.folder, *words, "--json", ready="^never$", **here.variables) as command:
        await command.process.wait()
    return json.loads(command.lines[-1])


async def test_what_people_have_in_one_account_nobody_has_in_another(platforms: Platforms) -> None:
    """History, facts, lists, files, the home tab and ratings; who is forgotten in two accounts is
    known in the others as before."""
    platforms.here.variables |= FILES
    async with platforms.here.run() as running:
        day = Day(platforms, running)
        each = [[name] for name in NAMES for _ in range(2)]  # with the result of a call
        for words in ("keep {}", "write {}", "{} read kept.txt"):
            assert named_in(*await day.everywhere(words)) == each
        for words in ("list {}", "{} show things"):
            assert named_in(*await day.everywhere(words, in_group=True)) == each
        for account, fake, name in (
            ("shop", platforms.shop, "alpha"),
            ("school", platforms.school, "bravo"),
        ):
            data = (name * 3).encode()
            (request,) = await day.send_file(account, fake, data)
            assert data.decode() in request or b64encode(data).decode() in request
            assert named_in(request) == [[name]]
        assert [named_in(home) for home in await day.homes()] == [[["delta"]], [["omega"]]]
        await day.rate(platforms.one, "positive")
        await day.rate(platforms.two, "negative")
        lines = (await printed(platforms.here, "feedback"))["lines"]
        assert {line["channel"]: (line["good"], line["bad"]) for line in lines} == {
            f"slack@corp.{ONE}": (1, 0),
            f"slack@corp.{TWO}": (0, 1),
        }
        forget = line_events.text_message("/forget me")
        await platforms.post_line(running, "school", platforms.school.event(message=forget))
        said = slack_events.message("/forget me", "1700000099.000100", channel=DIRECT)
        await platforms.post_slack(running, seen_in(TWO, said))
        await running.idle(seconds=30)
        known = [[], ["alpha"], ["delta"]]
        assert named_in(*await day.everywhere("what now")) == [[], *known]
        asked = await day.everywhere("now read kept.txt")
        assert named_in(*asked) == sorted([[], *known] * 2)
        assert [named_in(home) for home in await day.homes()] == [[["delta"]], [[]]]


OF_A_PERSON, OF_A_PLACE = "上限（4件）", "ここで本日使える量"  # in sentences about a spent day


async def test_limits_of_one_account_leave_the_others(platforms: Platforms) -> None:
    """Those of a person, and those of a place that names an account."""
    here = platforms.here
    here.variables["DAILY_USER_MESSAGES"] = "4"
    async with here.run() as running:
        day = Day(platforms, running)

        async def refusals(sentence: str) -> list[bool]:
            """By account, whether what everybody says is refused with this sentence."""
            before = platforms.counts
            await day.everywhere("say {}")
            assert platforms.counts == [count + 1 for count in before]
            return [sentence in newest for newest in platforms.newest]

        for number in range(50, 53):
            said = slack_events.message("say more", f"17000000{number}.1", channel=DIRECT)
            await platforms.post_line(running, "shop", platforms.shop.text("say more"))
            await platforms.post_slack(running, seen_in(TWO, said))
            await running.idle(seconds=30)
        assert await refusals(OF_A_PERSON) == [False, False, False, False]
        assert await refusals(OF_A_PERSON) == [True, False, False, True]
        file = here.folder / "places.toml"
        limited = ("school", f"corp.{ONE}")
        tables = [f'[[place]]\naccount = "{account}"\ntokens = 1\n' for account in limited]
        file.write_text("\n".join([file.read_text(), *tables]))
        await until(lambda: len(running.log("places.read")) == 2)
        assert await refusals(OF_A_PLACE) == [False, False, False, False]
        assert await refusals(OF_A_PLACE) == [False, True, True, False]


async def test_a_wrong_account_is_one_line(platforms: Platforms) -> None:
    """It names the table and its field."""
    here = platforms.here
    file = here.folder / "places.toml"
    file.write_text(file.read_text().replace('"shop"', '"shop"\nline_pusch = "auto"'))
    async with kaiwa(here.folder, "run", ready="^kaiwa: ", **here.variables) as ended:
        assert await ended.process.wait() == 2
    [line] = [line for line in ended.lines if line.startswith("kaiwa: ")]
    assert line.startswith("kaiwa: PLACES: places.toml, line 4, account 1, line_pusch: there is no")
    assert "Traceback" not in ended.output
