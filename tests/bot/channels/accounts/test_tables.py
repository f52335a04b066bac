"""The ``[[account]]`` tables: what a start says of a wrong one, and what is said of those that are
right."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.channels.access import Access
from bot.channels.accounts import keep_accounts, variables_of
from bot.channels.registry import (
    accounts_of,
    channel_checks,
    channel_secrets,
    check_channels,
    describe_channels,
    open_to_everybody,
    ways_in,
)
from bot.checks import CheckResult
from bot.errors import SettingsError, TokenRefused
from bot.settings import Settings, load
from tests.bot.channels.accounts.rig import ONE, TWO, table, variables
from tests.bot.channels.accounts.test_workspaces import open_app
from tests.bot.channels.test_access import Guarded, Operator
from tests.bot.channels.test_registry import open_host
from tests.fakes.line import LineFake
from tests.fakes.slack import slack_fake
from tests.fakes.slack_events import CHANNEL
from tests.waiting import until

LINE = {
    "line_channel_secret": "LINE_SHOP_SECRET",
    "line_channel_access_token": "LINE_SHOP_TOKEN",
}
TOKENS = '{ T00000001 = "SLACK_ONE_TOKEN", T00000002 = "SLACK_TWO_TOKEN" }'
SLACK = {"slack_bot_tokens": TOKENS, "slack_signing_secret": "SLACK_CORP_SECRET"}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """PLACES, with the variables of accounts set."""
    path = tmp_path / "places.toml"
    path.write_text("")
    for name, value in variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PLACES", str(path))
    monkeypatch.setenv("KAIWA_DATA_DIR", str(tmp_path / "data"))
    return path


def loaded(file: Path, *tables: str) -> Settings:
    """The settings with these tables."""
    file.write_text("\n".join(tables))
    return load()


def line(name: str = "shop", **fields: str) -> str:
    """An account of LINE."""
    return table("line", name, **LINE | fields)


def slack(name: str = "corp", **fields: str) -> str:
    """An account of Slack in two workspaces."""
    return table("slack", name, **SLACK | fields)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (table("matrix", "shop"), "line 2, account 1, platform: write line or slack"),
        (table("line", "My Shop"), "line 3, account 1, name: write a name of your own"),
        (line() + line(), "line 8, account 2, name: another table has .* path /webhooks/line/shop"),
        (
            line(line_pusch="auto"),
            "line 6, account 1, line_pusch: there is no such field; .*line_p",
        ),
        (line(line_push="often"), "line 6, account 1, line_push: write 'auto', 'always' or"),
        (line(line_channel_secret="a" * 32), "line_channel_secret: write the name of a variable"),
        (slack(slack_bot_tokens='{ T1234 = "xoxb-1" }'), "slack_bot_tokens: write the name of a v"),
        (slack(slack_bot_tokens='{ here = "SLACK_ONE_TOKEN" }'), "tokens: name each token by the"),
        (slack(slack_bot_tokens='{ E1234 = "SLACK_ONE_TOKEN" }'), "tokens: name each token by the"),
        (slack(slack_bot_tokens='{ T1234 = "LINE_SHOP_TOKEN" }'), "tokens: one holds something"),
        (slack(slack_bot_token="SLACK_ONE_TOKEN"), "slack_bot_token: leave it out beside"),
        (slack(slack_signing_secret="NOT_SET"), "slack_signing_secret: the variable .* is not set"),
        (table("line", "shop"), "line 1, account 1: has no secret; write the fields"),
        (
            table("line", "shop", line_channel_secret="LINE_SHOP_SECRET"),
            "line_channel_access_token: ",
        ),
    ],
)
def test_a_wrong_table_stops_the_start(file: Path, wrong: str, said: str) -> None:
    """One line names the file, the line, the table, the field and the mend, and no secret."""
    with pytest.raises(SettingsError, match=f"^PLACES: places.toml, .*{said}") as refused:
        check_channels(loaded(file, wrong))
    shown = str(refused.value)
    assert "\n" not in shown
    assert "a" * 32 not in shown
    assert not any(value in shown for value in variables().values())


def test_what_an_operator_is_told_of_accounts(file: Path) -> None:
    """A line for each in the start report; a platform that is off says nothing beside them."""
    settings = loaded(file, line(), slack(allowed_users="U00000001"))
    shop, corp = describe_channels(settings)
    assert (shop.name, shop.detail.split(";")[0]) == (
        "LINE shop",
        "answers everybody at /webhooks/line/shop",
    )
    assert (corp.name, corp.detail) == (
        "Slack corp",
        "answers allowed users and channels at /webhooks/slack/corp, in T00000001, T00000002",
    )
    assert open_to_everybody(settings) == ["LINE shop"]
    assert ways_in(settings) == ["LINE shop", "Slack corp"]
    assert settings.webhooks_on
    assert settings.makes_console_token
    assert variables_of(settings) >= {*LINE.values(), "SLACK_CORP_SECRET", "SLACK_ONE_TOKEN"}


def test_the_log_strikes_out_the_secrets_of_accounts(file: Path) -> None:
    """Those of each workspace too."""
    secrets = channel_secrets(loaded(file, line(), slack()))
    assert {"a" * 32, "token-of-shop", "e" * 32, "xoxb-one", "xoxb-two"} <= set(secrets)


def test_alerts_may_go_to_an_account(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To one of its workspaces; the line names the accounts there are."""
    monkeypatch.setenv("ALERT_TO", "slack@corp.T00000001:C0123456789")
    check_channels(loaded(file, line(), slack()))
    monkeypatch.setenv("ALERT_TO", "slack@corp:C0123456789")
    on = "line@shop, slack@corp.T00000001, slack@corp.T00000002"
    with pytest.raises(SettingsError, match=f"^ALERT_TO: no such account; begin with one of {on}$"):
        check_channels(load())


