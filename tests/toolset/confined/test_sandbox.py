"""Without a box that works no command is run."""

from __future__ import annotations

import os
from functools import partial
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from tests.toolset.contexts import context
from toolset import workspace
from toolset.confined.box import check_sandbox
from toolset.confined.files import write
from toolset.confined.sandbox import NEEDED, NoSandbox, Sandbox
from toolset.confined.workspace import Workspace
from toolset.tool import ToolError
from toolset.workspace import NO_SANDBOX, ReadFile, RunCommand, WorkspaceConfig, open_sandbox


def programs(folder: Path, script: str) -> str:
    """A folder of programs that all do this."""
    for name in NEEDED:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_missing_programs_are_named(tmp_path: Path) -> None:
    """With the packages that bring them."""
    (tmp_path / "choom").touch(mode=0o755)
    with pytest.raises(NoSandbox) as raised:
        Sandbox(as_root=False, programs=str(tmp_path))
    assert str(raised.value) == "not installed: bwrap, setpriv (packages bubblewrap and util-linux)"


@pytest.mark.parametrize(
    "script", ["echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "#"]
)
def test_a_box_is_tried_before_it_is_trusted(tmp_path: Path, script: str) -> None:
    """Many containers do not allow one; what bubblewrap says is what the operator reads."""
    total = "" if script == "#" else "bwrap: No permissions to create new namespace"
    with pytest.raises(NoSandbox) as raised:
        check_sandbox(Sandbox(as_root=False, programs=programs(tmp_path, script)))
    assert str(raised.value) == f"bubblewrap does not work: {total}"


def test_a_program_that_cannot_be_started_is_no_box(tmp_path: Path) -> None:
    """Another kind of machine, for example."""
    for name in NEEDED:
        (tmp_path / name).write_bytes(b"\x7fELF?")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(NoSandbox, match=r"^bubblewrap does not work: "):
        check_sandbox(Sandbox(as_root=False, programs=str(tmp_path)))


@pytest.mark.parametrize("reported", ['{"child-pid": 1}', '{"child-pid": 999999999}'])
def test_a_box_that_cannot_be_looked_into_is_none(tmp_path: Path, reported: str) -> None:
    """Its files could not be taken out."""
    script = f"echo '{reported}' >&0; echo ready >&0; read rest"
    with pytest.raises(NoSandbox, match=r"^the sandbox cannot be opened: "):
        check_sandbox(Sandbox(as_root=False, programs=programs(tmp_path, script)))


def test_the_operator_is_told_at_start_why_commands_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not only when the first one is asked for."""
    assert open_sandbox(Workspace(tmp_path, None), (), programs=str(tmp_path)) is None
    (reported,) = caplog.records
    assert reported.message == "sandbox.unavailable"
    assert (
        vars(reported)["cause"]
        == "not installed: bwrap, choom, setpriv (packages bubblewrap and util-linux)"
    )


async def test_without_a_sandbox_the_tool_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model cannot promise what every call would refuse."""
    monkeypatch.setattr(workspace, "open_sandbox", partial(open_sandbox, programs=str(tmp_path)))
    config = WorkspaceConfig(workspace_dir=str(tmp_path))
    async with httpx.AsyncClient() as http:
        assert ReadFile.create(http, config) is not None
        assert RunCommand.create(http, config) is None


@pytest.mark.parametrize(
    "script", ["echo 'bwrap: no source path /secret/path'; exit 1", "exit 1", "#"]
)
async def test_a_box_that_breaks_later_names_no_folder(
    tmp_path: Path, script: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The operator finds its words in the log; the conversation's files stay."""
    (tmp_path / "bin").mkdir()
    sandbox = Sandbox(as_root=False, programs=programs(tmp_path / "bin", script))
    stored = Workspace(tmp_path, None)
    with stored.folder(context().conversation) as folder:
        write(folder, "a.txt", b"kept", None)
    with pytest.raises(ToolError) as raised:
        await RunCommand(stored, ("ls",), sandbox).call({"command": ["ls"]}, context())
    assert str(raised.value) == NO_SANDBOX
    assert [record.message for record in caplog.records] == ["sandbox.failed"]
    assert (stored.path_of(context().conversation) / "a.txt").read_text() == "kept"


@pytest.mark.parametrize("as_root", [False, True])
def test_root_gives_up_its_rights_before_the_box_is_made(tmp_path: Path, as_root: bool) -> None:
    """Limits do not hold for root; others have no rights to give up."""
    argv = Sandbox(as_root, (), programs(tmp_path, "#")).argv(["ls", "-l"], 7)
    assert (str(tmp_path / "setpriv") in argv) == as_root
    assert argv[-3:] == ["--", "ls", "-l"]
    assert "--bind" not in argv, "no folder of this machine can be written to"
    assert {
        "--unshare-all",
        "--disable-userns",
        "--die-with-parent",
        "--new-session",
        "--clearenv",
    } <= set(argv)


def test_private_folders_are_covered_where_they_would_be_seen(tmp_path: Path) -> None:
    """Only those among the programs, the outermost, and never the programs themselves."""
    link = tmp_path / "link"
    link.symlink_to("/usr/share")
    share = {"/usr/share/doc", "/usr/share/perl5"}
    inner = {f"/usr/share/doc/{name}" for name in sorted(os.listdir("/usr/share/doc"))[:3]}
    given = [
        *inner,
        *share,
        "/",
        "/usr",
        "/usr/bin",
        "/usr/share",
        "/home",
        str(tmp_path),
        str(link / "doc"),
        "/none",
    ]
    argv = Sandbox(False, map(Path, given), programs(tmp_path, "#")).argv(["ls"], 7)
    covered = [path for option, path in pairwise(argv) if option == "--tmpfs"]
    assert sorted(covered) == sorted(
        [*(path for path in share if os.path.isdir(path)), "/tmp", "/work"]  # noqa: S108 -- the box's own
    )
    assert all(path in argv[argv.index("--remount-ro") :] for path in covered if path in share)
