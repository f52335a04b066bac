"""Answers reach Slack once, or it is known why not."""

from __future__ import annotations

from typing import Any

import pytest

from bot.channels import Delivery, Reply
from bot.channels.slack.client import Client
from bot.channels.slack.types import Chat
from bot.errors import DeliverLater, DeliveryRefused, TokenRefused
from tests.bot.channels.slack.rig import TS, Rig, delivery, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, USER
from tests.waiting import until

POST = "chat.postMessage"
PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")


async def deliver(rig: Rig, what: Delivery) -> None:
    await rig.slack.deliver("slack:T00000001:C00000001:x", what, ours)


def texts(fake: SlackFake) -> list[str]:
    return [posted["markdown_text"] for posted in fake.posted]


async def test_an_answer_is_posted_in_its_thread(fake: SlackFake, rig: Rig) -> None:
    """As Markdown, with its delivery's id, and no previews of links the model wrote."""
    await deliver(rig, delivery("**Hello** [there](https://example.com)"))
    assert fake.posted == [
        {
            "channel": CHANNEL,
            "thread_ts": TS,
            "markdown_text": "**Hello** [there](https://example.com)",
            "unfurl_links": False,
            "unfurl_media": False,
            "metadata": {"event_type": "kaiwa_delivery", "event_payload": {"id": "turn_1"}},
        }
    ]
    await until(lambda: int(rig.kv.stored.get("slack:last_delivery", 0)) > 0)


async def test_an_answer_in_a_1_to_1_stands_in_the_channel(fake: SlackFake, rig: Rig) -> None:
    """Unless the question stood in a thread there."""
    fake.add_message(DIRECT, TS, "A question")
    await deliver(rig, delivery(channel=DIRECT, thread=""))
    await deliver(rig, delivery(number=2, channel=DIRECT))
    assert [posted.get("thread_ts") for posted in fake.posted] == [None, TS]


@pytest.mark.parametrize(
    ("written", "posted"),
    [
        ("<!channel> hear me", "@channel hear me"),
        ("<!here|here> <!everyone>", "@here @everyone"),
        ("<!subteam^S123|@all>", "@subteam"),
        ("<!-- a comment -->", "<!-- a comment -->"),
    ],
)
async def test_a_model_cannot_call_everybody(
    fake: SlackFake, rig: Rig, written: str, posted: str
) -> None:
    """Whatever it was talked into."""
    await deliver(rig, delivery(written))
    assert texts(fake) == [posted]


def test_the_threads_of_a_channel_are_one_place(rig: Rig) -> None:
    """A person's facts are the same in all of them; a 1:1 has no threads."""
    places = {
        rig.slack.place(Chat("T1", "C1", thread).conversation).id for thread in (TS, "2.0", "")
    }
    assert places == {"slack:T1:C1"}
    assert rig.slack.place("slack:T1:D1").id == "slack:T1:D1"


async def test_a_notice_is_posted_where_nothing_was_said(fake: SlackFake, rig: Rig) -> None:
    """In the channel itself; a second attempt finds the first one."""
    for attempt in (1, 2):
        notice = Delivery("notice_1", "notice_1", Reply("Look!"), attempts=attempt)
        await rig.slack.deliver(f"slack:notices:{CHANNEL}", notice, ours)
    assert [(posted["channel"], posted.get("thread_ts")) for posted in fake.posted] == [
        (CHANNEL, None)
    ]


@pytest.mark.parametrize("thread", [TS, ""])
async def test_an_answer_that_arrived_after_all_is_not_posted_twice(
    fake: SlackFake, rig: Rig, thread: str
) -> None:
    """Its id is looked for before the next attempt, in the thread or the channel."""
    fake.break_down(POST, after=True)
    with pytest.raises(DeliverLater):
        await deliver(rig, delivery(thread=thread))
    await deliver(rig, delivery(thread=thread, attempts=2))
    await deliver(rig, delivery("Another", number=2, thread=thread, attempts=2))
    assert texts(fake) == ["Hello", "Another"]


