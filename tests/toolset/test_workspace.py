"""The files of a conversation: written, read, listed and searched, within limits."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

import toolset
from bot.safe_text.arguments import render_arguments
from tests.toolset.contexts import http_client
from tests.toolset.workspaces import NAMES, WorkspaceTools, why_no_sandbox, workspace_tools
from toolset.confined.workspace import FILE_CAP, FULL, MAX_ENTRIES, NOBODY, TOTAL_CAP
from toolset.sources import own_tools
from toolset.tool import ToolSetupError
from toolset.workspace import ListFiles, WorkspaceConfig


@pytest.fixture
async def tools(tmp_path: Path) -> WorkspaceTools:
    """The tools on an empty folder."""
    return await workspace_tools(tmp_path / "workspace")


async def test_without_a_folder_the_tools_are_not_offered() -> None:
    """Nobody gets files and commands by an update."""
    async with http_client() as http:
        tools = toolset.build(own_tools(), http, lambda config: config())
    assert not set(NAMES) & set(tools)
    assert tools


async def test_what_reads_is_low_risk_and_what_acts_is_high(tools: WorkspaceTools) -> None:
    """A write or a deletion may be repeated after a crash, a command may not."""
    reported = {one.name: (one.risk, one.idempotent) for one in tools.tools.definitions}
    low = dict.fromkeys(["list_files", "read_file", "search_files"], ("low", True))
    high = {"delete_file": ("high", True), "write_file": ("high", True)}
    command = {} if why_no_sandbox() else {"run_command": ("high", False)}
    assert reported == low | high | command


async def test_what_was_written_is_read_by_lines(tools: WorkspaceTools) -> None:
    """Bytes in the answer of the writer, lines as other programs count them in that of the
    reader."""
    written = await tools.call(
        "write_file", path="notes/./a.txt", content="one\ntwo\r\n二\u2028\n\nfive"
    )
    assert written == {"path": "notes/./a.txt", "bytes": 21}
    assert await tools.call("read_file", path="notes/a.txt", first_line=2, last_line=4) == {
        "content": "two\r\n二\u2028\n",
        "first_line": 2,
        "last_line": 4,
        "lines_in_file": 5,
    }
    nothing = await tools.call("read_file", path="notes/a.txt", first_line=9)
    assert nothing == {"content": "", "first_line": 9, "last_line": 8, "lines_in_file": 5}


async def test_a_write_replaces_all_and_leaves_nothing_else_behind(tools: WorkspaceTools) -> None:
    """No draft stays beside it."""
    for content in ("a long first text", "short", ""):
        await tools.call("write_file", path="a.txt", content=content)
    assert os.listdir(tools.folder) == ["a.txt"]
    empty = {"content": "", "first_line": 1, "last_line": 0, "lines_in_file": 0}
    assert await tools.call("read_file", path="a.txt") == empty


async def test_a_conversation_sees_its_own_files_only(tools: WorkspaceTools) -> None:
    """Each has a folder, with a name that tells nothing."""
    await tools.call("write_file", path="a.txt", content="mine")
    assert await tools.call("list_files", conversation="console:other") == {
        "entries": [],
        "more": False,
    }
    assert await tools.call("read_file", conversation="console:other", path="a.txt") == {
        "error": "no such file or folder: a.txt"
    }
    folders = sorted(path.name for path in tools.folder.parent.iterdir())
    assert {len(name) for name in folders} == {32}
    assert not any("test" in name or "other" in name for name in folders)


async def test_writes_happen_one_after_another(tools: WorkspaceTools) -> None:
    """In the order in which they were started; the last one stays."""
    await asyncio.gather(
        *(tools.call("write_file", path="a.txt", content=f"{i}") for i in range(5))
    )
    assert (tools.folder / "a.txt").read_text() == "4"


async def test_a_list_shows_folders_files_and_what_can_not_be_read(tools: WorkspaceTools) -> None:
    """Names that are no text are shown escaped."""
    await tools.call("write_file", path="b/c/d.txt", content="four")
    (tools.folder / "a").symlink_to("/etc/passwd")
    (tools.folder / os.fsdecode(b"\xff")).touch()
    folders = [{"path": "b", "kind": "folder"}, {"path": "b/c", "kind": "folder"}]
    file = {"path": "b/c/d.txt", "kind": "file", "bytes": 4}
    rest = [
        {"path": "a", "kind": "other"},
        *folders,
        file,
        {"path": "\\xff", "kind": "file", "bytes": 0},
    ]
    assert await tools.call("list_files") == {"entries": rest, "more": False}
    assert await tools.call("list_files", path="b/c") == {"entries": [file], "more": False}
    assert await tools.call("list_files", path="b/c/d.txt") == {"error": "not a folder: b/c/d.txt"}


async def test_a_long_list_says_that_there_is_more(tools: WorkspaceTools) -> None:
    """And one that is far too long is refused."""
    for number in range(301):
        (tools.folder / f"{number:04}").touch()
    list_entries = await tools.call("list_files")
    assert (len(list_entries["entries"]), list_entries["more"]) == (300, True)
    for number in range(2_000):
        (tools.folder / f"x{number}").touch()
    assert await tools.call("list_files") == {
        "error": "there are too many files, or folders nested too deeply"
    }


async def test_a_search_finds_lines_word_for_word(tools: WorkspaceTools) -> None:
    """No letter has a special meaning; what is no text is counted."""
    await tools.call("write_file", path="a.txt", content="x\n(a+)+$ Straße\n")
    await tools.call("write_file", path="sub/b.txt", content="STRASSE")
    (tools.folder / "sub" / "c.bin").write_bytes(b"\xff\xfe(a+)+$")
    (tools.folder / "sub" / "d").symlink_to("b.txt")
    first = {"path": "a.txt", "line": 2, "text": "(a+)+$ Straße"}
    second = {"path": "sub/b.txt", "line": 1, "text": "STRASSE"}
    assert await tools.call("search_files", text="(a+)+$") == {
        "matches": [first],
        "skipped_files": 2,
        "more": False,
    }
    found = await tools.call("search_files", text="strasse", ignore_case=True)
    assert found == {"matches": [first, second], "skipped_files": 2, "more": False}
    within = await tools.call("search_files", text="strasse", ignore_case=True, path="sub")
    assert within == {"matches": [second], "skipped_files": 2, "more": False}


async def test_a_search_with_many_matches_says_that_there_are_more(tools: WorkspaceTools) -> None:
    """Long lines are shown from their beginning."""
    await tools.call("write_file", path="a.txt", content=("a" * 1000 + "\n") * 101)
    found = await tools.call("search_files", text="aa")
    assert (len(found["matches"]), found["more"]) == (100, True)
    assert {len(match["text"]) for match in found["matches"]} == {300}


async def test_long_text_is_cut_and_says_so(tools: WorkspaceTools) -> None:
    """Lines choose what is seen of it."""
    await tools.call("write_file", path="a.txt", content="あ" * 11_000)
    content = (await tools.call("read_file", path="a.txt"))["content"]
    assert content == "あ" * 10_922 + "[truncated: 232 bytes dropped, refine your query]"


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"a\0b", b"a" * (FILE_CAP + 1)], ids=["latin", "nul", "large"]
)
async def test_what_is_no_text_or_too_large_is_refused(
    tools: WorkspaceTools, content: bytes
) -> None:
    """Kindly."""
    (tools.folder / "a").write_bytes(content)
    refused = {"error": "not a text file (UTF-8), or larger than 1024 KiB: a"}
    assert await tools.call("read_file", path="a") == refused


async def test_a_file_that_is_too_large_is_not_written(tools: WorkspaceTools) -> None:
    """The limit counts bytes."""
    refused = await tools.call("write_file", path="a", content="あ" * (FILE_CAP // 3 + 1))
    assert refused == {"error": "the file would be larger than 1024 KiB"}
    assert os.listdir(tools.folder) == []


async def test_a_full_workspace_takes_nothing_more_but_may_shrink(tools: WorkspaceTools) -> None:
    """Neither more bytes nor more files."""
    with (tools.folder / "big").open("wb") as big:
        big.truncate(TOTAL_CAP)
    assert await tools.call("write_file", path="b", content="x") == {"error": FULL}
    assert await tools.call("write_file", path="big", content="x") == {"path": "big", "bytes": 1}
    for number in range(MAX_ENTRIES - 1):
        (tools.folder / f"{number}").touch()
    assert await tools.call("write_file", path="b", content="x") == {"error": FULL}
    assert await tools.call("write_file", path="big", content="y") == {"path": "big", "bytes": 1}


async def test_what_is_deleted_makes_room(tools: WorkspaceTools) -> None:
    """A file, a folder with all in it, a link and not what it leads to; also where there is too
    much to be counted."""
    await tools.call("write_file", path="a/b/c.txt", content="x")
    await tools.call("write_file", path="kept", content="x")
    (tools.folder / "link").symlink_to("kept")
    (tools.folder / "out").symlink_to(tools.folder.parent)
    for number in range(2_001):
        (tools.folder / "a" / f"{number}").touch()
    for path in ("a/b/c.txt", "a/", "link", "out"):
        assert await tools.call("delete_file", path=path) == {"path": path}
    assert os.listdir(tools.folder) == ["kept"]
    assert tools.folder.parent.is_dir()
    assert await tools.call("write_file", path="b", content="x") == {"path": "b", "bytes": 1}


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("missing", "no such file or folder: missing"),
        ("out/secret.txt", "not a folder: out/secret.txt"),
        (
            "../secret.txt",
            "invalid parameters: path: write it relative to the workspace, such as notes/today.txt",
        ),
        (".", "invalid parameters: path: write the name of a file"),
        ("/", "invalid parameters: path: write the name of a file"),
    ],
)
async def test_nothing_outside_is_deleted(tools: WorkspaceTools, path: str, error: str) -> None:
    """Nor the workspace itself."""
    (tools.folder.parent / "secret.txt").touch()
    (tools.folder / "out").symlink_to("..")
    assert await tools.call("delete_file", path=path) == {"error": error}
    assert (tools.folder.parent / "secret.txt").exists()
    assert (tools.folder / "out").is_symlink()


async def test_a_folder_that_is_nested_too_deeply_is_not_measured(tools: WorkspaceTools) -> None:
    """What cannot be measured is not written to."""
    (tools.folder / "/".join("d" * 17)).mkdir(parents=True)
    refused = {"error": "there are too many files, or folders nested too deeply"}
    assert await tools.call("write_file", path="b", content="x") == refused


async def test_text_that_is_no_unicode_is_refused(tools: WorkspaceTools) -> None:
    """A lone half of a pair can be in JSON and in no file."""
    refused = {"error": "invalid parameters: it has characters that are no Unicode text"}
    assert await tools.call("write_file", path="a", content="\ud800") == refused


async def test_a_write_that_was_cancelled_is_not_half_done(tools: WorkspaceTools) -> None:
    """It is finished before the next one may begin."""
    for number in range(20):
        task = asyncio.create_task(tools.call("write_file", path="a", content="x" * number))
        for _ in range(number):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await tools.call("write_file", path="a", content="last")
        assert (tools.folder / "a").read_text() == "last"
        assert os.listdir(tools.folder) == ["a"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_what_root_makes_belongs_to_nobody(tools: WorkspaceTools) -> None:
    """Commands run as nobody there, and work on it."""
    await tools.call("write_file", path="sub/a", content="x")
    made = [tools.folder, tools.folder / "sub", tools.folder / "sub" / "a"]
    assert [
        (path.stat().st_uid, path.stat().st_gid, path.stat().st_mode & 0o077) for path in made
    ] == [(NOBODY, NOBODY, 0)] * 3


async def test_a_folder_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    """With the name of the variable."""
    (tmp_path / "file").touch()
    async with http_client() as http:
        with pytest.raises(ToolSetupError, match=r"^WORKSPACE_DIR: Not a directory: "):
            ListFiles.create(http, WorkspaceConfig(workspace_dir=str(tmp_path / "file" / "x")))


async def test_a_folder_that_has_gone_is_an_error_without_its_path(tools: WorkspaceTools) -> None:
    """The model learns nothing about the machine."""
    tools.folder.rmdir()
    tools.folder.parent.rename(tools.folder.parent.with_name("moved"))
    assert await tools.call("list_files") == {"error": "no such file or folder: the workspace"}


async def test_a_conversation_that_is_forgotten_has_no_files_left(tools: WorkspaceTools) -> None:
    """However deep and closed a command has left them; what links led to and other conversations'
    files stay."""
    outside = tools.folder.parent.parent / "outside"
    outside.write_text("not here")
    (tools.folder / "/".join("d" * 300)).mkdir(parents=True)
    (tools.folder / "/".join("d" * 300) / "deep").touch()
    (tools.folder / "closed").mkdir()
    (tools.folder / "closed" / "file").touch()
    (tools.folder / "closed").chmod(0)
    (tools.folder / "link").symlink_to(outside)
    await tools.call("write_file", "console:other", path="theirs", content="x")
    assert await tools.tools.forget("console:test") == 3
    assert not list(tools.folder.parent.glob(f"{tools.folder.name}*"))
    (theirs,) = tools.folder.parent.glob("*/theirs")
    assert theirs.read_text() == "x"
    assert outside.read_text() == "not here"
    assert await tools.tools.forget("console:test") == 0


async def test_a_deletion_that_was_cut_short_is_finished_the_next_time(
    tools: WorkspaceTools,
) -> None:
    """By a process that died with a folder already moved up."""
    left = tools.folder.with_name(f"{tools.folder.name}.0011223344556677")
    left.mkdir()
    (left / "file").touch()
    assert await tools.tools.forget("console:test") == 1
    assert not list(tools.folder.parent.glob(f"{tools.folder.name}*"))


def test_an_approval_shows_a_command_word_by_word() -> None:
    """What is one argument is seen to be one; what could turn the text round is seen too."""
    shown = render_arguments({"command": ["grep", "-n", "two words; rm -rf /", "a\nb\u202e.txt"]})
    assert shown == r'▸ command: ["grep", "-n", "two words; rm -rf /", "a\nb\u202e.txt"]'
