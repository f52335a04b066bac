"""The stand-in for Slack takes streams, changes and deletions as Slack takes them, and refuses the
rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fakes.slack import BOT_TOKEN, SlackFake, slack_fake
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM, USER

TS = "1700000000.000100"
START, APPEND, STOP = "chat.startStream", "chat.appendStream", "chat.stopStream"
FOR_HANAKO = {"recipient_user_id": USER, "recipient_team_id": TEAM}
WORDS = {"type": "markdown_text", "text": "Sun"}
TASK = {"type": "task_update", "id": "1", "title": "Weather", "status": "in_progress"}
METADATA = {"event_type": "t", "event_payload": {"id": "1"}}


@pytest.fixture
def fake() -> Iterator[SlackFake]:
    with slack_fake() as fake:
        fake.add_user()
        fake.add_message(CHANNEL, TS, "A question")
        fake.add_message(DIRECT, TS, "A question")
        yield fake


def call(fake: SlackFake, method: str, **arguments: Any) -> Any:
    headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
    return httpx.post(
        f"{fake.api_base_url}{method}", json={"channel": CHANNEL, **arguments}, headers=headers
    ).json()


def begin(fake: SlackFake) -> str:
    ts: str = call(fake, START, thread_ts=TS, **FOR_HANAKO)["ts"]
    return ts


def test_a_stream_takes_words_until_it_is_stopped(fake: SlackFake) -> None:
    """Then it takes changes; before, none."""
    ts = begin(fake)
    assert call(fake, APPEND, ts=ts, markdown_text="Sun") == {
        "ok": True,
        "channel": CHANNEL,
        "ts": ts,
    }
    assert call(fake, "chat.update", ts=ts, text="Rain")["error"] == "streaming_state_conflict"
    assert call(fake, "chat.delete", ts=ts)["error"] == "cant_delete_message"
    assert (
        call(fake, STOP, ts=ts, markdown_text="ny", metadata=METADATA)["message"]["metadata"]
        == METADATA
    )
    assert call(fake, APPEND, ts=ts, markdown_text="!")["error"] == "message_not_in_streaming_state"
    assert call(fake, STOP, ts=ts)["error"] == "message_not_in_streaming_state"
    assert fake.shown == ["Sunny"]
    assert call(fake, "chat.update", ts=ts, markdown_text="Rain")["message"]["metadata"] == METADATA
    assert call(
        fake, "chat.update", ts=ts, text="-", blocks=[{"type": "markdown", "text": "Snow"}]
    )["ok"]
    assert fake.shown == ["Snow"]
    assert call(fake, "chat.delete", ts=ts)["ok"]
    assert fake.shown == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"channel": "C9", "thread_ts": TS}, "channel_not_found"),
        ({}, "invalid_thread_ts"),
        ({"thread_ts": "1.1"}, "invalid_thread_ts"),
        ({"thread_ts": TS}, "missing_recipient_team_id"),
        ({"thread_ts": TS, "recipient_team_id": TEAM}, "missing_recipient_user_id"),
        ({"thread_ts": TS, "recipient_team_id": TEAM, "recipient_user_id": "U9"}, "user_not_found"),
        ({"thread_ts": TS, **FOR_HANAKO, "markdown_text": "x" * 12_001}, "msg_too_long"),
    ],
)
def test_a_stream_stands_in_a_thread_and_is_for_somebody(
    fake: SlackFake, arguments: dict[str, Any], error: str
) -> None:
    """In a 1:1 it is clear for whom."""
    assert call(fake, START, **arguments)["error"] == error
    assert call(fake, START, channel=DIRECT, thread_ts=TS)["ok"]


def test_where_no_stream_may_be_begun(fake: SlackFake) -> None:
    """Nor in an archived channel, where nothing can be changed either."""
    ts = begin(fake)
    fake.expire()
    fake.archived.add(CHANNEL)
    assert call(fake, START, thread_ts=TS, **FOR_HANAKO)["error"] == "is_archived"
    assert call(fake, "chat.update", ts=ts, text="x")["error"] == "is_inactive"
    fake.no_streams.add(CHANNEL)
    assert call(fake, START, thread_ts=TS, **FOR_HANAKO)["error"] == "channel_type_not_supported"


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        (APPEND, {}, "markdown_text_or_chunks_required"),
        (APPEND, {"markdown_text": "x" * 12_001}, "msg_too_long"),
        (STOP, {"metadata": {"id": 1}}, "invalid_metadata_format"),
        (STOP, {"blocks": "x"}, "invalid_blocks_format"),
        (APPEND, {"ts": "1.1", "markdown_text": "x"}, "message_not_found"),
        (APPEND, {"ts": TS, "markdown_text": "x"}, "message_not_owned_by_app"),
        ("chat.update", {"ts": "1.1", "text": "x"}, "message_not_found"),
        ("chat.update", {"ts": TS, "text": "x"}, "cant_update_message"),
        ("chat.delete", {"ts": TS}, "cant_delete_message"),
    ],
)
def test_what_slack_refuses_of_a_stream(
    fake: SlackFake, method: str, arguments: dict[str, Any], error: str
) -> None:
    """And of messages that are not the bot's."""
    assert call(fake, method, **{"ts": begin(fake)} | arguments)["error"] == error


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "no_text"),
        ({"text": "x" * 4_001}, "msg_too_long"),
        ({"text": "x", "markdown_text": "x"}, "markdown_text_conflict"),
        ({"text": "x", "metadata": {}}, "invalid_metadata_format"),
        ({"channel": USER, "text": "x"}, "channel_not_found"),
    ],
)
def test_what_slack_refuses_of_a_change(
    fake: SlackFake, arguments: dict[str, Any], error: str
) -> None:
    """A person's id is no channel here."""
    ts = call(fake, "chat.postMessage", channel=DIRECT, text="x")["ts"]
    assert call(fake, "chat.update", **{"channel": DIRECT, "ts": ts} | arguments)["error"] == error


