"""``kaiwa run`` with accounts of LINE and Slack, of which one has a refused token."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.bot.channels.accounts.rig import (
    LINE_SECRETS,
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
from tests.fakes.slack_events import DIRECT
from tests.process.kaiwa_process import Installation, KaiwaProcess, kaiwa
from tests.process.test_processes import all_ready, members, one_listener
from tests.waiting import until, until_true

pytestmark = pytest.mark.process


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

    async def say(self, running: KaiwaProcess, words: str, names: list[str], number: int) -> None:
        """The same person, with the same ids and times, says a word of their own in each."""
        for account, fake, name in zip(LINE_SECRETS, (self.shop, self.school), names, strict=False):
            event = fake.text(f"{words} {name}")
            event["message"]["id"] = f"10000000000000000{number}"
            body, headers = line_events.webhook(
                {**event, "webhookEventId": f"01E{number}"}, secret=LINE_SECRETS[account]
            )
            assert await running.post(f"/webhooks/line/{account}", body, headers) == 200
        at = f"170000000{number}.000100"
        for team, name in zip(("T00000001", TWO), names[2:], strict=True):
            said = slack_events.message(f"{words} {name}", at, channel=DIRECT)
            body = slack_events.as_body(seen_in("T00000009", said, context_team_id=team))
            headers = slack_events.signed(body, SIGNING["corp"])
            assert await running.post("/webhooks/slack/corp", body, headers) == 200


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
        given = {
            "PLACES": "places.toml",
            "REDIS_URL": redis_url,
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        }
        here = Installation(tmp_path, variables() | given)
        yield Platforms(shop, school, one, two, gemini, here)


@pytest.mark.parametrize("options", [(), ("--processes=2",)], ids=["one", "two"])
async def test_accounts_are_served_side_by_side(
    platforms: Platforms, options: tuple[str, ...]
) -> None:
    """Each person is known in their own account alone, also after kill -9 in the middle of their
    turns; the refused account is shown and told, and no secret is in the log."""
    names = ["alpha", "bravo", "delta", "omega"]
    gemini, here = platforms.gemini, platforms.here
    async with here.run(*options) as running:
        await platforms.say(running, "keep", names, 1)
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
        await platforms.say(running, "say", ["a1", "b1", "d1", "o1"], 2)
        if not options:
            await running.kill()
    async with here.run(*options) as running:
        await until(lambda: min(platforms.counts) == 2, 40)
        await platforms.say(running, "say", ["a2", "b2", "d2", "o2"], 3)
        await until(lambda: platforms.counts == [3, 3, 3, 3], 40)
        output = first + running.output
    for request in [one.raw.decode() for one in gemini.requests if one.action != "get"]:
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
        given = {
            "PLACES": "places.toml",
            "REDIS_URL": redis_url,
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
            "APP_TOKEN_OF_ALL": APP_TOKEN,
        }

        def are_connected(sockets: int) -> bool:
            opened = sum(fake.opened for fake in fakes)
            return opened >= sockets and all(fake.connected == 1 for fake in fakes)

        async def say(words: str, number: int) -> None:
            for fake in fakes:
                said = slack_events.message(words, f"170000000{number}.000100", channel=DIRECT)
                fake.send(said)
            await until(lambda: [len(fake.posted) for fake in fakes] == [number] * 2, 40)

        here = Installation(tmp_path, variables() | given)
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
