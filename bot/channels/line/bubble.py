"""One message in LINE as people see it, before LINE's SDK gives it its form."""

from __future__ import annotations

from typing import NamedTuple


class Button(NamedTuple):
    """Something to press.

    Attributes:
        label: what stands on it, 20 characters at most.
        says: what then stands in the chat, as said by whoever has pressed it.
        data: comes to the webhook as a postback; with none, what it says comes as a message like any other.
    """

    label: str
    says: str
    data: str = ""


class Bubble(NamedTuple):
    """One message.

    Attributes:
        choice: two buttons below a text of at most 240 characters; both stay as long as the chat does.
        quick: at most 13 buttons above the keyboard, which go as soon as something is said.
    """

    text: str
    choice: tuple[Button, ...] = ()
    quick: tuple[Button, ...] = ()
