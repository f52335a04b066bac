"""Messages and views in the stand-in for Slack: which text and blocks they may have, and what
people read in them. https://docs.slack.dev/reference/block-kit/blocks
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from tests.fakes.slack_rules import JSON, MARKDOWN_LIMIT, TEXT_LIMIT, Refused, check_metadata

RICH_LIMIT = 12_000
TASK_STATES = {"pending": "○", "in_progress": "…", "complete": "✓", "error": "✗"}
FEEDBACK = ("positive_button", "negative_button")

T = TypeVar("T")
Words = Annotated[str, Meta(min_length=1)]
To24 = Annotated[str, Meta(min_length=1, max_length=24)]
To30 = Annotated[str, Meta(min_length=1, max_length=30)]
To75 = Annotated[str, Meta(min_length=1, max_length=75)]
To100 = Annotated[str, Meta(min_length=1, max_length=100)]
To150 = Annotated[str, Meta(min_length=1, max_length=150)]
Id = Annotated[str, Meta(min_length=1, max_length=255)]
To256 = Annotated[str, Meta(min_length=1, max_length=256)]
To300 = Annotated[str, Meta(min_length=1, max_length=300)]
To2000 = Annotated[str, Meta(min_length=1, max_length=2_000)]
To3000 = Annotated[str, Meta(min_length=1, max_length=3_000)]
Up3000 = Annotated[str, Meta(max_length=3_000)]
State = Literal["pending", "in_progress", "complete", "error"]


def type_of(name: str) -> str:
    """The type that a class stands for."""
    return re.sub("(?<!^)(?=[A-Z])", "_", name).lower()


class Part(Struct, forbid_unknown_fields=True):
    """What has no field that Slack does not know."""


class Typed(Part, tag=type_of, tag_field="type"):
    """A part that says what it is."""


class PlainText(Typed, Generic[T], tag="plain_text"):
    text: T
    emoji: bool = True


class Mrkdwn(Typed):
    text: To3000
    verbatim: bool = False


class Confirm(Part):
    title: PlainText[To100]
    text: PlainText[To300]
    confirm: PlainText[To30]
    deny: PlainText[To30]
    style: str = ""


class Button(Typed):
    text: PlainText[To75]
    action_id: Id
    value: To2000 = "_"
    style: Literal["primary", "danger", ""] = ""
    accessibility_label: To75 = "_"
    confirm: Confirm | None = None


class Block(Typed, kw_only=True):
    """Any block."""

    block_id: Id = "_"


class Markdown(Block):
    text: Words


class Header(Block):
    text: PlainText[To150]


class Section(Block):
    text: PlainText[To3000] | Mrkdwn
    accessory: Button | None = None


class Context(Block):
    elements: Annotated[list[PlainText[To3000] | Mrkdwn], Meta(min_length=1, max_length=10)]


class Actions(Block):
    elements: Annotated[list[Button], Meta(min_length=1, max_length=25)]


class Half(Part):
    text: PlainText[To75]
    value: To2000
    accessibility_label: To75 = "_"


class FeedbackButtons(Typed):
    positive_button: Half
    negative_button: Half
    action_id: Id = "_"


class ContextActions(Block):
    elements: Annotated[list[FeedbackButtons], Meta(min_length=1, max_length=5)]


class TaskCard(Block):
    task_id: To256
    title: To256
    status: State = "pending"


class Style(Part):
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False


class Text(Typed):
    text: Words
    style: Style | None = None


class Link(Typed):
    url: Annotated[str, Meta(pattern="^https://")]
    text: str = ""


class User(Typed):
    user_id: Id


class Date(Typed):
    timestamp: int
    format: Annotated[str, Meta(pattern=r"\{(date_short_pretty|time)\}")]
    fallback: str = ""


class RichTextSection(Typed):
    elements: Annotated[list[Text | User | Date | Link], Meta(min_length=1)]


class RichTextQuote(RichTextSection):
    """The same, as a quotation."""


class RichTextPreformatted(Typed):
    elements: Annotated[list[Text], Meta(min_length=1)]
    border: int = 0


class RichText(Block):
    elements: Annotated[
        list[RichTextSection | RichTextPreformatted | RichTextQuote], Meta(min_length=1)
    ]


class PlainTextInput(Typed):
    action_id: Id
    multiline: bool = False
    max_length: Annotated[int, Meta(ge=1, le=3_000)] = 3_000
    placeholder: PlainText[To150] | None = None
    focus_on_load: bool = False


class Input(Block):
    label: PlainText[To2000]
    element: PlainTextInput
    optional: bool = False


InViews = RichText | Actions | Context | ContextActions | TaskCard | Header | Section
MessageBlocks = Annotated[list[InViews | Markdown], Meta(max_length=50)]


class Home(Typed):
    blocks: Annotated[list[InViews], Meta(max_length=100)]
    private_metadata: Up3000 = ""
    callback_id: Annotated[str, Meta(max_length=255)] = ""


class Modal(Typed):
    title: PlainText[To24]
    blocks: Annotated[list[InViews | Input], Meta(max_length=100)]
    submit: PlainText[To24] | None = None
    close: PlainText[To24] | None = None
    private_metadata: Up3000 = ""
    callback_id: Annotated[str, Meta(max_length=255)] = ""


class TaskUpdate(Typed):
    id: To256
    title: To256
    status: State


class MarkdownText(Typed):
    text: Words


Chunks = Annotated[list[TaskUpdate | MarkdownText], Meta(min_length=1)]


def check(value: object, form: Any, error: str = "invalid_blocks") -> None:
    """Refuse what has not this form."""
    try:
        msgspec.convert(value, form)
    except msgspec.ValidationError as wrong:
        raise Refused(error, wrong=str(wrong)) from wrong


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


def check_blocks(blocks: Any) -> None:
    """Refuse what is no list of blocks for a message, and more words than it takes."""
    if blocks is None:
        return
    check(blocks, MessageBlocks)
    check_ids(blocks)
    words = [block["text"] for block in blocks if block["type"] == "markdown"]
    rich = [read(block) for block in blocks if block["type"] == "rich_text"]
    if sum(map(len, words)) > MARKDOWN_LIMIT or any(len(text) > RICH_LIMIT for text in rich):
        raise Refused("msg_blocks_too_long")


def check_ids(blocks: list[JSON]) -> None:
    """Refuse blocks of one id, and buttons of one in a block."""
    named: list[tuple[object, object]] = []
    for number, block in enumerate(blocks):
        named.append(("block", block.get("block_id", number)))
        if block["type"] == "actions":
            named += [(number, element["action_id"]) for element in block["elements"]]
    if len(set(named)) < len(named):
        raise Refused("invalid_blocks")


def check_view(view: Any, kind: Literal["home", "modal"]) -> JSON:
    """The view, if it is one of this kind. Inputs need a submit button."""
    check(view, Home if kind == "home" else Modal, "invalid_arguments")
    check_ids(view["blocks"])
    if "submit" not in view and any(block["type"] == "input" for block in view["blocks"]):
        raise Refused("invalid_arguments")
    checked: JSON = view
    return checked


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
