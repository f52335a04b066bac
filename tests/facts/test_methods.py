"""The stand-ins for LINE and Slack take the arguments and refuse in the forms that the facts
hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from tests.facts.read import facts, paths
from tests.fakes.line_refusals import Refused
from tests.fakes.slack import BOT_TOKEN, SlackFake, slack_fake
from tests.fakes.slack_events import CHANNEL, USER
from tests.fakes.slack_rules import METHODS

NEWER = {
    "markdown_text",
    "metadata",
    "include_all_metadata",
}  # than Slack's description, which is of 2021
DESCRIBED: dict[str, dict[str, list[str]]] = facts("slack_methods")
SLACKS_ERRORS: dict[str, dict[str, Any]] = facts("slack_errors")
CALLS = {
    "auth.test": {},
    "users.info": {"user": USER},
    "chat.postMessage": {"channel": CHANNEL, "markdown_text": "x"},
}


@pytest.fixture
def fake() -> Iterator[SlackFake]:
    """Slack, with somebody in it."""
    with slack_fake() as fake:
        fake.add_user()
        yield fake


def call(fake: SlackFake, method: str, token: str = BOT_TOKEN, **arguments: str) -> httpx.Response:
    """One call of a method, its arguments in a form."""
    return httpx.post(
        f"{fake.api_base_url}{method}", data=arguments, headers={"Authorization": f"Bearer {token}"}
    )


@pytest.mark.parametrize("method", sorted(METHODS.keys() & DESCRIBED.keys()))
def test_the_arguments_are_those_of_slacks_description(method: str) -> None:
    """And the newer ones."""
    _, known = METHODS[method]
    assert known <= {*DESCRIBED[method]["arguments"], *NEWER}


@pytest.mark.parametrize("method", CALLS)
def test_the_answers_have_what_slacks_description_promises(fake: SlackFake, method: str) -> None:
    """Every field that is never missing."""
    answer = call(fake, method, **CALLS[method]).json()
    assert answer["ok"] is True, answer
    assert answer.keys() >= set(DESCRIBED[method]["answer"])


@pytest.mark.parametrize(
    ("case", "trouble"),
    [
        ("rate limited", "limit"),
        ("error is HTTP 200", "fail"),
        ("bad token", ""),
        ("outage: HTML not JSON", "break"),
    ],
)
def test_slacks_refusals_have_their_form(fake: SlackFake, case: str, trouble: str) -> None:
    """Status, header names and fields."""
    if trouble == "limit":
        fake.limit("auth.test", 1)
    elif trouble == "fail":
        fake.fail("auth.test", "fatal_error")
    elif trouble == "break":
        fake.break_down("auth.test")
    answer = call(fake, "auth.test", "xoxb-another" if case == "bad token" else BOT_TOKEN)
    fact = SLACKS_ERRORS[case]
    assert answer.status_code == fact["status"]
    assert set(fact["headers"]) <= {name.lower() for name in answer.headers}
    found = paths(answer.json()) - {""} if fact["fields"] else set()
    assert found == set(fact["fields"])


def test_lines_refusals_have_their_form() -> None:
    """A message, and details of a message and a property each where there are any."""
    known = [set(fact["fields"]) for fact in facts("line_errors").values()]
    for details in (None, [("May not be empty", "messages[0].text")]):
        assert paths(msgspec.json.decode(Refused(400, "Refused", details).body)) - {""} in known
