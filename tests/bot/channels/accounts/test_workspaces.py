"""One Slack app in two workspaces, with a token for each: one webhook, or one socket, for both."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.channels.registry import channel_checks
from bot.settings import Settings, load
from tests.bot.channels.accounts.rig import (
    APP_TOKEN,
    ONE,
    SIGNING,
    TWO,
    Accounts,
    open_accounts,
    slack_table,
)
from tests.bot.channels.test_registry import open_host
from tests.fakes import slack_events
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.slack import SlackFake, slack_fake
from tests.fakes.slack_events import BOT, CHANNEL, DIRECT, as_body, signed
from tests.fakes.slack_rules import JSON
from tests.fakes.stored_files import PNG
from tests.waiting import until

OTHER_BOT = "U0000000C"
FIRST, SECOND = "1700000000.000100", "1700000009.000100"
TEAMS = '{ T00000001 = "SLACK_ONE_TOKEN", T00000002 = "SLACK_TWO_TOKEN" }'


@dataclass
class App:
    """The process, and the two workspaces."""

    kaiwa: Accounts
    one: SlackFake
    two: SlackFake

    @property
    def answers(self) -> list[list[str]]:
        """What was posted in each workspace."""
        return [
            [str(posted.get("markdown_text") or posted.get("text")) for posted in fake.posted]
            for fake in self.fakes
        ]

    @property
    def fakes(self) -> tuple[SlackFake, SlackFake]:
        return self.one, self.two

    def written(self, text: str, ts: str, **fields: Any) -> JSON:
        """A message in a channel that both workspaces have."""
        for fake in self.fakes:
            if not fields.get("thread_ts"):
                fake.add_message(CHANNEL, ts, text)
        return slack_events.message(text, ts, **fields)


def seen_in(team: str, payload: JSON, **fields: Any) -> JSON:
    """An event that Slack sends for a workspace."""
    return {**payload, "team_id": team, "authorizations": [], **fields}


@pytest.fixture
async def app(
    settings: Settings, gemini: GeminiFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[App]:
    with slack_fake() as one, slack_fake() as two:
        table = open_app(one, two)
        variables = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        async with open_accounts(tmp_path, monkeypatch, gemini, table, **variables) as kaiwa:
            yield App(kaiwa, one, two)


def open_app(one: SlackFake, two: SlackFake, **fields: str) -> str:
    """Its table; the API knows both tokens."""
    one.tokens, two.tokens, two.bot = {"xoxb-one"}, {"xoxb-two"}, OTHER_BOT
    two.team = TWO
    one.others = {"xoxb-two": two}
    for fake in (one, two):
        fake.add_user()
    return slack_table(
        "corp", one, slack_bot_tokens=TEAMS, slack_follow_threads="{1}", **fields
    ).replace("{1}", "true")


async def test_an_event_is_for_the_workspace_that_has_seen_it(app: App) -> None:
    """``context_team_id`` comes before ``team_id``, which may be the sender's; the same people and
    channels there are others."""
    said = slack_events.message("keep alpha", "1700000001.1", channel=DIRECT)
    await app.kaiwa.slack("corp", seen_in(TWO, said, context_team_id=ONE))
    assert (len(app.answers[0]), app.answers[1]) == (1, [])
    said = slack_events.message("keep omega", "1700000001.1", channel=DIRECT)
    await app.kaiwa.slack("corp", seen_in(TWO, said))
    assert [len(each) for each in app.answers] == [1, 1]
    assert [one.count("alpha") for one in app.kaiwa.asked()[-2:]] == [0, 0]
    names = [name for name in app.kaiwa.runtime.channels if name != "console"]
    assert names == [f"slack@corp.{ONE}", f"slack@corp.{TWO}"]


async def test_the_bot_that_is_mentioned_answers(app: App) -> None:
    """In a channel that both workspaces share, whichever of them Slack names; in its thread it goes
    on alone, and a change reaches it."""
    asked = app.written(f"<@{OTHER_BOT}> say hello", FIRST)
    shared = {"is_ext_shared_channel": True, "context_team_id": ONE}
    await app.kaiwa.slack("corp", seen_in(ONE, asked, **shared))
    assert app.answers == [[], ["You say hello."]]
    goes_on = app.written("and say more", "1700000002.1", thread_ts=FIRST)
    await app.kaiwa.slack("corp", seen_in(ONE, goes_on, **shared))
    assert app.answers == [[], ["You say hello.", "You say more."]]
    changed = slack_events.edited(
        "and say nothing", "and say more", "1700000002.1", thread_ts=FIRST
    )
    await app.kaiwa.slack("corp", seen_in(ONE, changed, **shared))
    assert "nothing" in app.kaiwa.asked()[-1]
    called = app.written(f"<@{BOT}> say hi", SECOND)
    await app.kaiwa.slack("corp", seen_in(TWO, called, **shared | {"context_team_id": TWO}))
    assert app.answers[0] == ["You say hi."]


async def test_nobody_reaches_another_workspace_by_naming_its_bot(app: App) -> None:
    """In a channel that is not shared; nor is one asked whose bot has the same id."""
    asked = app.written(f"<@{OTHER_BOT}> say hello", FIRST)
    await app.kaiwa.slack("corp", seen_in(ONE, asked, is_ext_shared_channel=False))
    assert (app.answers, app.kaiwa.asked()) == ([[], []], [])
    twin: Any = app.kaiwa.runtime.channels[f"slack@corp.{TWO}"]
    twin.identity.user = BOT
    await app.kaiwa.slack("corp", seen_in(ONE, app.written(f"<@{BOT}> say hello", SECOND)))
    assert app.answers == [["You say hello."], []]


async def test_a_channel_of_strangers_is_seen_by_whoever_is_installed(app: App) -> None:
    """Slack names the workspace to which the channel belongs, and for which of ours the event is
    among the authorizations."""
    said = slack_events.message("say hello", "1700000001.1", channel=DIRECT)
    strangers = {"context_team_id": "T00000009", "is_ext_shared_channel": True}
    granted = {"team_id": TWO, "user_id": OTHER_BOT, "is_bot": True}
    event = seen_in("T00000009", said, **strangers) | {"authorizations": [granted]}
    await app.kaiwa.slack("corp", event)
    assert app.answers == [[], ["You say hello."]]


async def test_what_is_no_event_goes_to_its_workspace(app: App) -> None:
    """A command and a press by their team; a button of ours by what it names."""
    command = {**slack_events.command("/help", channel=DIRECT), "team_id": TWO}
    await app.kaiwa.slack("corp", command)
    assert [len(each) for each in app.answers] == [0, 1]
    await app.kaiwa.slack("corp", seen_in(TWO, slack_events.home_opened()))
    assert [len(fake.homes) for fake in app.fakes] == [0, 1]
    mentioned = app.written(f"<@{OTHER_BOT}> poll omega", FIRST)
    await app.kaiwa.slack("corp", seen_in(TWO, mentioned))
    poll, vote = next(
        (one, button["action_id"])
        for one in app.two.messages[CHANNEL]
        for block in one.get("blocks", ())
        for button in block.get("elements", ())
        if str(button.get("action_id")).startswith("poll")
    )
    before = len(app.two.called("chat.update"))
    await app.kaiwa.slack("corp", slack_events.press(poll, vote))  # its team is the other one
    assert len(app.two.called("chat.update")) == before + 1
    assert app.one.called("chat.update") == []


async def test_an_unknown_workspace_is_logged(app: App) -> None:
    """The app may be installed where nobody has named its token; Slack's own check of the address
    is answered all the same."""
    said = slack_events.message("hello", "1700000001.1", channel=DIRECT)
    with capture_logs() as logged:
        await app.kaiwa.slack("corp", seen_in("T00000009", said))
        chosen = slack_events.shortcut({"ts": FIRST, "text": "hello"}, "kaiwa_ask")
        strangers = {"id": "T00000008", "domain": "strangers"}
        user = {"id": slack_events.USER, "team_id": "T00000008"}
        await app.kaiwa.slack("corp", chosen | {"team": strangers, "user": user})
    lines = [one for one in logged if one["event"] == "slack.workspace_unknown"]
    assert [(line["channel"], line["team"]) for line in lines] == [
        ("slack@corp", "T00000009"),
        ("slack@corp", "T00000008"),
    ]
    assert app.answers == [[], []]
    body = as_body({"type": "url_verification", "challenge": "c"})
    answered = await app.kaiwa.http.post(
        "/webhooks/slack/corp", content=body, headers=signed(body, SIGNING["corp"])
    )
    assert json.loads(answered.text) == {"challenge": "c"}


async def test_one_socket_is_for_both(
    settings: Settings, gemini: GeminiFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app's token is the account's."""
    with slack_fake() as one, slack_fake() as two:
        table = open_app(one, two, slack_app_token="CORP_APP_TOKEN")
        variables = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        variables |= {"CORP_APP_TOKEN": APP_TOKEN}
        async with open_accounts(tmp_path, monkeypatch, gemini, table, **variables) as kaiwa:
            await until(lambda: one.connected == 1)
            said = slack_events.message("say hello", "1700000001.1", channel=DIRECT)
            one.send(seen_in(TWO, said))
            await until(lambda: bool(kaiwa.due))
            await kaiwa.process()
            assert ([len(one.posted), len(two.posted)], one.opened) == ([0, 1], 1)


