"""The stand-in for Slack refuses what Slack refuses, and answers in the shapes of Slack's own
description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from jsonschema import Draft4Validator

from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, SlackFake, slack_fake
from tests.fakes.slack_events import BETWEEN_TWO, CHANNEL, DIRECT, USER
from tests.fakes.slack_rules import METHODS
from tests.shared_data import RECORDED

TS = "1700000000.000100"
SPEC = RECORDED.parent / "specs" / "slack" / "slack_web_openapi_v2.subset.json"
NEWER = {
    "markdown_text",
    "metadata",
    "include_all_metadata",
}  # than the description, which is of 2021


@pytest.fixture
def fake() -> Iterator[SlackFake]:
    with slack_fake() as fake:
        fake.add_user()
        fake.add_message(CHANNEL, TS, "A question")
        yield fake


@pytest.fixture
def spec() -> dict[str, Any]:
    if not SPEC.exists():
        pytest.skip("the vendors' descriptions are not part of the repository")
    spec: dict[str, Any] = json.loads(SPEC.read_text("utf-8"))
    return spec


def call(
    fake: SlackFake, method: str, token: str | None = BOT_TOKEN, **arguments: Any
) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = httpx.post(f"{fake.api_base_url}{method}", json=arguments, headers=headers)
    found: dict[str, Any] = answer.json()
    return found


def read(fake: SlackFake, method: str, **arguments: Any) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
    found: dict[str, Any] = httpx.get(
        f"{fake.api_base_url}{method}", params=arguments, headers=headers
    ).json()
    return found


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("chat.nothing", {}, "unknown_method"),
        ("chat.postMessage", {}, "channel_not_found"),
        ("chat.postMessage", {"channel": BETWEEN_TWO, "text": "x"}, "channel_not_found"),
        (
            "chat.postEphemeral",
            {"channel": BETWEEN_TWO, "user": USER, "text": "x"},
            "channel_not_found",
        ),
        ("chat.postMessage", {"channel": CHANNEL}, "no_text"),
        ("chat.postMessage", {"channel": CHANNEL, "markdown_text": "x" * 12_001}, "msg_too_long"),
        ("chat.postMessage", {"channel": CHANNEL, "text": "x" * 40_001}, "msg_too_long"),
        (
            "chat.postMessage",
            {"channel": CHANNEL, "markdown_text": "x", "text": "x"},
            "markdown_text_conflict",
        ),
        (
            "chat.postMessage",
            {"channel": CHANNEL, "text": "x", "metadata": {"id": 1}},
            "invalid_metadata_format",
        ),
        (
            "chat.postMessage",
            {"channel": CHANNEL, "text": "x", "thread_ts": "1.1"},
            "thread_not_found",
        ),
        (
            "chat.postMessage",
            {"channel": CHANNEL, "text": "x", "tread_ts": TS},
            "invalid_arguments",
        ),
        ("chat.postMessage", {"channel": CHANNEL, "blocks": "x"}, "invalid_blocks_format"),
        (
            "chat.postMessage",
            {"channel": CHANNEL, "blocks": [{"type": "image", "text": "x"}]},
            "invalid_blocks",
        ),
        (
            "chat.postMessage",
            {"channel": CHANNEL, "blocks": [{"type": "markdown", "text": "x" * 12_001}]},
            "msg_blocks_too_long",
        ),
        ("users.info", {"user": USER}, "user_not_found"),  # it takes no JSON
        (
            "assistant.threads.setStatus",
            {"channel_id": CHANNEL, "status": "x"},
            "invalid_arguments",
        ),
        (
            "assistant.threads.setSuggestedPrompts",
            {"channel_id": CHANNEL, "prompts": []},
            "invalid_arguments",
        ),
        (
            "assistant.threads.setSuggestedPrompts",
            {"channel_id": CHANNEL, "prompts": [{"title": "", "message": ""}]},
            "invalid_arguments",
        ),
        (
            "files.getUploadURLExternal",
            {"filename": "a.png", "length": 9},
            "invalid_arguments",
        ),  # it takes no JSON
        ("files.completeUploadExternal", {"files": [{"id": "F1"}]}, "invalid_arguments"),
        ("apps.connections.open", {}, "not_allowed_token_type"),
    ],
)
def test_what_slack_refuses_is_refused(
    fake: SlackFake, method: str, arguments: dict[str, Any], error: str
) -> None:
    """With status 200, as Slack does."""
    assert call(fake, method, **arguments)["error"] == error
    assert fake.posted == []


def test_a_file_is_shared_once_and_whole(fake: SlackFake) -> None:
    """Not before its content has come, not in part, and not in a thread that does not exist."""

    def share(**arguments: str) -> Any:
        given = {
            "files": json.dumps([{"id": begun["file_id"]}]),
            "channel_id": CHANNEL,
            "thread_ts": TS,
        } | arguments
        return form("files.completeUploadExternal", **given).get("error", "")

    def form(method: str, **arguments: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        answer: dict[str, Any] = httpx.post(
            f"{fake.api_base_url}{method}", params=arguments, headers=headers
        ).json()
        return answer

    assert (
        form("files.getUploadURLExternal", filename="a.png", length="0")["error"]
        == "invalid_arguments"
    )
    for content, outcome in ((b"", "file_not_found"), (b"12", "file_not_found"), (b"123", "")):
        begun = form("files.getUploadURLExternal", filename="a.png", length="3")
        if content:
            assert httpx.post(begun["upload_url"], content=content).status_code == 200
        assert share(thread_ts="1.1") == "thread_not_found"
        assert share() == outcome
    assert share() == "file_not_found"
    assert fake.shared == [("a.png", b"123", TS)]
    assert httpx.post(begun["upload_url"], content=b"123").status_code == 404


def test_tokens_and_scopes_are_looked_at(fake: SlackFake) -> None:
    """A missing scope names the one that is needed."""
    assert call(fake, "auth.test", token=None) == {"ok": False, "error": "not_authed"}
    assert call(fake, "auth.test", token="xoxb-other") == {"ok": False, "error": "invalid_auth"}
    assert call(fake, "apps.connections.open", token="xapp-other") == {
        "ok": False,
        "error": "invalid_auth",
    }
    fake.scopes = ["users:read"]
    refused = call(fake, "chat.postMessage", channel=CHANNEL, text="x")
    assert refused == {
        "ok": False,
        "error": "missing_scope",
        "needed": "chat:write",
        "provided": "users:read",
    }


def test_an_archived_channel_takes_nothing(fake: SlackFake) -> None:
    """Until somebody opens it again."""
    fake.archived.add(CHANNEL)
    assert call(fake, "chat.postMessage", channel=CHANNEL, text="x")["error"] == "is_archived"


def test_a_persons_id_is_no_channel_to_change_or_read(fake: SlackFake) -> None:
    """Messages can be posted to it; the answer names the 1:1."""
    posted = call(fake, "chat.postMessage", channel=USER, text="Hi")
    assert posted["channel"] == DIRECT
    where = {"channel": USER, "ts": posted["ts"]}
    tried = [call(fake, "chat.update", text="Ho", **where), call(fake, "chat.delete", **where)]
    tried += [
        read(fake, "conversations.replies", **where),
        read(fake, "conversations.history", channel=USER),
    ]
    assert [one["error"] for one in tried] == ["channel_not_found"] * 4


def test_a_message_may_be_too_long_though_it_is_within_the_limit(fake: SlackFake) -> None:
    """Slack counts rendered words, and of the text beside the blocks of a changed message bytes
    with escapes."""
    where = {
        "channel": CHANNEL,
        "ts": call(fake, "chat.postMessage", channel=CHANNEL, text="x")["ts"],
    }
    assert call(fake, "chat.update", text="&" * 800, **where)["ok"]
    assert call(fake, "chat.update", text="&" * 801, **where)["error"] == "msg_too_long"
    fake.most = 9
    blocks = [{"type": "markdown", "text": "x" * 10}]
    assert (
        call(fake, "chat.update", text="x", blocks=blocks, **where)["error"]
        == "msg_blocks_too_long"
    )
    assert (
        call(fake, "chat.postMessage", channel=CHANNEL, markdown_text="x" * 10)["error"]
        == "msg_too_long"
    )


def test_metadata_is_told_only_to_who_asks(fake: SlackFake) -> None:
    """A look that forgets to ask would post twice."""
    metadata = {"event_type": "t", "event_payload": {"id": "1"}}
    assert call(
        fake, "chat.postMessage", channel=CHANNEL, text="x", thread_ts=TS, metadata=metadata
    )["ok"]
    silent = read(fake, "conversations.replies", channel=CHANNEL, ts=TS)["messages"]
    told = read(fake, "conversations.replies", channel=CHANNEL, ts=TS, include_all_metadata=1)[
        "messages"
    ]
    assert [message.get("metadata") for message in silent] == [None, None]
    assert [message.get("metadata") for message in told] == [None, metadata]


def test_a_channel_is_read_newest_first_and_a_thread_oldest_first(fake: SlackFake) -> None:
    """In pages, between two times."""
    for n in range(1, 6):
        fake.add_message(
            CHANNEL, f"{1_700_000_000 + n}.000000", str(n), thread_ts=TS if n > 3 else None
        )
    newest = read(
        fake, "conversations.history", channel=CHANNEL, limit=2, latest="1700000003.000000"
    )
    assert [message["text"] for message in newest["messages"]] == ["2", "1"]
    rest = read(
        fake,
        "conversations.history",
        channel=CHANNEL,
        limit=2,
        latest="1700000003.000000",
        cursor="2",
    )
    assert ([message["text"] for message in rest["messages"]], rest["has_more"]) == (
        ["A question"],
        False,
    )
    first = read(
        fake,
        "conversations.replies",
        channel=CHANNEL,
        ts=TS,
        oldest="1700000005.000000",
        inclusive=1,
    )
    assert [message["text"] for message in first["messages"]] == ["A question", "5"]
    assert (
        read(fake, "conversations.replies", channel=CHANNEL, ts="1.1")["error"]
        == "thread_not_found"
    )


def test_a_response_url_is_good_for_five_answers(fake: SlackFake) -> None:
    """And for nothing but messages."""
    url = f"{fake.origin}/commands/1"
    assert httpx.post(url, json={"text": "x"}).status_code == 400
    payload = {"response_type": "ephemeral", "text": "x"}
    assert [httpx.post(url, json=payload).status_code for _ in range(6)] == [200] * 5 + [404]


def test_a_ticket_is_good_for_one_socket(fake: SlackFake) -> None:
    """Whoever comes without one is sent away."""
    address = call(fake, "apps.connections.open", token=APP_TOKEN)["url"]
    assert address.startswith("ws://127.0.0.1:")
    assert httpx.get(f"{fake.origin}/link?ticket=none").status_code == 400


def test_the_answers_have_the_shapes_of_slacks_description(
    fake: SlackFake, spec: dict[str, Any]
) -> None:
    """Where it knows the method."""
    posted = call(fake, "chat.postMessage", channel=CHANNEL, markdown_text="x")
    answers = {
        "auth.test": call(fake, "auth.test"),
        "users.info": read(fake, "users.info", user=USER),
        "chat.postMessage": posted,
    }
    for method, answer in answers.items():
        [operation] = spec["paths"][f"/{method}"].values()
        schema = operation["responses"]["200"]["schema"]
        Draft4Validator({**schema, "definitions": spec["definitions"]}).validate(answer)
        assert answer["ok"] is True


def test_the_arguments_are_those_of_slacks_description(spec: dict[str, Any]) -> None:
    """And the newer ones."""
    for method, (_, known) in METHODS.items():
        if (path := spec["paths"].get(f"/{method}")) is not None:
            [operation] = path.values()
            described = {parameter["name"] for parameter in operation["parameters"]} | NEWER
            assert known <= described, method
