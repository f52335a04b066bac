"""The demo model's sentences in one language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from bot.texts import Texts


@dataclass(frozen=True, slots=True)
class Voice:
    """Says the sentences of the table ``demo``."""

    texts: Texts
    language: str

    def say(self, key: str, **values: object) -> str:
        """One sentence, filled in."""
        return self.texts.get(f"demo.{key}", self.language, **values)

    def join(self, key: str, parts: Iterable[str]) -> str:
        """Parts with what stands between them; empty parts are left out."""
        said = [part for part in parts if part]
        return reduce(lambda before, then: self.say(key, before=before, then=then), said) if said else ""
