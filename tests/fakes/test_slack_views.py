"""The stand-in for Slack refuses the views that Slack refuses, and views opened too late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fakes.slack import BOT_TOKEN, SlackFake, slack_fake
from tests.fakes.slack_events import DIRECT, USER
from tests.fakes.slack_views import METADATA_LIMIT, MOST_BLOCKS, TRIGGER_S

LABEL = {"type": "plain_text", "text": "Words", "emoji": False}
SECTION: dict[str, Any] = {"type": "section", "text": LABEL}
BUTTON = {"type": "button", "action_id": "a", "text": LABEL, "value": "v"}
CONFIRM = {"title": LABEL, "text": LABEL, "confirm": LABEL, "deny": LABEL, "style": "danger"}
TYPED = {"type": "plain_text_input", "action_id": "t", "multiline": True, "max_length": 3_000}
INPUT = {"type": "input", "block_id": "i", "label": LABEL, "element": TYPED}
HOME: dict[str, Any] = {"type": "home", "blocks": [SECTION]}
MODAL: dict[str, Any] = {"type": "modal", "title": LABEL, "blocks": [SECTION]}


@pytest.fixture
def fake() -> Iterator[SlackFake]:
    with slack_fake() as fake:
        fake.add_user()
        yield fake


def call(fake: SlackFake, method: str, **arguments: Any) -> Any:
    headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
    return httpx.post(f"{fake.api_base_url}{method}", json=arguments, headers=headers).json()


def error(fake: SlackFake, method: str, **arguments: Any) -> str:
    return str(call(fake, method, **arguments).get("error", ""))


def publish(fake: SlackFake, **changes: Any) -> str:
    return error(fake, "views.publish", user_id=USER, view={**HOME, **changes})


def with_text(text: str, **fields: Any) -> list[Any]:
    return [{**SECTION, "text": {**LABEL, "text": text}, **fields}]


def test_a_home_tab_is_published_and_has_a_hash(fake: SlackFake) -> None:
    """Whoever names an older hash has lost."""
    confirmed = {"accessory": {**BUTTON, "confirm": CONFIRM}}
    assert publish(fake, blocks=[{**SECTION, **confirmed}, {"type": "header", "text": LABEL}]) == ""
    old = fake.homes[USER]["hash"]
    assert error(fake, "views.publish", user_id=USER, view=HOME, hash=old) == ""
    assert error(fake, "views.publish", user_id=USER, view=HOME, hash=old) == "hash_conflict"
    assert error(fake, "views.publish", user_id="U9", view=HOME) == "user_not_found"
    fake.has_home = False
    assert publish(fake) == "not_enabled"


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"type": "modal"}, "invalid_arguments"),
        ({"title": LABEL}, "invalid_arguments"),
        ({"private_metadata": "x" * (METADATA_LIMIT + 1)}, "invalid_arguments"),
        ({"callback_id": "x" * 256}, "invalid_arguments"),
        ({"blocks": [SECTION] * (MOST_BLOCKS + 1)}, "invalid_blocks"),
        ({"blocks": [INPUT]}, "invalid_arguments"),
        ({"blocks": [{"type": "markdown", "text": "x"}]}, "invalid_blocks"),
        ({"blocks": [{"type": "header", "text": {**LABEL, "text": "x" * 151}}]}, "invalid_blocks"),
        ({"blocks": with_text("")}, "invalid_blocks"),
        ({"blocks": with_text("x" * 3_001)}, "invalid_blocks"),
        ({"blocks": with_text("x", accessory={"type": "image"})}, "invalid_blocks"),
        (
            {"blocks": with_text("x", accessory={**BUTTON, "confirm": {"title": LABEL}})},
            "invalid_blocks",
        ),
        ({"blocks": with_text("x", accessory={**BUTTON, "value": "x" * 2_001})}, "invalid_blocks"),
    ],
)
def test_a_tab_that_slack_would_not_take(
    fake: SlackFake, changes: dict[str, Any], refusal: str
) -> None:
    """Nothing is published; what is just small enough is."""
    assert publish(fake, **changes) == refusal
    assert fake.homes == {}
    assert (
        publish(fake, blocks=[SECTION] * MOST_BLOCKS, private_metadata="x" * METADATA_LIMIT) == ""
    )


def test_a_trigger_opens_one_modal_within_three_seconds(fake: SlackFake) -> None:
    """Neither later, nor twice, nor with an id of somebody's own making."""
    fresh, old = fake.trigger(), fake.trigger(TRIGGER_S + 1)
    asked = {**MODAL, "submit": LABEL, "close": LABEL, "blocks": [INPUT]}
    assert error(fake, "views.open", trigger_id=fresh, view=asked) == ""
    assert error(fake, "views.open", trigger_id=fresh, view=MODAL) == "exchanged_trigger_id"
    assert error(fake, "views.open", trigger_id=old, view=MODAL) == "expired_trigger_id"
    assert error(fake, "views.open", trigger_id="1.2.x", view=MODAL) == "invalid_trigger_id"


@pytest.mark.parametrize(
    "view",
    [
        {"type": "modal", "blocks": [SECTION]},
        {**MODAL, "title": {**LABEL, "text": "x" * 25}},
        {**MODAL, "blocks": [INPUT]},
        {
            **MODAL,
            "submit": LABEL,
            "blocks": [{**INPUT, "element": {**TYPED, "max_length": 3_001}}],
        },
        {**MODAL, "submit": LABEL, "blocks": [{**INPUT, "element": BUTTON}]},
        None,
    ],
)
def test_a_modal_that_slack_would_not_take(fake: SlackFake, view: Any) -> None:
    """Without a title, with a long one, with an input that nobody can send."""
    assert error(fake, "views.open", trigger_id=fake.trigger(), view=view) in (
        "invalid_arguments",
        "invalid_blocks",
    )
    assert fake.modals == {}


def test_a_modal_is_changed_by_its_id_and_hash(fake: SlackFake) -> None:
    """As it stands."""
    opened = call(fake, "views.open", trigger_id=fake.trigger(), view=MODAL)["view"]
    assert error(fake, "views.update", view_id=opened["id"], view=MODAL, hash=opened["hash"]) == ""
    assert (
        error(fake, "views.update", view_id=opened["id"], view=MODAL, hash=opened["hash"])
        == "hash_conflict"
    )
    assert error(fake, "views.update", view_id="V9", view=MODAL) == "not_found"


def test_what_needs_a_newer_scope_is_refused_without_it(fake: SlackFake) -> None:
    """And named."""
    assert call(fake, "conversations.open", users=USER)["channel"]["id"] == DIRECT
    assert error(fake, "conversations.open", users="U9") == "user_not_found"
    fake.scopes = ["chat:write"]
    refused = call(fake, "conversations.open", users=USER)
    assert (refused["error"], refused["needed"]) == ("missing_scope", "im:write")
    assert error(fake, "usergroups.list") == "missing_scope"
