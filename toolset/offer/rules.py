"""TOOLS_ALLOW: which tools a place and its people may use, and with what risk.

The first rule that matches a turn decides; a turn that no rule matches may use all tools.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolset.tool import Risk, ToolSetupError, ValidatedTool

WILD = "*?["


class Rule(BaseModel):
    """One ``[[rule]]``. All patterns are those of file names: ``*``, ``?``, ``[ab]``.

    Attributes:
        channel: ``line``, ``slack``, ``console``.
        conversation: its id, as in the log.
        user: the id of the person who asks.
        tools: names of the tools on offer.
        risk: in place of the tools' own; names without patterns.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    channel: str = "*"
    conversation: str = "*"
    user: str = "*"
    tools: tuple[str, ...] = Field(default=("*",), max_length=1000)
    risk: dict[str, Risk] = Field(default_factory=dict)

    def matches(self, conversation: str, user: str) -> bool:
        """Whether the rule is about this place and person."""
        channel = conversation.partition(":")[0].partition("@")[0]
        asked = ((channel, self.channel), (conversation, self.conversation), (user, self.user))
        return all(fnmatchcase(value, pattern) for value, pattern in asked)

    def offers(self, name: str) -> bool:
        """Whether a tool is among those on offer."""
        return any(fnmatchcase(name, pattern) for pattern in self.tools)


EVERYTHING = Rule()


def select(rules: Sequence[Rule], tools: Iterable[ValidatedTool]) -> list[ValidatedTool]:
    """The tools that all these rules offer; of the risks that they give, the higher one counts."""
    chosen = []
    for tool in tools:
        name = tool.definition.name
        if all(rule.offers(name) for rule in rules):
            given = {rule.risk[name] for rule in rules if name in rule.risk}
            risk: Risk = "high" if "high" in given else "low"
            chosen.append(tool.with_risk(risk) if given else tool)
    return chosen


def unknown(rules: Sequence[Rule], names: Iterable[str]) -> list[str]:
    """The names in the rules that belong to no tool."""
    exact: set[str] = set()
    for rule in rules:
        exact.update(rule.risk)
        exact.update(name for name in rule.tools if not any(sign in name for sign in WILD))
    return sorted(exact.difference(names))


def lowered(rules: Sequence[Rule]) -> list[str]:
    """The tools whose calls no person is asked about, because a rule says ``low``."""
    return sorted({name for rule in rules for name, risk in rule.risk.items() if risk == "low"})


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Read a TOML file of ``[[rule]]`` tables.

    Raises:
        ToolSetupError: says what is wrong in it.
    """
    try:
        document: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise ToolSetupError(f"{path} cannot be read: {error}") from error
    if set(document) - {"rule"} or not isinstance(document.get("rule", []), list):
        raise ToolSetupError(f"{path}: only [[rule]] tables belong in it")
    rules = []
    for number, table in enumerate(document.get("rule", []), 1):
        try:
            rules.append(Rule.model_validate(table))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            fields = ", ".join(Rule.model_fields)
            raise ToolSetupError(
                f"{path}, rule {number}, {where}: {first['msg']}. Fields: {fields}; risks: "
                f"{', '.join(get_args(Risk))}"
            ) from error
    return tuple(rules)
