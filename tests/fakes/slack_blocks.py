"""Messages in the stand-in for Slack: which text and blocks they may have, and what people read in
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from tests.fakes.slack_rules import JSON, MARKDOWN_LIMIT, TEXT_LIMIT, Refused, check_metadata

MOST_BLOCKS = 50
MOST_ELEMENTS = {"actions": 25, "context": 10, "context_actions": 5}
ID_LIMIT, VALUE_LIMIT, LABEL_LIMIT, PLAIN_LIMIT, RICH_LIMIT = 255, 2_000, 75, 3_000, 12_000
HEADER_LIMIT = 150
CONFIRM_LIMITS = {"title": 100, "text": 300, "confirm": 30, "deny": 30}
Checks = Mapping[Any, Callable[[JSON], None]]
STYLES = {"primary", "danger"}
TITLE_LIMIT = 256
TASK_STATES = {"pending": "○", "in_progress": "…", "complete": "✓", "error": "✗"}
FEEDBACK = ("positive_button", "negative_button")
TEXT_STYLES = {"bold", "italic", "strike", "code"}
DATE_TOKENS = ("{date_short_pretty}", "{time}")


def check_message(arguments: JSON) -> None:
    """Refuse what is no message."""
    markdown, text, blocks = (arguments.get(name) for name in ("markdown_text", "text", "blocks"))
    if not (markdown or text or blocks):
        raise Refused("no_text")
    if markdown and (text or blocks):
        raise Refused("markdown_text_conflict")
    if (markdown and len(markdown) > MARKDOWN_LIMIT) or (text and len(text) > TEXT_LIMIT):
        raise Refused("msg_too_long")
    check_blocks(blocks)
    check_metadata(arguments.get("metadata"))


def check_blocks(blocks: object, checks: Checks | None = None, most: int = 50) -> None:
    """Refuse what is no list of blocks, and blocks that Slack would not take.

    Args:
        checks: by type, of the blocks that may stand here.
    """
    if blocks is None:
        return
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise Refused("invalid_blocks_format")
    if len(blocks) > most:
        raise Refused("invalid_blocks")
    for block in blocks:
        check((checks or CHECKS).get(block.get("type", "")), block)
        limit(block.get("block_id", "_"), ID_LIMIT)
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    if len(ids) != len(set(ids)):
        raise Refused("invalid_blocks")
    if sum(len(block["text"]) for block in blocks if block["type"] == "markdown") > MARKDOWN_LIMIT:
        raise Refused("msg_blocks_too_long")


def read(block: JSON) -> str:
    """What people see of a block, or of an element of one."""
    match block["type"]:
        case "markdown" | "plain_text" | "text" | "mrkdwn":
            return str(block["text"])
        case "header":
            return read(block["text"])
        case "section":
            return " ".join(
                map(read, [block["text"], *([block["accessory"]] if "accessory" in block else [])])
            )
        case "link":
            return f"[{block['text']}]({block['url']})"
        case "rich_text_quote":
            return "> " + "".join(map(read, block["elements"]))
        case "input":
            return f"{block['label']['text']}: ____"
        case "user":
            return f"@{block['user_id']}"
        case "date":
            return str(block["fallback"])
        case "button":
            return f"[{block['text']['text']}]"
        case "task_card":
            return f"[{TASK_STATES[block['status']]} {block['title']}]"
        case "feedback_buttons":
            return " ".join(f"[{block[name]['text']['text']}]" for name in FEEDBACK)
        case "actions" | "context_actions":
            return " ".join(map(read, block["elements"]))
        case "rich_text":
            return "\n".join(map(read, block["elements"]))
        case _:
            return "".join(map(read, block["elements"]))


def button(message: JSON, action_id: str) -> tuple[JSON, JSON]:
    """A message's button, and the block it stands in."""
    return next(
        (element, block)
        for block in message.get("blocks", ())
        if block["type"] in ("actions", "context_actions")
        for element in block["elements"]
        if element["action_id"] == action_id
    )


def check_task(task: JSON, error: str) -> None:
    """Refuse what is no task: a title of some length, and one of four states."""
    title, task_id = task.get("title"), task.get("id", task.get("task_id"))
    is_named = all(
        isinstance(name, str) and 1 <= len(name) <= TITLE_LIMIT for name in (title, task_id)
    )
    if not is_named or task.get("status", "pending") not in TASK_STATES:
        raise Refused(error)


def check(checks: Callable[[JSON], None] | None, part: object) -> None:
    """Check a part by its type's check, None where the type is not allowed."""
    if checks is None or not isinstance(part, dict):
        raise Refused("invalid_blocks")
    checks(part)


def check_fields(
    part: JSON, needed: AbstractSet[str], optional: AbstractSet[str] = frozenset()
) -> None:
    """Check which fields there are, besides the type."""
    if not {"type", *needed} <= part.keys() <= {"type", *needed, *optional}:
        raise Refused("invalid_blocks")


def limit(text: object, most: int) -> None:
    """Check a text's length."""
    if not isinstance(text, str) or not 1 <= len(text) <= most:
        raise Refused("invalid_blocks")


def _elements(part: JSON, checks: Mapping[str, Callable[[JSON], None]], most: int = 1_000) -> None:
    elements = part["elements"]
    if not isinstance(elements, list) or not 1 <= len(elements) <= most:
        raise Refused("invalid_blocks")
    for element in elements:
        check(checks.get(element.get("type", "")) if isinstance(element, dict) else None, element)


