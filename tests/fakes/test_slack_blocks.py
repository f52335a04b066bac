"""The stand-in for Slack refuses the blocks that Slack refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.slack_blocks import button, check_blocks, read
from tests.fakes.slack_rules import Refused

LABEL = {"type": "plain_text", "text": "Yes", "emoji": False}
BUTTON = {"type": "button", "action_id": "a", "text": LABEL, "style": "primary", "value": "v"}
ACTIONS = {
    "type": "actions",
    "block_id": "b",
    "elements": [BUTTON, {**BUTTON, "action_id": "c", "style": "danger"}],
}
TEXT = {"type": "text", "text": "words"}
PREFORMATTED = {"type": "rich_text_preformatted", "elements": [TEXT]}
DATE = {"type": "date", "timestamp": 1, "format": "{time}", "fallback": "soon"}
SECTION = {"type": "rich_text_section", "elements": [TEXT, {"type": "user", "user_id": "U1"}, DATE]}
RICH = {"type": "rich_text", "elements": [SECTION, PREFORMATTED]}
CONTEXT = {"type": "context", "elements": [LABEL]}
MARKDOWN = {"type": "markdown", "text": "**words**"}
CARD = {"type": "task_card", "task_id": "1", "title": "Weather", "status": "complete"}
HALF = {"text": LABEL, "value": "v", "accessibility_label": "Yes"}
FEEDBACK = {
    "type": "feedback_buttons",
    "action_id": "f",
    "positive_button": HALF,
    "negative_button": HALF,
}
BELOW = {"type": "context_actions", "elements": [FEEDBACK]}


def with_button(**changes: Any) -> list[Any]:
    return [{**ACTIONS, "elements": [{**BUTTON, **changes}]}]


def test_good_blocks_pass_and_can_be_read() -> None:
    """And the button of one is found."""
    check_blocks(None)
    check_blocks([RICH, ACTIONS, CONTEXT, MARKDOWN, CARD, BELOW])
    assert button({"blocks": [BELOW]}, "f") == (FEEDBACK, BELOW)
    assert [read(block) for block in (CARD, BELOW)] == ["[✓ Weather]", "[Yes] [Yes]"]
    assert [read(block) for block in (RICH, ACTIONS, CONTEXT, MARKDOWN)] == [
        "words@U1soon\nwords",
        "[Yes] [Yes]",
        "Yes",
        "**words**",
    ]
    assert button({"blocks": [RICH, ACTIONS]}, "c") == (ACTIONS["elements"][1], ACTIONS)


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ("text", "invalid_blocks_format"),
        (["text"], "invalid_blocks_format"),
        ([{}], "invalid_blocks"),
        ([{"type": "button", "text": "x"}], "invalid_blocks"),
        ([CONTEXT] * 51, "invalid_blocks"),
        ([ACTIONS, ACTIONS], "invalid_blocks"),
        ([{**ACTIONS, "block_id": "b" * 256}], "invalid_blocks"),
        ([{**ACTIONS, "elements": []}], "invalid_blocks"),
        ([{**ACTIONS, "elements": [BUTTON] * 2}], "invalid_blocks"),
        ([{**ACTIONS, "elements": [TEXT]}], "invalid_blocks"),
        ([{**ACTIONS, "elements": ["x"]}], "invalid_blocks"),
        (with_button(text={**LABEL, "text": "x" * 76}), "invalid_blocks"),
        (with_button(text={**LABEL, "type": "mrkdwn"}), "invalid_blocks"),
        (with_button(value="x" * 2_001), "invalid_blocks"),
        (with_button(value=""), "invalid_blocks"),
        (with_button(action_id="x" * 256), "invalid_blocks"),
        (with_button(style="blue"), "invalid_blocks"),
        (with_button(colour="blue"), "invalid_blocks"),
        ([{**CONTEXT, "elements": [LABEL] * 11}], "invalid_blocks"),
        ([{**CONTEXT, "elements": [{**LABEL, "text": ""}]}], "invalid_blocks"),
        ([{**RICH, "elements": [{**PREFORMATTED, "elements": [DATE]}]}], "invalid_blocks"),
        (
            [{**RICH, "elements": [{**SECTION, "elements": [{**DATE, "timestamp": "1"}]}]}],
            "invalid_blocks",
        ),
        (
            [{**RICH, "elements": [{**SECTION, "elements": [{**DATE, "format": "soon"}]}]}],
            "invalid_blocks",
        ),
        (
            [
                {
                    **RICH,
                    "elements": [{**PREFORMATTED, "elements": [{**TEXT, "text": "x" * 6_001}] * 2}],
                }
            ],
            "msg_blocks_too_long",
        ),
        ([{**MARKDOWN, "text": "x" * 12_001}], "msg_blocks_too_long"),
        ([{**MARKDOWN, "text": ""}], "invalid_blocks"),
        (with_button(accessibility_label="x" * 76), "invalid_blocks"),
        ([{**CARD, "status": "done"}], "invalid_blocks"),
        ([{**CARD, "title": "x" * 257}], "invalid_blocks"),
        ([{**CARD, "arguments": "x"}], "invalid_blocks"),
        ([{**BELOW, "elements": [FEEDBACK] * 6}], "invalid_blocks"),
        ([{**BELOW, "elements": [BUTTON]}], "invalid_blocks"),
        (
            [
                {
                    **BELOW,
                    "elements": [{**FEEDBACK, "positive_button": {**HALF, "style": "primary"}}],
                }
            ],
            "invalid_blocks",
        ),
        ([{**BELOW, "elements": [{**FEEDBACK, "positive_button": "x"}]}], "invalid_blocks"),
        (
            [
                {
                    **BELOW,
                    "elements": [{**FEEDBACK, "negative_button": {**HALF, "value": "x" * 2_001}}],
                }
            ],
            "invalid_blocks",
        ),
        (
            [{"type": "context_actions", "elements": [{"type": "feedback_buttons"}]}],
            "invalid_blocks",
        ),
    ],
)
def test_bad_blocks_are_refused(blocks: object, error: str) -> None:
    """With Slack's own word for it."""
    with pytest.raises(Refused, match=f"^{error}$"):
        check_blocks(blocks)