async def test_half_a_character_in_a_thread_keeps_no_answer_back(fake: SlackFake, rig: Rig) -> None:
    """Some app has cut an emoji in two; the search before the next attempt reads that message as
    well."""
    fake.add_message(CHANNEL, "1700000001.000100", "Cut \ud83d", thread_ts=TS)
    await deliver(rig, delivery(attempts=2))
    assert texts(fake) == ["Hello"]


async def test_an_answer_that_cannot_be_looked_for_is_posted(fake: SlackFake, rig: Rig) -> None:
    """Rather twice than never, where the app lacks the right to read."""
    fake.scopes = ["chat:write"]
    await deliver(rig, delivery(attempts=2))
    assert texts(fake) == ["Hello"]


async def test_looking_in_vain_waits_like_posting(fake: SlackFake, rig: Rig) -> None:
    """While Slack does not say whether it is there, nothing is posted."""
    fake.break_down("conversations.replies")
    fake.fail("conversations.replies", "internal_error")
    fake.fail("conversations.replies", "invalid_auth")
    fake.limit("conversations.replies", 7)
    for reason in ("status 503", "internal_error", "SLACK_BOT_TOKEN", "too many calls"):
        with pytest.raises(DeliverLater, match=reason):
            await deliver(rig, delivery(attempts=2))
    assert fake.posted == []


async def test_a_wait_in_thousands_of_digits_is_a_wait(fake: SlackFake, rig: Rig) -> None:
    """More than Python makes a number of."""
    fake.limit(POST, "9" * 5_000)
    with pytest.raises(DeliverLater, match="too many calls"):
        await deliver(rig, delivery())


async def test_too_many_messages_in_one_channel_hold_up_no_other(fake: SlackFake, rig: Rig) -> None:
    """The wait is remembered: the channel's next answer does not even ask."""
    fake.add_message("C0002", TS, "Elsewhere")
    fake.limit(POST, 30)
    with pytest.raises(DeliverLater) as first:
        await deliver(rig, delivery())
    with pytest.raises(DeliverLater) as second:
        await deliver(rig, delivery(number=2))
    await deliver(rig, delivery("Elsewhere", number=3, channel="C0002"))
    assert first.value.after == 30
    assert 29 < second.value.after <= 30
    assert (len(fake.called(POST)), texts(fake)) == (2, ["Elsewhere"])


@pytest.mark.parametrize(
    ("error", "outcome", "after"),
    [
        ("invalid_auth", TokenRefused, 60),
        ("token_revoked", TokenRefused, 60),
        ("account_inactive", TokenRefused, 60),
        ("not_authed", TokenRefused, 60),
        ("fatal_error", DeliverLater, 5),
        ("internal_error", DeliverLater, 5),
        ("service_unavailable", DeliverLater, 5),
        ("ratelimited", DeliverLater, 30),
        ("channel_not_found", DeliveryRefused, None),
        ("is_archived", DeliveryRefused, None),
        ("not_in_channel", DeliveryRefused, None),
        ("msg_too_long", DeliveryRefused, None),
        ("restricted_action", DeliveryRefused, None),
        ("an_error_of_next_year", DeliveryRefused, None),
    ],
)
async def test_what_slack_says_decides_whether_it_is_tried_again(
    fake: SlackFake, rig: Rig, error: str, outcome: type[Exception], after: float | None
) -> None:
    """A refused token is named, so that somebody replaces it within the hour."""
    fake.fail(POST, error)
    with pytest.raises(outcome) as failed:
        await deliver(rig, delivery())
    assert getattr(failed.value, "after", None) == after
    if outcome is TokenRefused:
        assert "SLACK_BOT_TOKEN" in str(failed.value)
    elif error != "ratelimited":
        assert error in str(failed.value)


@pytest.mark.parametrize("attempts", [1, 3, 9])
async def test_an_outage_is_waited_for_ever_longer(
    fake: SlackFake, rig: Rig, attempts: int
) -> None:
    """A page of HTML says nothing about the message."""
    fake.break_down(POST)
    with pytest.raises(DeliverLater, match="status 503") as failed:
        await deliver(rig, delivery(attempts=attempts))
    assert failed.value.after == {1: 5, 3: 20, 9: 600}[attempts]


