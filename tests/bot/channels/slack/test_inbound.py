"""What the webhook answers to whom; without a public address the same events come over a socket."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.channels.slack.inbound import is_signed, read_payload
from bot.errors import BadInput
from tests.bot.channels.slack.rig import QUICK, TS, Rig, open_rig
from tests.fakes.slack import APP_TOKEN, SlackFake
from tests.fakes.slack_events import (
    SECRET,
    USER,
    as_interaction,
    as_json,
    command,
    envelope,
    mention,
    signed,
)
from tests.waiting import until

MIB = 1024 * 1024
OPEN = "apps.connections.open"


def test_a_signature_made_elsewhere_is_right() -> None:
    """Made by openssl; not one byte may differ, and five minutes later it is void."""
    at, body = 1_700_000_000, b"command=%2Fkaiwa&text=hello+%E6%9D%B1%E4%BA%AC"
    signature = "v0=b30895944c3485855a11cddc8e2e5d1f9f6c258ae813a253784d7aef1d2193c8"
    headers = {"x-slack-request-timestamp": str(at), "x-slack-signature": signature}
    assert is_signed("our-own-secret", headers, body, at + 299)
    assert not is_signed("our-own-secret", headers, body + b" ", at)
    assert not is_signed("another", headers, body, at)
    assert not is_signed("our-own-secret", headers, body, at + 301)
    assert not is_signed("our-own-secret", headers, body, at - 301)


@pytest.mark.parametrize(
    "change",
    [
        {"X-Slack-Signature": ""},
        {"X-Slack-Signature": "v0=" + "0" * 64},
        {"X-Slack-Signature": "v0=é"},
        {"X-Slack-Request-Timestamp": ""},
        {"X-Slack-Request-Timestamp": "soon"},
        {"X-Slack-Request-Timestamp": "-1"},
        {"X-Slack-Request-Timestamp": "٣"},
        {"X-Slack-Request-Timestamp": "9" * 400},
    ],
)
async def test_an_unsigned_webhook_is_turned_away_and_counted(
    rig: Rig, change: dict[str, str]
) -> None:
    """Whatever stands in the headers: 401, and the doctor can tell the secret is probably wrong."""
    body = as_json(mention("Hello", TS))
    headers = {**signed(body), **change}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    request = rig.http.build_request("POST", "/webhooks/slack", content=body, headers=raw)
    assert (await rig.http.send(request)).status_code == 401
    assert rig.inbox.accepted == []
    await until(lambda: rig.kv.stored.get("slack:bad_signatures") == b"1")


async def test_unsigned_webhooks_are_gathered(rig: Rig) -> None:
    """However many there are: a log line and a few writes about once a second, in the
    background."""
    with capture_logs() as logged:
        reported = await asyncio.gather(*(rig.post(b"{}", {}) for _ in range(200)))
        assert {answer.status_code for answer in reported} == {401}
        await until(lambda: bool(logged))
        await rig.slack.__aexit__()
    assert [(line["event"], line["platform"]) for line in logged] == [
        ("webhook.refused", "slack")
    ] * len(logged)
    assert sum(line["count"] for line in logged) == 200
    assert len(logged) <= 2
    assert rig.kv.stored["slack:bad_signatures"] == b"200"


async def test_a_bad_signature_is_refused_also_while_the_store_is_away(rig: Rig) -> None:
    """Counting is a courtesy."""
    rig.kv.away = True
    assert (await rig.post(b"{}", {})).status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"not json",
        b"[]",
        b"{",
        b'{"type":"\xff"}',
        b"\xff\xfe",
        b"payload=%7B",
        b"payload=[]",
        b"payload=%FF",
        b"command=%FF",
        b"a=1&b=2",
        b"[" * 100_000,
        b'{"a":' * 5_000,
    ],
)
async def test_a_signed_body_that_is_nothing_is_bad(rig: Rig, body: bytes) -> None:
    """Malformed, empty, not UTF-8: Slack would not mend it by sending it again."""
    assert (await rig.post(body)).status_code == 400


async def test_a_body_over_a_mebibyte_is_too_large(rig: Rig) -> None:
    """Before anything is computed over it."""
    assert (await rig.post(b" " * MIB + b"{", {})).status_code == 413
    filling = "x" * (MIB - len(as_json({"type": "x", "a": ""})))
    assert (await rig.post(as_json({"type": "x", "a": filling}))).status_code == 200


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"type": "app_rate_limited", "minute_rate_limited": 1},
        {"type": "event_callback"},
        {"type": "event_callback", "event": None},
        {"type": "event_callback", "event": "message"},
        {"type": "event_callback", "event": {"type": 5}},
        {"command": []},
        {"type": "event_callback", "event": {"type": "message"}},
        {"type": "event_callback", "team_id": 5, "event": {"type": "message", "user": []}},
        {"type": "event_callback", "team": 5, "event": {"type": "message"}},
        mention("Hello", TS, channel="C1:2"),
        mention("Hello", "9" * 5_000),
        mention("Hello", TS, thread_ts="slack:"),
        mention("Hello", TS, user="U1") | {"authorizations": [{"team_id": ":::"}]},
        envelope({"type": "a_type_of_next_year", "user": "U1"}),
        envelope(
            {
                "type": "reaction_added",
                "user": "U1",
                "item": {"type": "message", "channel": "C1", "ts": TS},
            }
        ),
    ],
)
async def test_what_nobody_knows_is_acknowledged(rig: Rig, payload: dict[str, Any]) -> None:
    """An unknown event is no reason for Slack to call again, or to switch the app off."""
    assert (await rig.post(as_json(payload))).status_code == 200
    assert rig.inbox.accepted == []


async def test_the_address_is_verified(rig: Rig) -> None:
    """Slack sends a challenge when the address is entered in its settings."""
    answer = await rig.post(as_json({"type": "url_verification", "challenge": "abc", "token": "x"}))
    assert (answer.status_code, answer.json()) == (200, {"challenge": "abc"})
    assert (await rig.post(b"ssl_check=1&token=x")).status_code == 200


async def test_a_store_that_is_away_makes_slack_come_again(rig: Rig) -> None:
    """503, for events and commands alike; nothing is lost by it."""
    rig.inbox.away = True
    assert await rig.send(mention("Hello", TS)) == 503
    assert await rig.send(command("help")) == 503
    rig.inbox.away = False
    assert await rig.send(mention("Hello", TS)) == 200
    assert rig.inbox.words == ["Hello"]


async def test_nothing_before_the_answer_waits_for_slack(fake: SlackFake) -> None:
    """A bot whose Slack is down still takes what Slack sends, and asks nothing on the way."""
    fake.break_down("auth.test", times=50)
    async with open_rig(fake, introduced=False) as rig:
        for n in range(3):
            assert await rig.send(mention("Hello", f"170000000{n}.000100")) == 200
        assert rig.inbox.words == ["Hello"] * 3
    assert {call.method for call in fake.calls} <= {"auth.test"}


async def test_without_a_signing_secret_there_is_no_webhook(fake: SlackFake) -> None:
    """A channel that uses Socket Mode alone has no webhook."""
    async with open_rig(fake, slack_signing_secret="", slack_app_token="xapp-1") as rig:
        assert rig.slack.routes() == ()


async def test_a_crash_of_ours_is_an_error_that_slack_sends_again(rig: Rig) -> None:
    """A bug loses no message: 500, and the log tells what it was."""
    rig.inbox.crash = RuntimeError("a bug")
    with capture_logs() as logged:
        assert await rig.send(mention("Hello", TS)) == 500
    assert [(line["event"], line["exc_info"]) for line in logged] == [
        ("webhook.event_failed", rig.inbox.crash)
    ]


async def test_the_log_holds_neither_signature_nor_words(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor do bodies of events that nobody knows stand there."""
    caplog.set_level(logging.DEBUG)
    body = as_json(mention("a secret word", TS))
    headers = signed(body, secret="wrong")
    assert (await rig.post(body, headers)).status_code == 401
    assert await rig.send(envelope({"type": "unknown", "text": "a secret word"})) == 200
    assert await rig.send(mention("a secret word", TS)) == 200
    ours = "\n".join(
        record.getMessage() for record in caplog.records if not record.name.startswith("httpx")
    )
    assert "a secret word" not in ours
    assert headers["X-Slack-Signature"] not in ours
    assert SECRET not in ours


