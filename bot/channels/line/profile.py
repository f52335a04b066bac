"""What LINE tells of a person."""

from __future__ import annotations

from msgspec import Struct


class Person(Struct, frozen=True):
    """A profile; ``language`` is a BCP 47 tag, and told only where the person talks to the bot alone."""

    name: str = ""
    language: str = ""