def _markdown(block: JSON) -> None:
    check_fields(block, {"text"}, {"block_id"})
    limit(block["text"], 10**9)  # together they have a limit, with an error of its own


def plain(part: JSON, most: int = PLAIN_LIMIT) -> None:
    """Check plain text."""
    check_fields(part, {"text"}, {"emoji"})
    if part["type"] != "plain_text":
        raise Refused("invalid_blocks")
    limit(part["text"], most)


def _context(block: JSON) -> None:
    check_fields(block, {"elements"}, {"block_id"})
    _elements(block, {"plain_text": plain, "mrkdwn": _mrkdwn}, MOST_ELEMENTS["context"])


def _mrkdwn(part: JSON) -> None:
    check_fields(part, {"text"}, {"verbatim"})
    limit(part["text"], PLAIN_LIMIT)


def _header(block: JSON) -> None:
    check_fields(block, {"text"}, {"block_id"})
    plain(block["text"], HEADER_LIMIT)


def _section(block: JSON) -> None:
    check_fields(block, {"text"}, {"block_id", "accessory"})
    check({"plain_text": plain, "mrkdwn": _mrkdwn}.get(block["text"].get("type")), block["text"])
    if "accessory" in block:
        check({"button": _button}.get(block["accessory"].get("type")), block["accessory"])


def _actions(block: JSON) -> None:
    check_fields(block, {"elements"}, {"block_id"})
    _elements(block, {"button": _button}, MOST_ELEMENTS["actions"])
    ids = [element["action_id"] for element in block["elements"]]
    if len(ids) != len(set(ids)):
        raise Refused("invalid_blocks")


def _button(element: JSON) -> None:
    check_fields(
        element, {"text", "action_id"}, {"value", "style", "accessibility_label", "confirm"}
    )
    if "confirm" in element:
        _confirm(element["confirm"])
    limit(element.get("accessibility_label", "_"), LABEL_LIMIT)
    plain(element["text"], LABEL_LIMIT)
    limit(element["action_id"], ID_LIMIT)
    limit(element.get("value", "_"), VALUE_LIMIT)
    if element.get("style", "primary") not in STYLES:
        raise Refused("invalid_blocks")


def _context_actions(block: JSON) -> None:
    check_fields(block, {"elements"}, {"block_id"})
    _elements(block, {"feedback_buttons": _feedback}, MOST_ELEMENTS["context_actions"])


def _feedback(element: JSON) -> None:
    check_fields(element, {*FEEDBACK}, {"action_id"})
    limit(element.get("action_id", "_"), ID_LIMIT)
    for half in (element[name] for name in FEEDBACK):
        if not isinstance(half, dict) or not {"text", "value"} <= half.keys() <= {
            "text",
            "value",
            "accessibility_label",
        }:
            raise Refused("invalid_blocks")
        plain(half["text"], LABEL_LIMIT)
        limit(half["value"], VALUE_LIMIT)
        limit(half.get("accessibility_label", "_"), LABEL_LIMIT)


def _task_card(block: JSON) -> None:
    check_fields(
        block, {"task_id", "title"}, {"block_id", "status", "details", "output", "sources"}
    )
    check_task(block, "invalid_blocks")


def _confirm(dialog: JSON) -> None:
    if not CONFIRM_LIMITS.keys() <= dialog.keys() <= {*CONFIRM_LIMITS, "style"}:
        raise Refused("invalid_blocks")
    for part, limit in CONFIRM_LIMITS.items():
        plain(dialog[part], limit)


def _rich(block: JSON) -> None:
    check_fields(block, {"elements"}, {"block_id"})
    words = {"text": _text, "user": _user, "date": _date, "link": _link}

    def section(part: JSON) -> None:
        check_fields(part, {"elements"})
        _elements(part, words)

    def preformatted(part: JSON) -> None:
        check_fields(part, {"elements"}, {"border"})
        _elements(part, {"text": _text})

    parts = {
        "rich_text_section": section,
        "rich_text_preformatted": preformatted,
        "rich_text_quote": section,
    }
    _elements(block, parts)
    if len(read(block)) > RICH_LIMIT:
        raise Refused("msg_blocks_too_long")


def _text(element: JSON) -> None:
    check_fields(element, {"text"}, {"style"})
    limit(element["text"], RICH_LIMIT)
    style = element.get("style", {})
    if (
        not isinstance(style, dict)
        or not style.keys() <= TEXT_STYLES
        or not set(style.values()) <= {True, False}
    ):
        raise Refused("invalid_blocks")


def _link(element: JSON) -> None:
    check_fields(element, {"url"}, {"text", "style"})
    if not element["url"].startswith("https://"):
        raise Refused("invalid_blocks")


def _user(element: JSON) -> None:
    check_fields(element, {"user_id"}, {"style"})
    limit(element["user_id"], ID_LIMIT)


def _date(element: JSON) -> None:
    check_fields(element, {"timestamp", "format"}, {"fallback"})
    if not isinstance(element["timestamp"], int) or not any(
        token in element["format"] for token in DATE_TOKENS
    ):
        raise Refused("invalid_blocks")


CHECKS: dict[Any, Callable[[JSON], None]] = {
    "markdown": _markdown,
    "rich_text": _rich,
    "actions": _actions,
    "context": _context,
    "context_actions": _context_actions,
    "task_card": _task_card,
    "header": _header,
    "section": _section,
}