def test_a_stream_ends_by_itself_or_by_somebodys_hand(fake: SlackFake) -> None:
    """Slack ends it after some minutes; deleted, it is gone."""
    ts = begin(fake)
    call(fake, APPEND, ts=ts, markdown_text="Sun")
    fake.expire()
    assert (
        call(fake, APPEND, ts=ts, markdown_text="ny")["error"] == "message_not_in_streaming_state"
    )
    fake.delete("Sun")
    assert call(fake, STOP, ts=ts)["error"] == "message_not_found"


def test_a_stream_takes_chunks_and_cards_change(fake: SlackFake) -> None:
    """A card is changed by its id; a change of the message takes the cards away."""
    ts = begin(fake)
    assert call(fake, APPEND, ts=ts, chunks=[WORDS, TASK])["ok"]
    assert call(fake, APPEND, ts=ts, chunks=[{**TASK, "status": "complete"}])["ok"]
    assert fake.messages[CHANNEL][-1]["tasks"] == {"1": ("Weather", "complete")}
    assert call(fake, STOP, ts=ts, chunks=[WORDS])["ok"]
    assert fake.shown == ["SunSun"]
    assert "tasks" not in call(fake, "chat.update", ts=ts, text="x")["message"]


@pytest.mark.parametrize("first", [{"chunks": [WORDS]}, {"markdown_text": "Sun"}])
def test_a_stream_takes_chunks_or_text_as_it_began(fake: SlackFake, first: dict[str, Any]) -> None:
    """Never both, and never both in one call."""
    ts = begin(fake)
    other = {"markdown_text": "ny"} if "chunks" in first else {"chunks": [TASK]}
    assert (
        call(fake, APPEND, ts=ts, **first | other)["error"]
        == "cannot_provide_both_markdown_text_and_chunks"
    )
    assert call(fake, APPEND, ts=ts, **first)["ok"]
    assert call(fake, APPEND, ts=ts, **other)["error"] == "streaming_mode_mismatch"


@pytest.mark.parametrize(
    "chunks",
    [
        "x",
        ["x"],
        [{"type": "text", "text": "x"}],
        [{**WORDS, "text": ""}],
        [{**WORDS, "style": "bold"}],
        [{**TASK, "title": ""}],
        [{**TASK, "title": "x" * 257}],
        [{**TASK, "status": "done"}],
        [{**TASK, "arguments": {}}],
        [{"type": "task_update", "id": "1", "title": "Weather"}],
    ],
)
def test_chunks_that_slack_does_not_know_are_refused(fake: SlackFake, chunks: object) -> None:
    """Their forms are closed."""
    assert call(fake, APPEND, ts=begin(fake), chunks=chunks)["error"] == "invalid_chunks"


def test_a_stream_with_tasks_takes_fewer_words(fake: SlackFake) -> None:
    """They are counted in bytes."""
    ts = begin(fake)
    assert call(fake, APPEND, ts=ts, chunks=[TASK])["ok"]
    assert (
        call(fake, APPEND, ts=ts, chunks=[{**WORDS, "text": "晴" * 4_000}])["error"]
        == "msg_too_long"
    )
    assert call(fake, APPEND, ts=ts, chunks=[{**WORDS, "text": "晴" * 3_000}])["ok"]


def test_a_workspace_may_lack_chunks_and_kinds_of_blocks(fake: SlackFake) -> None:
    """And a stream has one of two ways to show its tasks."""
    assert (
        call(fake, START, thread_ts=TS, **FOR_HANAKO, task_display_mode="list")["error"]
        == "invalid_arguments"
    )
    assert call(fake, START, thread_ts=TS, **FOR_HANAKO, task_display_mode="plan")["ok"]
    fake.no_chunks = "invalid_arguments"
    assert call(fake, APPEND, ts=begin(fake), chunks=[TASK])["error"] == "invalid_arguments"
    fake.no_blocks = {"markdown"}
    blocks = [{"type": "markdown", "text": "x"}]
    assert call(fake, "chat.postMessage", text="x", blocks=blocks)["error"] == "invalid_blocks"