def test_json_without_a_content_type_is_json() -> None:
    """The body tells what it is."""
    assert read_payload(b' {"type": "x"}') == {"type": "x"}
    assert read_payload(b"command=%2Fkaiwa&text=") == {"command": "/kaiwa", "text": ""}
    with pytest.raises(BadInput):
        read_payload(b"[1]")


NAMES = st.sampled_from(
    [
        *(
            "type",
            "event",
            "team",
            "team_id",
            "user",
            "channel",
            "authorizations",
            "message",
            "text",
            "ts",
            "item",
        ),
        *(
            "view",
            "subtype",
            "previous_message",
            "files",
            "thread_ts",
            "assistant_thread",
            "command",
            "enterprise",
        ),
        *(
            "bot_id",
            "attachments",
            "metadata",
            "actions",
            "action_id",
            "block_id",
            "value",
            "container",
            "callback_id",
        ),
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["message", "event_callback", "block_actions", "agent_session_stopped"])
)
VALUES = st.recursive(
    LEAVES, lambda values: st.lists(values, max_size=2) | st.dictionaries(NAMES, values, max_size=5)
)


@pytest.mark.long
@settings(
    max_examples=40,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes longer than reading
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    payload=st.dictionaries(NAMES, VALUES, max_size=6),
    event=st.dictionaries(NAMES, VALUES, max_size=8),
)
async def test_any_object_is_acknowledged(
    rig: Rig, payload: dict[str, Any], event: dict[str, Any]
) -> None:
    """Whatever Slack may think of next year, it hears 200."""
    assert (await rig.post(as_json(payload))).status_code == 200
    assert (
        await rig.post(as_json({**payload, "type": "event_callback", "event": event}))
    ).status_code == 200
    pressed = {
        **payload,
        "type": "block_actions",
        "actions": [{"action_id": "approval.approve", **event}],
    }
    assert (await rig.post(as_interaction(pressed))).status_code == 200
    for kind in (
        "view_submission",
        "view_closed",
        "shortcut",
        "message_action",
        "url_verification",
    ):
        assert (await rig.post(as_interaction({**payload, "type": kind}))).status_code == 200


