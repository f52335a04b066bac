"""``find_tools``: the model's search among tools that a request does not declare.

These are many tools from elsewhere, and those of Kaiwa's own that are needed less often.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from toolset.titles import Words
from toolset.tool import Risk, ToolContext, ToolDefinition, ToolError
from toolset.web.json_values import entries

FOUND = 8  # tools of one search
SHOWN = 300  # characters of a description in a result
# Of a word in the name, the titles or the keywords, compared with one in the description.
NAME_WEIGHT = 3
GROUPS = 12  # names, or beginnings of names, in the description
# Japanese has no blanks: a word ends where the script changes.
WORD = re.compile(
    r"[A-Z]?[a-z]+|[A-Z]+|\d+|[\u3041-\u309f]+|[\u30a1-\u30ff]+|[^\W\da-zA-Z_\u3041-\u30ff]+"
)


class FindTools:
    """Searches names, descriptions, titles and keywords.

    Args:
        tools: the definitions to search.
    """

    name: ClassVar[str] = "find_tools"
    risk: ClassVar[Risk] = "low"
    titles: ClassVar[Words] = {"en": "Search for tools", "ja": "ツールの検索"}

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self._tools = tools
        self._words = [_words_of(_named(tool), tool.description) for tool in tools]
        self._having = Counter(
            word for name, description in self._words for word in name | description.keys()
        )
        self.description = (
            f"Search {len(tools)} further tools by words; what it finds can be called afterwards. "
            "Use it whenever no other tool fits, before you say that something cannot be done. "
            f"{_names(tools)}"
        ).strip()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        wanted = list(dict.fromkeys(words_in(arguments["query"])))
        if not wanted:
            raise ToolError("the query has no words; write what the tool should do, in a few words")
        scores = [(self._score(wanted, index), index) for index in range(len(self._tools))]
        best = sorted((-score, index) for score, index in scores if score > 0)[:FOUND]
        found = [self._tools[index] for _, index in best]
        return {
            "tools": [
                {"name": tool.name, "description": tool.description[:SHOWN]} for tool in found
            ]
        }

    def _score(self, wanted: Iterable[str], index: int) -> float:
        """The sum over the words, rare ones counting more."""
        name, description = self._words[index]
        return sum(
            self._rarity(word) * (NAME_WEIGHT * (word in name) + math.log1p(description[word]))
            for word in wanted
            if word in name or word in description
        )

    def _rarity(self, word: str) -> float:
        return math.log1p(len(self._words) / self._having[word])


def found_in(response: Mapping[str, Any]) -> list[str]:
    """The names in a response of the search; a hook may have put something else in its place."""
    names = [tool.get("name") for tool in entries(response.get("tools"))]
    return [name for name in names if isinstance(name, str)]


def words_in(text: str) -> list[str]:
    """Words in small letters, parts of ``snake_case`` and ``camelCase`` apart; pairs of letters in
    other scripts."""
    words = []
    for word in WORD.findall(text):
        if word.isascii():
            small = word.lower()
            words.append(small[:-1] if len(small) > 3 and small.endswith("s") else small)
        else:
            words += [word[start : start + 2] for start in range(max(1, len(word) - 1))]
    return words


@lru_cache(maxsize=4096)
def _words_of(name: str, description: str) -> tuple[frozenset[str], Counter[str]]:
    """Kept, because a server may change its list every second, and each rule has a search of its
    own."""
    return frozenset(words_in(name)), Counter(words_in(description))


def _named(tool: ToolDefinition) -> str:
    """What people and models call a tool."""
    return " ".join((tool.name, *tool.titles.values(), tool.keywords))


def _names(tools: Sequence[ToolDefinition]) -> str:
    """The names of Kaiwa's own, and what others begin with, as tools of one server do."""
    own = [tool.name for tool in tools if tool.own]
    beginnings = Counter(tool.name.partition("_")[0] for tool in tools if not tool.own)
    groups = [f"{name} ({count})" for name, count in beginnings.most_common(GROUPS) if count > 1]
    sentences = []
    if own:
        sentences.append(f"Among them: {', '.join(own[:GROUPS])}.")
    if groups:
        sentences.append(f"Names begin with: {', '.join(groups)}.")
    return " ".join(sentences)
