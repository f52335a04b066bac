"""A question as Slack shows it: the call in letters that nothing turns into links or mentions, and two buttons."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bot.channels import Question
from bot.safe_text.arguments import described
from bot.texts import Texts

Block = dict[str, Any]

APPROVE, REJECT = "kaiwa_approve", "kaiwa_reject"
DATE = "{date_short_pretty} {time}"  # in the language and the zone of whoever reads it


def question_block(question: Question, texts: Texts, language: str) -> Block:
    """What is asked: the tool, every argument as it will be used, for whom, until when."""
    call = "\n".join(filter(None, (question.tool, described(question.arguments))))
    title = _text(texts.get("slack.question", language)) | {"style": {"bold": True}}
    return {
        "type": "rich_text",
        "elements": [
            {"type": "rich_text_section", "elements": [title]},
            {"type": "rich_text_preformatted", "elements": [_text(call)]},
            {"type": "rich_text_section", "elements": _circumstances(question, texts, language)},
        ],
    }


def buttons(question: Question, conversation: str, texts: Texts, language: str) -> Block:
    """The answers. A press brings the block's id with it, which is the conversation's."""
    styles = {APPROVE: "primary", REJECT: "danger"}
    return {
        "type": "actions",
        "block_id": conversation,
        "elements": [
            {
                "type": "button",
                "action_id": action,
                "text": _plain(texts.get(f"slack.{action.removeprefix('kaiwa_')}", language)),
                "style": style,
                "value": question.id,
            }
            for action, style in styles.items()
        ],
    }


def outcome_block(text: str) -> Block:
    """How it was decided, in the place of the buttons."""
    return {"type": "context", "elements": [_plain(text)]}


def _circumstances(question: Question, texts: Texts, language: str) -> list[Block]:
    """Who has asked is named by Slack itself, which no name that somebody has chosen can fake."""
    seconds = question.until // 1000
    fallback = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    until = {"type": "date", "timestamp": seconds, "format": DATE, "fallback": fallback}
    asker = {"type": "user", "user_id": question.asker_id}
    asked_by = [_text(f"{texts.get('slack.asked_by', language)} "), asker, _text("\n")] if question.asker_id else []
    return [*asked_by, _text(f"{texts.get('slack.open_until', language)} "), until]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text, "emoji": False}