@pytest.mark.parametrize("levels", [100, 500, 1_000])
async def test_an_event_of_many_levels_is_acknowledged(rig: Rig, levels: int) -> None:
    """Slack would send again what fails; what Python 3.11 cannot decode is refused."""
    blocks = f"{'[' * levels}{']' * levels}"
    event = f'{{"type": "app_mention", "text": "Hi", "blocks": {blocks}}}'
    response = await rig.post(f'{{"type": "event_callback", "event": {event}}}'.encode())
    assert response.status_code == 200 or (levels, response.status_code) == (1_000, 400)


@pytest.fixture
async def socket(fake: SlackFake) -> AsyncIterator[Rig]:
    """Bot and app token alone."""
    async with open_rig(fake, slack_signing_secret="", slack_app_token=APP_TOKEN) as socket:
        await until(lambda: fake.connected == 1)
        yield socket


async def acknowledged(fake: SlackFake, envelope_id: str) -> None:
    await until(lambda: envelope_id in fake.acknowledged)


async def test_an_event_is_acknowledged_once_it_is_kept(fake: SlackFake, socket: Rig) -> None:
    """While the store is away it is not, so Slack sends it again."""
    socket.inbox.away = True
    lost = fake.send(mention("Hello", TS))
    unknown = fake.send(envelope({"type": "unknown"}))
    await acknowledged(fake, unknown)
    assert lost not in fake.acknowledged
    socket.inbox.away = False
    again = fake.send(mention("Hello", TS))
    await acknowledged(fake, again)
    assert socket.inbox.words == ["Hello"]


