"""What was seen of a tool for the first time: a digest, kept for good. A tool that differs is not
trusted."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

# The protocol limits a name to so many characters.
OWN_NAME_CAP = 128


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server describes it.

    Attributes:
        says_it_reads: the server's ``readOnlyHint``.
    """

    name: str
    description: str
    parameters: Any
    response: Any | None = None
    says_it_reads: bool = False

    @property
    def digest(self) -> str:
        """Of all that decides what a model does with the tool, and what it may."""
        parts = [self.name, self.description, self.parameters, self.response, self.says_it_reads]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def digests_of(tools: Iterable[ListedTool]) -> dict[str, str]:
    """What is pinned: by name, without names that no tool may have."""
    return {one.name: one.digest for one in tools if len(one.name) <= OWN_NAME_CAP}


# Pins the tools of a server that have no pin, by their digests, and gives the pins of all of them;
# None where the store does not answer.
Pin = Callable[[str, Mapping[str, str]], Awaitable[Mapping[str, str] | None]]


async def pin_nothing(_server: str, digests: Mapping[str, str]) -> Mapping[str, str]:
    """Find nothing changed (``Pin``): for lists on the command line."""
    return digests
