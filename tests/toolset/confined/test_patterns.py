"""Patterns that a model writes: what fits, what is refused, and that none takes for ever."""

from __future__ import annotations

import pytest

from tests.toolset.workspaces import WorkspaceTools, workspace_tools
from toolset.confined import files
from toolset.confined.patterns import compile_glob, compile_regex
from toolset.confined.workspace import FILE_CAP
from toolset.tool import ToolError


@pytest.fixture
async def tools(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceTools:
    """The tools on a folder with some files."""
    tools = await workspace_tools(tmp_path_factory.mktemp("workspace"))
    for path, text in {
        "a.txt": "Milk 3\nrice 12",
        "notes/b.md": "milk\n",
        "notes/old/c.txt": "卵 6個",
    }.items():
        await tools.call("write_file", path=path, content=text)
    return tools


@pytest.mark.parametrize(
    ("glob", "fitting"),
    [
        ("*.txt", ["a.txt", "notes/old/c.txt"]),
        ("notes/*", ["notes/b.md", "notes/old"]),
        ("./notes/**/*.txt", ["notes/old/c.txt"]),
        ("**/b.md", ["notes/b.md"]),
        ("**/a.txt", ["a.txt"]),
        ("notes/**", ["notes/b.md", "notes/old", "notes/old/c.txt"]),
        ("[!a].*", ["notes/b.md", "notes/old/c.txt"]),
        ("[ab].???", ["a.txt"]),
        ("a+txt", []),
        ("*.TXT", []),
    ],
)
async def test_a_glob_chooses_what_is_listed(
    tools: WorkspaceTools, glob: str, fitting: list[str]
) -> None:
    """Without a slash it is compared with names, with one with paths; only its own signs mean
    something."""
    listed = await tools.call("list_files", glob=glob)
    assert [entry["path"] for entry in listed["entries"]] == fitting


async def test_a_glob_is_read_from_the_folder_that_is_listed(tools: WorkspaceTools) -> None:
    """The paths in the answer are those of the workspace."""
    listed = await tools.call("list_files", path="notes", glob="old/*")
    assert [entry["path"] for entry in listed["entries"]] == ["notes/old/c.txt"]


def test_signs_of_expressions_mean_nothing_in_a_glob() -> None:
    """Neither outside a class of characters nor in one."""
    assert compile_glob("(a|b)$.txt")("x/(a|b)$.txt")
    assert all(compile_glob(r"[\^]d]")(name) for name in ("^d]", "\\d]"))
    assert [compile_glob("[]^]")(name) for name in ("]", "^", "a")] == [True, True, False]
    assert compile_glob("[a")("[a")


async def test_a_wrong_glob_is_told_with_examples(tools: WorkspaceTools) -> None:
    """So that the model writes a better one."""
    refused = "invalid parameters: glob: write it like *.txt, notes/*.md or **/2026-1[12]-*.csv"
    assert await tools.call("list_files", glob="[z-a]") == {"error": refused}


async def test_a_long_list_that_a_glob_makes_short_is_whole(tools: WorkspaceTools) -> None:
    """Only what fits counts."""
    for number in range(400):
        (tools.folder / f"{number:04}").touch()
    assert (await tools.call("list_files", glob="*.md"))["more"] is False


async def test_a_search_takes_a_regular_expression(tools: WorkspaceTools) -> None:
    """Line by line, in capital letters and small ones where that is wanted, in any script."""
    found = await tools.call("search_files", text=r"^m\w+ \d$", regex=True, ignore_case=True)
    assert found["matches"] == [{"path": "a.txt", "line": 1, "text": "Milk 3"}]
    assert (await tools.call("search_files", text=r"^m\w+ \d$", regex=True))["matches"] == []
    found = await tools.call("search_files", text=r"\p{Han} \d個", regex=True, path="notes")
    assert found["matches"] == [{"path": "notes/old/c.txt", "line": 1, "text": "卵 6個"}]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "missing ): (a"),
        ("(?=a)", "invalid perl operator: (?="),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("((a{1000}){1000}){1000}", "invalid repetition size: {1000}"),
        ("[あ-ん]{1000}" * 9, "pattern too large - compile failed"),
    ],
)
async def test_what_the_engine_does_not_know_is_told(
    tools: WorkspaceTools, pattern: str, reason: str
) -> None:
    """With its own reason."""
    reported = (
        "invalid parameters: text: not a regular expression of RE2, which has neither look-around "
        "nor backreferences"
    )
    refused = await tools.call("search_files", text=pattern, regex=True)
    assert refused == {"error": f"{reported}: {reason}"}


async def test_a_pattern_that_is_no_unicode_is_refused(tools: WorkspaceTools) -> None:
    """A lone half of a pair can be in JSON and in no file."""
    refused = await tools.call("search_files", text="\ud800", regex=True)
    assert refused == {
        "error": "invalid parameters: text: it has characters that are no Unicode text"
    }


async def test_an_expression_that_other_engines_never_finish_is_quick(
    tools: WorkspaceTools,
) -> None:
    """The time grows with the text alone."""
    await tools.call("write_file", path="a", content="a" * FILE_CAP)
    for pattern in ("(a+)+$b", "(a|aa)+$b", "(.*)*x"):
        assert (await tools.call("search_files", text=pattern, regex=True))["matches"] == []


async def test_a_search_that_takes_too_long_is_given_up(tools: WorkspaceTools) -> None:
    """Between two lines; the model hears what to do."""
    refused = r"^given up after 0 s; search in a folder, or for something simpler$"
    with tools.workspace.folder("console:test") as folder, pytest.raises(ToolError, match=refused):
        files.search(folder, "", compile_regex("x"), limit_s=0)
