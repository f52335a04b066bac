"""Which tools a turn is offered: rules for places and people, and a search where there are many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.toolset.contexts import context
from tests.toolset.doer import ANYTHING, Doer
from toolset.offer.rules import Rule, lowered, read_rules, unknown
from toolset.offer.search import found_in, words_in
from toolset.tool import Risk, ToolSetupError, ValidatedTool
from toolset.tool_map import MANY, MOST, MOST_BYTES, MOST_OWN, ToolMap


def tool(
    name: str, description: str = "Does it.", risk: Risk = "low", *, own: bool = False
) -> ValidatedTool:
    kind: Any = type("Named", (Doer,), {"name": name, "description": description, "risk": risk})
    return ValidatedTool(kind(), ANYTHING, ANYTHING, own=own)


def own_tool(name: str, description: str = "Does it.", keywords: str = "") -> ValidatedTool:
    """A tool of Kaiwa's; with keywords, one that is needed less often."""
    declared = {"name": name, "description": description, "keywords": keywords}
    kind: Any = type("Named", (Doer,), declared | {"titles": {"en": name, "ja": "野鳥"}})
    return ValidatedTool(kind(), ANYTHING, ANYTHING)


def many(count: int = MANY + 1, *more: ValidatedTool) -> ToolMap:
    """One tool of Kaiwa's, and so many others."""
    return ToolMap(
        [
            tool("clock", own=True),
            *(tool(f"server_{n}", f"Number {n}.") for n in range(count)),
            *more,
        ]
    )


def names(tools: ToolMap, *used: str) -> list[str]:
    return [each.name for each in tools.offered(lambda: used)]


def rules(tmp_path: Path, text: str) -> tuple[Rule, ...]:
    path = tmp_path / "rules.toml"
    path.write_text(text, "utf-8")
    return read_rules(path)


def test_few_tools_are_all_declared() -> None:
    """Twenty from elsewhere, whatever Kaiwa's own are; nothing is searched for."""
    tools = many(MANY)
    assert len(names(tools)) == MANY + 1
    assert "find_tools" not in tools


def test_of_many_tools_those_in_use_are_declared() -> None:
    """Kaiwa's own, the search, and what was used, each once and in its order."""
    tools = many()
    assert names(tools) == ["clock", "find_tools"]
    assert names(tools, "server_3", "clock", "nobody", "server_1", "server_3") == [
        "clock",
        "find_tools",
        "server_3",
        "server_1",
    ]


def test_of_many_own_tools_those_with_keywords_are_searched_for() -> None:
    """Together with too many others; where there is room, all are declared."""
    usual, rare = own_tool("usual", "x" * MOST_OWN), own_tool("rare", keywords="birds")
    assert names(ToolMap([rare, own_tool("clock")])) == ["rare", "clock"]
    tools = ToolMap([rare, usual, tool("server_a")])
    assert names(tools) == ["usual", "server_a", "find_tools"]
    assert names(tools, "rare", "server_a") == ["usual", "server_a", "find_tools", "rare"]
    both = ToolMap([rare, usual, *(tool(f"server_{n}") for n in range(MANY + 1))])
    assert names(both, "server_3", "rare") == ["usual", "find_tools", "server_3", "rare"]
    described = both["find_tools"].definition.description
    assert described.endswith("Among them: rare. Names begin with: server (21).")


@pytest.mark.parametrize("query", ["birds", "ornithology", "鳥の名前", "野鳥"])
async def test_the_search_finds_by_titles_and_keywords(query: str) -> None:
    """In any language; a word there weighs more than one in a description."""
    rare = own_tool("rare", keywords="birds ornithology 鳥")
    other, usual = tool("other", "Birds, and birds again."), own_tool("usual", "x" * MOST_OWN)
    tools = many(MANY + 1, other, rare, usual)
    outcome = await tools.call("find_tools", {"query": query}, context())
    assert outcome.response["tools"][0]["name"] == "rare"


def test_what_is_declared_stays_where_it_is() -> None:
    """The beginning is the same bytes, so that a vendor's cache holds."""
    tools = many()
    before = names(tools, "server_3", "server_1")
    assert names(tools, "server_3", "server_1", "server_9")[: len(before)] == before


def test_tools_in_use_have_a_limit() -> None:
    """Vendors take a limited number of functions; the newest stay."""
    declared = names(many(100), *(f"server_{n}" for n in range(100)))
    assert declared[2:] == [f"server_{n}" for n in range(100 - MOST, 100)]


