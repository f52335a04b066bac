"""A server's tools get names that models can use, schemas that can be checked, and the risk that
they deserve."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from toolset.mcp.answer import Answer
from toolset.mcp.catalog import Catalog, make_catalog, tool_name
from toolset.mcp.config import ServerConfig
from toolset.mcp.pins import ListedTool, pin_nothing
from toolset.tool import EVERY

TRUSTED, OTHER = ServerConfig("srv", is_trusted=True), ServerConfig("srv")
READS = ListedTool("read", "Reads", {"type": "object"}, says_it_reads=True)
ACTS = ListedTool("act", "Acts", {"type": "object"})


async def nothing(_tool: ListedTool, _arguments: dict[str, Any]) -> Answer:
    """A call that is not made here."""
    raise NotImplementedError


def catalog(config: ServerConfig, *listed: ListedTool, **pins: str) -> Catalog:
    """What is made of a list, all of it pinned as it is but for some."""
    return make_catalog(
        config, listed, {one.name: one.digest for one in listed} | pins, nothing, Catalog()
    )


def risks(found: Catalog) -> dict[str, str]:
    """The risk of each tool."""
    return {tool.definition.name: tool.definition.risk for tool in found.tools}


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("git", "status", "git_status"),
        ("my server", "a.b/c", "my_server_a_b_c"),
        ("天気", "東京", "_____"),
        ("s", "x" * 62, "s_" + "x" * 62),
        ("s", "x" * 63, "s_" + "x" * 53 + "_" + sha256(f"s_{'x' * 63}".encode()).hexdigest()[:8]),
    ],
)
def test_names(server: str, tool: str, name: str) -> None:
    """Server and tool, with characters that models take, and a digest where they would be too
    long."""
    assert tool_name(server, tool) == name


def test_long_names_differ_by_their_digest() -> None:
    """Of the whole names, whose beginnings are alike."""
    one, other = (tool_name("s", "x" * 80 + end) for end in "ab")
    assert one[:56] == other[:56]
    assert one != other
    assert (len(one), one[55]) == (64, "_")


def test_only_a_trusted_servers_word_counts() -> None:
    """And only where it says that a tool reads."""
    assert risks(catalog(TRUSTED, READS, ACTS)) == {"srv_read": "low", "srv_act": "high"}
    assert risks(catalog(OTHER, READS, ACTS)) == {"srv_read": "high", "srv_act": "high"}


def test_a_tool_that_has_changed_is_not_trusted() -> None:
    """Nor one whose pin is unknown."""
    changed = catalog(TRUSTED, READS, read="another")
    assert (risks(changed), changed.changed) == ({"srv_read": "high"}, ("read",))
    unknown = make_catalog(TRUSTED, [READS], None, nothing, Catalog())
    assert (risks(unknown), unknown.changed) == ({"srv_read": "high"}, ("read",))


def test_everything_that_decides_is_pinned() -> None:
    """Each of these makes another digest."""
    others = [
        ListedTool("other", "Reads", {"type": "object"}, says_it_reads=True),
        ListedTool("read", "Reads well", {"type": "object"}, says_it_reads=True),
        ListedTool("read", "Reads", {"type": "object", "title": "x"}, says_it_reads=True),
        ListedTool("read", "Reads", {"type": "object"}, {"type": "object"}, says_it_reads=True),
        ListedTool("read", "Reads", {"type": "object"}),
    ]
    assert len({one.digest for one in [READS, *others]}) == 6


def test_tools_stay_the_same_while_they_are_listed_alike() -> None:
    """So that their calls go on, and nothing is compiled again."""
    first = catalog(TRUSTED, READS, ACTS)
    pins = {READS.name: READS.digest, ACTS.name: ACTS.digest}
    second = make_catalog(TRUSTED, [READS, ACTS], pins, nothing, first)
    assert second.tools == first.tools
    third = make_catalog(TRUSTED, [READS], None, nothing, first)
    assert third.tools != first.tools[:1]


def test_a_tool_that_cannot_be_offered_is_left_out_alone() -> None:
    """With the reason; its siblings are offered."""
    found = catalog(
        OTHER,
        READS,
        ListedTool("array", "", {"type": "array"}),
        ListedTool("odd", "", {"properties": {"a b": {}}}),
        ListedTool("typo", "", {"properties": {"a": {"type": "strin"}}}),
        ListedTool("out", "", {}, response=True),
        ListedTool("re.ad", "", {}),
        ListedTool("re/ad", "", {}),
    )
    assert list(risks(found)) == ["srv_read", "srv_re_ad"]
    assert found.left_out == {
        "array": "its schema is not one of an object",
        "odd": "its argument 'a b' has a name that models cannot use",
        "typo": found.left_out["typo"],
        "out": "its outputSchema is invalid",
        "re/ad": "another tool of the server has the same name",
    }
    assert "is invalid" in found.left_out["typo"]


def test_a_name_like_those_of_another_server_is_left_out() -> None:
    """Also while that server is away: no rule, pin or approval for its tool goes to this one's."""
    config = ServerConfig("gh", others=("gh_ent_",))
    found = catalog(
        config,
        ListedTool("ent.x", "", {}),
        ListedTool("ent_" + "x" * 80, "", {}),
        ListedTool("ent", "", {}),
    )
    assert list(risks(found)) == ["gh_ent"]
    assert set(found.left_out.values()) == {"its name begins like those of another server"}


def test_descriptions_are_bounded_and_visible() -> None:
    """Invisible characters may carry orders; a missing description is made up."""
    listed = [
        ListedTool("a", "Do\u200b it\U000e0041\n now " + "x" * 5_000, {}),
        ListedTool("b", "\u200b", {}),
    ]
    a, b = (tool.definition.description for tool in catalog(OTHER, *listed).tools)
    assert (a[:12], len(a), b) == ("Do it now xx", 1_000, "b of srv")


def test_declared_data_is_in_the_response() -> None:
    """References lead to definitions of the server's own schema."""
    out = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/T"}},
        "$defs": {"T": {"type": "string"}},
    }
    (tool,) = catalog(OTHER, ListedTool("t", "", {}, out)).tools
    declared = tool.response_schema["properties"]["data"]
    assert declared == {"type": "object", "properties": {"at": {"type": "string"}}}
    assert (tool.definition.own, tool.definition.idempotent, tool.origin) == (
        False,
        False,
        "MCP server srv",
    )


async def test_a_list_on_the_command_line_pins_nothing() -> None:
    """Every tool is as it was first seen."""
    assert await pin_nothing("srv", {"a": "1"}) == {"a": "1"}


def test_the_addresses_of_a_trusted_server_are_its_own() -> None:
    """Those that another one is given are looked at, wherever they stand in the arguments."""
    assert [tool.definition.addresses for tool in catalog(TRUSTED, READS, ACTS).tools] == [(), ()]
    assert [tool.definition.addresses for tool in catalog(OTHER, READS, ACTS).tools] == [
        EVERY,
        EVERY,
    ]
