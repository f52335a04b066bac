"""Without a box that works no command is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolset.contexts import context
from toolset.confined.sandbox import NEEDED, NoSandbox, Sandbox
from toolset.confined.workspace import Workspace
from toolset.tool import ToolError
from toolset.workspace import NO_SANDBOX, RunCommand, working_sandbox


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


@pytest.mark.parametrize("script", ["echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "#"])
def test_a_box_is_tried_before_it_is_trusted(tmp_path: Path, script: str) -> None:
    """Many containers do not allow one; what bubblewrap says is what the operator reads."""
    sandbox = Sandbox(as_root=False, programs=programs(tmp_path, script))
    if script == "#":
        sandbox.require(tmp_path)
    else:
        with pytest.raises(NoSandbox) as raised:
            sandbox.require(tmp_path)
        assert str(raised.value) == "bubblewrap does not work: bwrap: No permissions to create new namespace"


def test_a_program_that_cannot_be_started_is_no_box(tmp_path: Path) -> None:
    """Another kind of machine, for example."""
    for name in NEEDED:
        (tmp_path / name).write_bytes(b"\x7fELF?")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(NoSandbox, match=r"^bubblewrap does not work: "):
        Sandbox(as_root=False, programs=str(tmp_path)).require(tmp_path)


def test_the_operator_is_told_at_start_why_commands_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not only when the first one is asked for."""
    assert working_sandbox(Workspace(tmp_path, None), programs=str(tmp_path)) is None
    (told,) = caplog.records
    assert told.message == "run_command refuses every command"
    assert vars(told)["reason"] == "not installed: bwrap, choom, setpriv (packages bubblewrap and util-linux)"


async def test_without_a_box_every_command_is_refused(tmp_path: Path) -> None:
    """Also the harmless ones."""
    refusing = RunCommand(Workspace(tmp_path, None), ("ls",), None)
    with pytest.raises(ToolError) as raised:
        await refusing.call({"command": ["ls"]}, context())
    assert str(raised.value) == NO_SANDBOX


@pytest.mark.parametrize(
    ("script", "says"),
    [("echo 'bwrap: no source path /secret/path'; exit 1", NO_SANDBOX), ("echo 'bwrap: fine'", ""), ("exit 1", "")],
)
async def test_a_box_that_breaks_later_names_no_folder(
    tmp_path: Path, script: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The operator finds its words in the log; what a command says is passed on."""
    (tmp_path / "bin").mkdir()
    sandbox = Sandbox(as_root=False, programs=programs(tmp_path / "bin", script))
    calling = RunCommand(Workspace(tmp_path, None), ("ls",), sandbox).call({"command": ["ls"]}, context())
    if says:
        with pytest.raises(ToolError) as raised:
            await calling
        assert str(raised.value) == says
    else:
        assert set(await calling) == {"exit_code", "output"}
    assert [record.message for record in caplog.records] == (["a sandbox could not be made"] if says else [])


@pytest.mark.parametrize("as_root", [False, True])
def test_root_gives_up_its_rights_before_the_box_is_made(tmp_path: Path, as_root: bool) -> None:
    """Limits do not hold for root; others have no rights to give up."""
    argv = Sandbox(as_root, programs(tmp_path, "#")).argv(Path("/srv/x"), ["ls", "-l"])
    assert (str(tmp_path / "setpriv") in argv) == as_root
    bound = argv[argv.index("/work") - 1]
    assert bound == ("/mnt" if as_root else "/srv/x")
    assert argv[-3:] == ["--", "ls", "-l"]
    assert {"--unshare-all", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"} <= set(argv)