def test_declarations_have_a_size() -> None:
    """A few large tools are too many, too; of those in use the newest that fit are declared, at
    least one."""
    large = [tool(f"server_{letter}", "x" * (MOST_BYTES // 3)) for letter in "abcd"]
    few = ToolMap([tool("clock", own=True), *large[:2]])
    assert names(few) == ["clock", "server_a", "server_b"]
    tools = ToolMap([tool("clock", own=True), *large, tool("server_huge", "x" * 2 * MOST_BYTES)])
    assert names(tools) == ["clock", "find_tools"]
    assert names(tools, "server_c", "server_a", "server_b") == [
        "clock",
        "find_tools",
        "server_a",
        "server_b",
    ]
    assert names(tools, "server_a", "server_huge") == ["clock", "find_tools", "server_huge"]
    assert names(tools, "server_huge", "server_b", "server_a") == [
        "clock",
        "find_tools",
        "server_b",
        "server_a",
    ]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("create an issue", "github_createIssue"),
        ("issues", "github_createIssue"),
        ("課題を作る", "backlog_add"),
        ("SEND MAIL", "mail_send"),
    ],
)
async def test_the_search_finds_by_words(query: str, first: str) -> None:
    """In names and descriptions, whatever the case, the number and the script."""
    tools = many(
        MANY,
        tool("github_createIssue", "Opens a ticket in a repository."),
        tool("backlog_add", "課題を作成します。"),
        tool("mail_send", "Sends a letter."),
    )
    outcome = await tools.call("find_tools", {"query": query}, context())
    assert outcome.response["tools"][0]["name"] == first


async def test_a_search_without_a_hit_or_without_words_says_so() -> None:
    """An empty list, and an error that names the mend."""
    tools = many()
    assert (await tools.call("find_tools", {"query": "zebra"}, context())).response == {"tools": []}
    assert (
        "no words" in (await tools.call("find_tools", {"query": "?!"}, context())).response["error"]
    )


@pytest.mark.parametrize(
    "other", [{}, {"error": "no"}, {"tools": "x"}, {"tools": ["x", {}, {"name": 1}]}]
)
def test_what_is_no_result_of_the_search_names_nothing(other: dict[str, Any]) -> None:
    """A hook may answer in its place."""
    assert found_in(other) == []


def test_words_are_taken_apart() -> None:
    """Names of both styles; pairs of letters where no blanks stand between words."""
    assert words_in("list_HTTPIssues2 天気予報") == [
        "list",
        "httpi",
        "ssue",
        "2",
        "天気",
        "気予",
        "予報",
    ]


def test_the_name_of_the_search_is_taken() -> None:
    """Also where there are few tools: more may come."""
    with pytest.raises(ToolSetupError, match="two tools are named find_tools"):
        ToolMap([tool("find_tools")])


def test_the_first_rule_that_matches_decides(tmp_path: Path) -> None:
    """By channel, conversation and person; without a match everything is offered."""
    found = rules(
        tmp_path,
        """
        [[rule]]
        user = "U1"
        [[rule]]
        conversation = "slack:T:C1*"
        tools = ["server_1", "cl*"]
        [[rule]]
        channel = "line"
        tools = []
        """,
    )
    tools = ToolMap([tool("clock", own=True), tool("server_1"), tool("server_2")], found)
    assert list(tools.of_place("slack:T:C1:9", "U1")) == ["clock", "server_1", "server_2"]
    assert list(tools.of_place("slack:T:C1:9", "U2")) == ["clock", "server_1"]
    assert list(tools.of_place("line:u:x", "U2")) == []
    assert tools.of_place("console:x", "U2") is tools
    assert tools.of_place("line:u:x", "U2") is tools.of_place("line:u:y", "U3")


def test_a_rule_changes_a_risk_in_its_place_alone(tmp_path: Path) -> None:
    """Whether a call may be repeated after a crash stays as the tool says."""
    found = rules(tmp_path, '[[rule]]\nchannel = "line"\nrisk = { look = "high", act = "low" }')
    tools = ToolMap([tool("look"), tool("act", risk="high")], found)
    here = tools.of_place("line:u:x", "U")
    assert [(one.definition.risk, one.definition.idempotent) for one in here.values()] == [
        ("high", True),
        ("low", False),
    ]
    assert [one.definition.risk for one in tools.values()] == ["low", "high"]
    assert lowered(found) == ["act"]


def test_only_reading_holds_in_every_place(tmp_path: Path) -> None:
    """A rule cannot offer what READ_ONLY has taken away."""
    found = rules(tmp_path, '[[rule]]\nrisk = { act = "low" }')
    tools = ToolMap([tool("look"), tool("act", risk="high")], found).low_risk()
    assert list(tools.of_place("line:u:x", "U")) == ["look"]


def test_names_that_no_tool_has_are_known(tmp_path: Path) -> None:
    """Patterns may match what comes later."""
    found = rules(tmp_path, '[[rule]]\ntools = ["look", "lok", "mcp_*"]\nrisk = { akt = "high" }')
    assert unknown(found, ["look"]) == ["akt", "lok"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[rule", "cannot be read"),
        ("[rule]\nx = 1", "only [[rule]] tables"),
        ("[other]\nx = 1", "only [[rule]] tables"),
        (
            '[[rule]]\n[[rule]]\nrisk = { act = "medium" }',
            "rule 2, risk.act: Input should be 'low' or 'high'",
        ),
        ('[[rule]]\ntool = ["x"]', "rule 1, tool: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(text: str, complaint: str, tmp_path: Path) -> None:
    """The rule and the field are named."""
    with pytest.raises(ToolSetupError) as refused:
        rules(tmp_path, text)
    assert complaint in str(refused.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Or is not there."""
    (tmp_path / "rules.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ToolSetupError, match="cannot be read"):
        read_rules(tmp_path / "rules.toml")