async def test_commands_and_interactions_come_the_same_way(fake: SlackFake, socket: Rig) -> None:
    """One path for all."""
    await acknowledged(fake, fake.send(command("help"), "slash_commands"))
    await acknowledged(
        fake, fake.send({"type": "block_actions", "user": {"id": USER}}, "interactive")
    )
    await acknowledged(fake, fake.send({"type": "event_callback", "event": 5}))
    assert socket.inbox.words == ["help"]


@pytest.mark.parametrize("how", ["asked", "dropped"])
async def test_a_lost_connection_is_made_anew(fake: SlackFake, socket: Rig, how: str) -> None:
    """Slack asks for it every few hours, networks do not ask."""
    if how == "asked":
        fake.ask_to_reconnect()
    else:
        fake.drop_sockets()
    await until(lambda: fake.opened >= 2 and fake.connected >= 1)
    await acknowledged(fake, fake.send(mention("Still there?", TS)))
    assert socket.inbox.words == ["Still there?"]


async def test_a_refused_app_token_is_said_and_tried_again(fake: SlackFake) -> None:
    """Said once, to the operator too, naming the variable and never the value."""
    fake.fail(OPEN, "invalid_auth", times=3)
    told: list[tuple[str, str, str]] = []

    async def notify(cause: Any, detail: str = "", *, platform: str = "") -> None:
        told.append((cause, detail, platform))

    with capture_logs() as logged:
        async with open_rig(
            fake, slack_signing_secret="", slack_app_token=APP_TOKEN, notify=notify
        ):
            await until(lambda: fake.connected == 1)
    refused = {"event": "slack.socket_refused", "cause": "invalid_auth", "log_level": "error"}
    assert [line for line in logged if line["event"] == refused["event"]] == [refused]
    [(cause, detail, platform)] = told
    assert (cause, platform) == ("token_refused", "slack")
    assert detail.startswith("SLACK_APP_TOKEN was refused (invalid_auth)")
    assert APP_TOKEN not in str(logged) + detail


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("down", "text/plain"),
        ("", "text/plain"),
        ("{bad", "application/json"),
        ("[]", "application/json"),
        ("", "application/json"),
    ],
)
async def test_an_answer_that_is_none_is_said_and_tried_again(
    fake: SlackFake, body: str, kind: str
) -> None:
    """The SDK fails in many ways then, and says nothing."""
    fake.garble(OPEN, body, kind)
    with capture_logs() as logged:
        async with open_rig(fake, slack_signing_secret="", slack_app_token=APP_TOKEN):
            await until(lambda: fake.connected == 1)
    assert [line for line in logged if line["event"] == "slack.socket_refused"]


async def test_an_address_that_does_not_work_is_not_tried_for_ever(fake: SlackFake) -> None:
    """A ticket that has expired is replaced, which the SDK alone would never do."""
    fake.spoil_tickets = 1
    async with open_rig(
        fake,
        slack_signing_secret="",
        slack_app_token=APP_TOKEN,
        timing=replace(QUICK, ticket_s=0.05),
    ):
        await until(lambda: fake.connected == 1)
    assert len(fake.called(OPEN)) == 2


async def test_a_channel_that_never_connected_closes_all_the_same(fake: SlackFake) -> None:
    """And at once."""
    fake.break_down(OPEN, times=100)
    async with open_rig(fake, slack_signing_secret="", slack_app_token=APP_TOKEN):
        await until(lambda: bool(fake.called(OPEN)))