async def test_a_token_of_another_workspace_is_refused(
    settings: Settings, gemini: GeminiFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would answer what it has not been asked: nothing is called or fetched with it, and what
    waits for the right one stays."""
    with slack_fake() as one, slack_fake() as two:
        table = open_app(one, two)
        two.team = "T00000003"
        one.files["/files-pri/cat.png"] = (PNG, "image/png")
        one.tokens.add("xoxb-two")  # files are at one address
        picture = slack_events.image(url=f"{one.origin}/files-pri/cat.png")
        variables = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        async with open_accounts(tmp_path, monkeypatch, gemini, table, **variables) as kaiwa:
            name, cause = f"slack@corp.{TWO}", f"the token of {TWO} is another workspace's"
            assert kaiwa.runtime.access.missing == {name: f"slack_bot_tokens: {cause}"}
            said = slack_events.message(
                "say hello", "1700000001.1", channel=DIRECT, files=[picture], subtype="file_share"
            )
            with capture_logs() as logged:
                await kaiwa.slack("corp", seen_in(TWO, said))
            [put_off] = [line for line in logged if line["event"] == "delivery.postponed"]
            assert (put_off["channel"], cause in put_off["cause"]) == (name, True)
            assert {call.method for call in two.calls} == {"auth.test"}
            assert b64encode(PNG).decode() not in kaiwa.asked()[-1]
            waiting = kaiwa.runtime.conversations.services.store.outbox
            assert b"You say" in (await waiting.head(f"{name}:{TWO}:{DIRECT}") or b"")
            misled: Any = kaiwa.runtime.channels[name]
            assert not misled.identity.users
            checked = await channel_checks(load(), open_host)["Slack corp"]()
            told = [(one.name, one.detail) for one in checked if one.result == "failure"]
            assert told == [(f"Slack corp token {TWO}", f"slack_bot_tokens: {cause}")]


async def test_approvers_are_an_accounts_own(
    settings: Settings, gemini: GeminiFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of APPROVERS are other people there."""
    with slack_fake() as one, slack_fake() as two:
        tables = open_app(one, two, approvers="U2"), slack_table("acme", two)
        two.tokens |= {"xoxb-acme"}
        variables = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        variables |= {"APPROVERS": "U1"}
        async with open_accounts(tmp_path, monkeypatch, gemini, *tables, **variables) as kaiwa:
            settings_of = kaiwa.runtime.conversations.services.settings_of
            assert settings_of(f"slack@corp.{ONE}:{ONE}:C1", "U1").approvers == ("U2",)
            assert settings_of(f"slack@acme:{ONE}:C1", "U1").approvers == ()
            assert settings_of(f"slack:{ONE}:C1", "U1").approvers is None
