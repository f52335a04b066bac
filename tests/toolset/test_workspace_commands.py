"""Commands in their box: the attacks end there. Block lists protect nobody, so everything here is allowed to run."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.toolset.workspaces import Desk, desk
from toolset.confined.sandbox import ENVIRONMENT
from toolset.confined.workspace import FULL
from toolset.workspace import COMMAND_CAP, WorkspaceConfig

COMMANDS = "cat,cp,echo,env,ls,ln,mkfifo,python3,rm,sh,touch,wc"

# What bubblewrap must be able to do where these tests run; as root it shows the folder to somebody else first.
BOX = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "true"]
SHOWING = ["bwrap", "--dev-bind", "/", "/", "true"]
TRIALS = [BOX, *([SHOWING] if os.geteuid() == 0 else [])] if shutil.which("bwrap") else [["false"]]

FORK_BOMB = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(9)
            os._exit(0)
        made += 1
except OSError:
    print(made)
"""
KEY = "sk-not-for-commands"


@pytest.fixture
async def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The tools where a sandbox works."""
    for trial in TRIALS:
        tried = await asyncio.to_thread(subprocess.run, trial, capture_output=True)
        if tried.returncode:
            pytest.skip(f"no sandbox can be made here: {tried.stderr.decode()}")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    return await desk(tmp_path / "workspace", COMMANDS)


async def python(box: Desk, script: str) -> str:
    """What a script says in the box."""
    (box.folder / "attack.py").write_text(script)
    (box.folder / "attack.py").chmod(0o644)
    return str((await box.run("python3", "attack.py")).get("output", ""))


async def test_a_command_works_on_the_conversations_files(box: Desk) -> None:
    """And what it writes can be read; what fails says how."""
    await box.call("write_file", path="notes/a.txt", content="one\ntwo\n")
    assert await box.run("wc", "-l", "notes/a.txt") == {"exit_code": 0, "output": "2 notes/a.txt\n"}
    assert await box.run("cp", "notes/a.txt", "b.txt") == {"exit_code": 0, "output": ""}
    assert (await box.call("read_file", path="b.txt"))["lines_in_file"] == 2
    failed = {"exit_code": 1, "output": "cat: missing: No such file or directory\n"}
    assert await box.run("cat", "missing") == failed


async def test_removing_everything_removes_the_conversations_files_alone(box: Desk, tmp_path: Path) -> None:
    """The folder itself, other conversations and the machine stay."""
    (tmp_path / "workspace" / "other").mkdir()
    (box.folder / "a").touch()
    assert (await box.run("rm", "-rf", "--no-preserve-root", "/"))["exit_code"] != 0
    assert [path.name for path in box.folder.iterdir()] == []
    assert (tmp_path / "workspace" / "other").is_dir()
    assert os.access("/usr/bin/env", os.X_OK)


@pytest.mark.parametrize("word", ["$(touch x)", "`touch x`", "; touch x", "a\ntouch x", "| touch x", "> x", "*", "&"])
async def test_a_word_is_a_word(box: Desk, word: str) -> None:
    """There is no shell to give it a meaning."""
    assert await box.run("echo", word) == {"exit_code": 0, "output": f"{word}\n"}
    assert [path.name for path in box.folder.iterdir()] == []


async def test_a_program_is_not_taken_for_an_option_of_the_box(box: Desk) -> None:
    """Only the plain names of the list are programs."""
    for program in ("--bind", "/usr/bin/cat", "./cat", "cat ", "CAT", "", "bash", "cat\n"):
        refused = await box.run(program, "/etc/passwd")
        assert refused == {"error": f"only these programs may be run: {', '.join(COMMANDS.split(','))}"}
    assert (await box.run("echo", "--", "--bind"))["output"] == "-- --bind\n"


async def test_there_is_nothing_in_the_box_but_programs_and_the_folder(box: Desk) -> None:
    """No key, no file of the machine, no other process."""
    environment = (await box.run("env"))["output"]
    assert {line.partition("=")[0] for line in environment.splitlines()} == {"PATH", "HOME", "LANG", "PWD"}
    for path in ("/proc/1/environ", "/proc/self/environ", "/etc/passwd", "/etc/shadow", "/root", "/home", "/mnt"):
        assert (await box.run("cat", path))["output"].endswith("No such file or directory\n")
    assert str(box.folder) not in json.dumps(await box.run("sh", "-c", "cd /; ls -laR . 2>&1 | grep -v ^./usr | head"))


async def test_there_is_no_network_in_the_box(box: Desk) -> None:
    """Not even this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        said = await python(box, f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
    assert "ConnectionRefusedError" in said or "unreachable" in said


async def test_only_the_folder_can_be_written_to(box: Desk) -> None:
    """And a little memory."""
    places = ["/x", "/usr/x", "/usr/bin/x", "/dev/x", "/dev/shm/x", "/etc/x", "/tmp/x", f"{ENVIRONMENT['HOME']}/x"]  # noqa: S108
    said = await python(
        box,
        f"for path in {places}:\n  try: open(path, 'w'); print(path)\n  except OSError: pass\n",
    )
    assert said.split() == ["/tmp/x", f"{ENVIRONMENT['HOME']}/x"]  # noqa: S108


async def test_a_fork_bomb_comes_to_an_end(box: Desk) -> None:
    """Processes are counted, root's too."""
    said = await python(box, FORK_BOMB)
    assert 0 < int(said) < 16


async def test_memory_and_files_have_limits(box: Desk) -> None:
    """A program meets them as errors of its own."""
    assert "MemoryError" in await python(box, "bytearray(10 ** 9)")
    large = "import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nopen('x', 'wb').write(bytes(2 << 20))"
    assert "File too large" in await python(box, large)


async def test_the_box_cannot_be_built_upon(box: Desk) -> None:
    """No other box inside, no rights, no older ones back."""
    said = await python(
        box,
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nprint(libc.unshare(0x10000000), libc.unshare(0x20000), "
        "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None), libc.setuid(0) if os.getuid() else -1)",
    )
    assert said == "-1 -1 -1 -1\n"


async def test_a_command_that_fills_the_folder_is_stopped(box: Desk) -> None:
    """By files or by bytes; emptying it is then still possible."""
    for size in (0, 1 << 20):
        script = f"i = 0\nwhile True: i += 1; open(str(i), 'wb').write(bytes({size}))"
        (box.folder / "attack.py").write_text(script)
        (box.folder / "attack.py").chmod(0o644)
        stopped = await box.run("python3", "attack.py")
        assert stopped["error"] in (FULL, "there are too many files, or folders nested too deeply")
        for path in box.folder.iterdir():
            path.unlink()
    for number in range(25):
        (box.folder / f"{number}").write_bytes(bytes(1 << 20))
    assert (await box.run("rm", *map(str, range(10))))["exit_code"] == 0
    assert len(os.listdir(box.folder)) == 15


async def test_links_a_command_has_made_lead_nowhere(box: Desk) -> None:
    """Neither those to files of the machine nor a pipe."""
    assert (await box.run("ln", "-s", "/etc/passwd", "link"))["exit_code"] == 0
    assert (await box.run("ln", "-s", "/", "root"))["exit_code"] == 0
    assert (await box.run("mkfifo", "pipe"))["exit_code"] == 0
    for path, error in (
        ("link", "not a plain file: link"),
        ("root/etc/passwd", "not a folder: root/etc/passwd"),
        ("pipe", "not a plain file: pipe"),
    ):
        assert await box.call("read_file", path=path) == {"error": error}
    assert (await box.call("search_files", text="root"))["matches"] == []


async def test_words_that_no_program_can_be_given_are_refused(box: Desk) -> None:
    """And a command is never longer than what is shown of it where approval is asked for."""
    nul = {"error": "invalid parameters: command: it has a NUL character"}
    assert await box.run("echo", "a\0b") == nul
    lone = {"error": "invalid parameters: it has characters that are no Unicode text"}
    assert await box.run("echo", "\ud800") == lone
    long = {"error": f"the command is longer than {COMMAND_CAP} characters; put what is long into a file"}
    assert await box.run("echo", "a" * 600, "a" * 600) == long


@pytest.mark.parametrize("programs", ["ls,/bin/sh", "ls,-x", "ls,a b", "ls,$(x)", "ls,../x"])
def test_a_program_in_the_list_is_a_plain_name(programs: str) -> None:
    """Anything else is a mistake of the operator's."""
    with pytest.raises(ValidationError, match="write names of programs, without folders and spaces"):
        WorkspaceConfig(workspace_commands=programs)