def test_the_variables_of_the_only_account_are_not_an_accounts(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may write there, or decide, is nobody here."""
    monkeypatch.setenv("ALLOWED_USERS", "U1")
    monkeypatch.setenv("LINE_CHANNEL_SECRET", "s")
    monkeypatch.setenv("LINE_CHANNEL_ACCESS_TOKEN", "t")
    only, shop = accounts_of("line", loaded(file, line()))
    assert [only.channels, shop.channels] == [["line"], ["line@shop"]]
    assert (only.config.allowed_users, shop.config.allowed_users) == (("U1",), ())


async def test_the_doctor_has_a_part_for_each(file: Path, line: LineFake) -> None:
    """Its lines begin with the account, and name its webhook."""
    line.access_token = "token-of-shop"
    fields = {"line_api_base_url": line.base_url, "line_data_api_base_url": line.base_url}
    checks = channel_checks(
        loaded(file, table("line", "shop", **LINE | fields), slack()), open_host
    )
    assert list(checks) == ["LINE shop", "Slack corp"]
    found = await checks["LINE shop"]()
    assert {result.name.partition(" shop")[0] for result in found} == {"LINE"}
    assert found[1].name == "LINE shop token"
    assert found[1].result == "ok"


async def test_the_doctor_names_channels_in_which_an_app_is_no_member(file: Path) -> None:
    """Of those that a place names by their id, each asked with the token of its workspace: public
    ones that it is not in, and private ones, which it cannot see."""
    with slack_fake() as one, slack_fake() as two:
        open_app(one, two)
        two.messages |= {"C2": [], "C3": []}
        two.not_in.add("C2")
        chats = "C2", "C3:1700000000.1", "GHIDDEN", "D1:U1", "C?"
        ids = [f"slack@corp.{TWO}:{TWO}:{chat}" for chat in chats]
        ids += [f"slack:T1:{CHANNEL}", f"slack@corp.{ONE}:{ONE}:{CHANNEL}"]

        async def found(*ids: str) -> list[CheckResult]:
            other = file.with_name(f"{len(ids)}.toml")  # a process reads accounts once
            other.write_text(f"{open_app(one, two)}[[place]]\nconversation = {[*ids]!r}\n")
            settings = load(known={"places": other})
            results = await channel_checks(settings, open_host)["Slack corp"]()
            return [each for each in results if each.name.startswith("Slack corp channels")]

        fix = "write /invite @ and the app's name there, or correct the ids"
        absent = "not in C2, GHIDDEN, which PLACES names"
        assert await found("slack@corp.*") == []
        assert await found(*ids) == [
            CheckResult("ok", f"Slack corp channels {ONE}", "in each of 1 that PLACES names"),
            CheckResult("warning", f"Slack corp channels {TWO}", absent, fix),
        ]
        two.fail("conversations.info", "missing_scope")
        *_, unknown = await found(*ids)
        assert (unknown.result, unknown.detail) == ("warning", "not known: missing_scope")


def test_a_process_that_meets_a_broken_file_keeps_its_accounts(file: Path) -> None:
    """Those with which Kaiwa has begun here, also behind a proxy, where the page needs a token;
    where it never has, the start stops."""
    broken = line() + "[[place\n"
    with pytest.raises(SettingsError, match=r"^PLACES: places.toml, line 6"):
        check_channels(loaded(file, broken))
    keep_accounts(loaded(file, line()))
    moved = file.with_name("again.toml")
    moved.write_text(broken)
    settings = load(known={"places": moved})
    assert [one.name for one in accounts_of("line", settings)] == ["shop"]
    assert settings.makes_console_token


async def test_a_refused_account_leaves_the_others_working() -> None:
    """It is loud, and asked again; alone it ends the start, which names it."""
    operator, refused = Operator(), TokenRefused("BOX_TOKEN: refused")
    access = Access(operator, ends=True, refused_s=0.0)
    box = Guarded(refused, refused)
    with capture_logs() as logged:
        async with access.check({"box@old": box, "box@new": Guarded()}):
            assert access.missing == {"box@old": "BOX_TOKEN: refused"}
            box.started.set()
            await until(lambda: not access.missing)
    assert operator.told == [("token_refused", "BOX_TOKEN: refused", "box@old")] * 2
    assert [one["event"] for one in logged] == ["platform.away", "platform.back"]
    with pytest.raises(TokenRefused, match=r"^box@old: BOX_TOKEN: refused$"):
        async with Access(operator, ends=True).check({"box@old": Guarded(refused)}):
            pytest.fail("started")
    with pytest.raises(TokenRefused, match=r"^BOX_TOKEN: refused$"):
        async with Access(operator, ends=True).check({"box": Guarded(refused), "b": Guarded()}):
            pytest.fail("started")