async def test_a_channel_the_fake_does_not_know_is_refused(fake: SlackFake, rig: Rig) -> None:
    """With the scope it needs, where Slack names one."""
    with pytest.raises(DeliveryRefused, match=r"chat\.postMessage: channel_not_found"):
        await deliver(rig, delivery(channel="C9"))
    fake.scopes = ["users:read"]
    with pytest.raises(
        DeliveryRefused, match=r"chat.postMessage: missing_scope \(needs chat:write\)"
    ):
        await deliver(rig, delivery())


async def test_a_command_is_answered_where_only_its_sender_sees(fake: SlackFake, rig: Rig) -> None:
    """By its response URL."""
    await deliver(rig, command_answer(fake))
    assert fake.responses["/commands/1"] == [
        {
            "response_type": "ephemeral",
            "replace_original": False,
            "text": "Hello",
            "blocks": [{"type": "markdown", "text": "Hello"}],
        }
    ]
    assert fake.posted == []


async def test_a_command_answered_too_late_is_answered_in_the_1_to_1(
    fake: SlackFake, rig: Rig
) -> None:
    """A response URL lives for half an hour and five answers."""
    fake.expired.add("/commands/1")
    await deliver(rig, command_answer(fake))
    assert [(posted["channel"], posted["markdown_text"]) for posted in fake.posted] == [
        (USER, "Hello")
    ]


async def test_a_response_url_that_is_down_is_tried_again(fake: SlackFake, rig: Rig) -> None:
    """Both when it answers with an error and when nobody is there."""
    fake.break_down("/commands/1")
    with pytest.raises(DeliverLater, match="status 503"):
        await deliver(rig, command_answer(fake))
    with pytest.raises(DeliverLater, match="response_url: ClientConnectorError"):
        await deliver(
            rig, delivery(channel=USER, ts="", thread="", response_url="http://127.0.0.1:9/x")
        )


def command_answer(fake: SlackFake) -> Delivery:
    where: dict[str, Any] = {
        "channel": USER,
        "ts": "",
        "thread": "",
        "response_url": f"{fake.origin}/commands/1",
    }
    return delivery(**where)


async def test_a_note_that_cannot_be_written_costs_no_answer(fake: SlackFake) -> None:
    """The doctor knows less for a while."""
    async with open_rig(fake) as rig:
        rig.kv.away = True
        await deliver(rig, command_answer(fake))
        assert len(fake.responses["/commands/1"]) == 1


@pytest.mark.parametrize("attempts", [1, 3, 9])
async def test_an_answer_of_which_it_is_not_known_whether_it_was_streamed_waits(
    fake: SlackFake, rig: Rig, attempts: int
) -> None:
    """Until the store tells, ever longer: a note may be in a part of the store that is down."""
    rig.kv.away = True
    with pytest.raises(DeliverLater, match="away") as failed:
        await deliver(rig, delivery(attempts=attempts))
    assert failed.value.after == {1: 5, 3: 20, 9: 600}[attempts]
    assert fake.posted == []


@pytest.mark.parametrize("name", PROXIES)
async def test_a_proxy_is_asked_for_everything(
    fake: SlackFake, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whichever variable names it, as with Slack's SDK."""
    for other in PROXIES:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, fake.origin)
    async with Client("xoxb-any", "http://slack.invalid/api/") as client:
        assert (await client.post("auth.test")).error == "invalid_auth"


@pytest.mark.parametrize(("answer", "ok"), [('{"ok": true}', True), ('{"error": ""}', False)])
async def test_only_what_slack_calls_done_is_done(fake: SlackFake, answer: str, ok: bool) -> None:
    """An error without a name is one."""
    fake.garble("auth.test", answer, "application/json")
    async with Client("xoxb-any", fake.api_base_url) as client:
        assert (await client.post("auth.test")).ok == ok
