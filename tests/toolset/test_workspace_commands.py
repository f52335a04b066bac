"""Commands in their box: the attacks end there. Block lists protect nobody, so everything here is
allowed to run."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pydantic import ValidationError

from tests.project import ROOT
from tests.toolset.workspaces import WorkspaceTools, why_no_sandbox, workspace_tools
from toolset.confined.box import TOO_MANY
from toolset.confined.sandbox import ENVIRONMENT
from toolset.confined.workspace import FULL
from toolset.workspace import COMMAND_CAP, NOTHING_KEPT, WorkspaceConfig

COMMANDS = "cat,cp,echo,env,ls,ln,mkfifo,python3,rm,sh,touch,wc"


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
async def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkspaceTools:
    """The tools where a sandbox works."""
    if why := why_no_sandbox():
        pytest.skip(why)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    return await workspace_tools(tmp_path / "workspace", COMMANDS)


async def python(box: WorkspaceTools, script: str) -> str:
    """What a script says in the box."""
    (box.folder / "attack.py").write_text(script)
    (box.folder / "attack.py").chmod(0o644)
    return str((await box.run("python3", "attack.py")).get("output", ""))


async def test_a_command_works_on_the_conversations_files(box: WorkspaceTools) -> None:
    """And what it writes can be read; what fails says how."""
    await box.call("write_file", path="notes/a.txt", content="one\ntwo\n")
    assert await box.run("wc", "-l", "notes/a.txt") == {"exit_code": 0, "output": "2 notes/a.txt\n"}
    assert await box.run("cp", "notes/a.txt", "b.txt") == {"exit_code": 0, "output": ""}
    assert (await box.call("read_file", path="b.txt"))["lines_in_file"] == 2
    failed = {"exit_code": 1, "output": "cat: missing: No such file or directory\n"}
    assert await box.run("cat", "missing") == failed


async def test_removing_everything_removes_the_conversations_files_alone(
    box: WorkspaceTools, tmp_path: Path
) -> None:
    """The folder itself, other conversations and the machine stay."""
    (tmp_path / "workspace" / "other").mkdir()
    (box.folder / "a").touch()
    assert (await box.run("sh", "-c", "rm -rf --no-preserve-root / 2>/dev/null"))["exit_code"] != 0
    assert [path.name for path in box.folder.iterdir()] == []
    assert (tmp_path / "workspace" / "other").is_dir()
    assert os.access("/usr/bin/env", os.X_OK)


@pytest.mark.parametrize(
    "word", ["$(touch x)", "`touch x`", "; touch x", "a\ntouch x", "| touch x", "> x", "*", "&"]
)
async def test_a_word_is_a_word(box: WorkspaceTools, word: str) -> None:
    """There is no shell to give it a meaning."""
    assert await box.run("echo", word) == {"exit_code": 0, "output": f"{word}\n"}
    assert [path.name for path in box.folder.iterdir()] == []


async def test_a_program_is_not_taken_for_an_option_of_the_box(box: WorkspaceTools) -> None:
    """Only the plain names of the list are programs."""
    for program in ("--bind", "/usr/bin/cat", "./cat", "cat ", "CAT", "", "bash", "cat\n"):
        refused = await box.run(program, "/etc/passwd")
        assert refused == {
            "error": f"only these programs may be run: {', '.join(COMMANDS.split(','))}"
        }
    assert (await box.run("echo", "--", "--bind"))["output"] == "-- --bind\n"


async def test_there_is_nothing_in_the_box_but_programs_and_the_folder(box: WorkspaceTools) -> None:
    """No key, no file of the machine, no other process."""
    environment = (await box.run("env"))["output"]
    assert {line.partition("=")[0] for line in environment.splitlines()} == {
        "PATH",
        "HOME",
        "LANG",
        "PWD",
    }
    for path in (
        "/proc/1/environ",
        "/proc/self/environ",
        "/etc/passwd",
        "/etc/shadow",
        "/root",
        "/home",
        "/mnt",
    ):
        assert (await box.run("cat", path))["output"].endswith("No such file or directory\n")
    assert str(box.folder) not in json.dumps(
        await box.run("sh", "-c", "cd /; ls -laR . 2>&1 | grep -v ^./usr | head")
    )


async def test_kaiwas_own_folders_are_not_in_the_box(
    box: WorkspaceTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever they lie: installation, current folder, data, other conversations; also among the
    programs."""
    if not os.access("/usr/share", os.W_OK):
        pytest.skip("nothing can be laid among the programs here")
    with TemporaryDirectory(dir="/usr/share") as among, TemporaryDirectory(dir="/usr") as watch:
        os.chmod(among, 0o755)  # noqa: S103 -- as folders among the programs are
        places = {name: Path(among, name) for name in ("app", "data", "work", "home", "other")}
        for place in (*places.values(), Path(watch)):
            place.mkdir(exist_ok=True)
            (place / ".env").write_text(KEY)
        monkeypatch.chdir(places["app"])
        monkeypatch.setenv("HOME", str(places["home"]))
        inside = await workspace_tools(places["work"], COMMANDS, kaiwa_data_dir=str(places["data"]))
        reported = await inside.run(
            "sh", "-c", f"cat {among}/*/.env {watch}/.env 2>&1; touch {among}/app/x {among}/data/x"
        )
        assert reported["output"].count(KEY) == 1, "only what is nobody's of Kaiwa's"
        assert "Read-only file system" in reported["output"]
        assert (await inside.run("cat", f"{among}/other/.env"))["output"] == KEY
    for folder in (ROOT, Path(sys.prefix)):
        assert "No such file" in (await box.run("ls", str(folder)))["output"]


async def test_there_is_no_network_in_the_box(box: WorkspaceTools) -> None:
    """Not even this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        total = await python(
            box, f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        )
    assert "ConnectionRefusedError" in total or "unreachable" in total


async def test_only_the_folder_can_be_written_to(box: WorkspaceTools) -> None:
    """And a little memory."""
    places = [
        "/x",
        "/usr/x",
        "/usr/bin/x",
        "/dev/x",
        "/dev/shm/x",  # noqa: S108
        "/etc/x",
        "/tmp/x",  # noqa: S108
        f"{ENVIRONMENT['HOME']}/x",
    ]
    total = await python(
        box,
        f"for path in {places}:\n  try: open(path, 'w'); print(path)\n  except OSError: pass\n",
    )
    assert total.split() == ["/tmp/x", f"{ENVIRONMENT['HOME']}/x"]  # noqa: S108


async def test_a_fork_bomb_comes_to_an_end(box: WorkspaceTools) -> None:
    """Processes are counted, root's too."""
    total = await python(box, FORK_BOMB)
    assert 0 < int(total) < 16


async def test_memory_and_files_have_limits(box: WorkspaceTools) -> None:
    """A program meets them as errors of its own."""
    assert "MemoryError" in await python(box, "bytearray(10 ** 9)")
    large = (
        "import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nopen('x', "
        "'wb').write(bytes(2 << 20))"
    )
    assert "File too large" in await python(box, large)


async def test_the_box_cannot_be_built_upon(box: WorkspaceTools) -> None:
    """No other box inside, no rights, no older ones back."""
    total = await python(
        box,
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nprint(libc.unshare(0x10000000), "
        "libc.unshare(0x20000), "
        "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None), libc.setuid(0) if os.getuid() else -1)",
    )
    assert total == "-1 -1 -1 -1\n"


async def test_a_command_cannot_fill_the_disk(box: WorkspaceTools) -> None:
    """What it writes is memory of a fixed size, and nothing of what is too much for the folder gets
    there."""
    await box.call("write_file", path="kept.txt", content="kept")
    script = 'i=0; while head -c 1000000 /dev/zero >"$i"; do i=$((i + 1)); done'
    assert await box.run("sh", "-c", script) == {"error": f"{FULL}; {NOTHING_KEPT}"}
    assert os.listdir(box.folder) == ["kept.txt"]
    stopped = (
        'i=0; while echo "$i"; do head -c 1000000 /dev/zero >"$i" || exec rm *; i=$((i + 1)); done'
    )
    reported = await box.run("sh", "-c", stopped)
    assert "No space left on device" in reported["output"]
    assert reported["output"].splitlines()[-2] in ("21", "22"), "megabytes"


@pytest.mark.parametrize(
    "script",
    [
        "for number in range(501): open(str(number), 'w')",
        "while True: os.mkdir('a'); os.chdir('a')",
        "open('a', 'wb').write(bytes(1 << 20))\nfor number in range(40): os.link('a', str(number))",
        "for number in range(400): os.truncate(os.open(str(number), os.O_CREAT | os.O_WRONLY), 1 "
        "<< 20)",
        "number = 0\nwhile True: number += 1; open(f'/tmp/{number}', 'w')",
        "number = 0\nwhile True: number += 1; open(str(number), 'w')",
    ],
    ids=["files", "depth", "hard links", "holes", "in /tmp", "for ever"],
)
async def test_nothing_is_kept_of_a_command_that_makes_too_much(
    box: WorkspaceTools, script: str
) -> None:
    """Neither by number nor by size; the folder is as it was, and the next command runs."""
    await box.call(
        "write_file", path="attack.py", content=f"import os\nopen('attack.py', 'w')\n{script}"
    )
    before = (box.folder / "attack.py").read_text()
    refused = await box.run("python3", "attack.py")
    deep = "there are too many files, or folders nested too deeply"
    assert refused.get("error") in [
        f"{reason}; {NOTHING_KEPT}" for reason in (FULL, TOO_MANY, deep)
    ]
    assert os.listdir(box.folder) == ["attack.py"]
    assert (box.folder / "attack.py").read_text() == before
    assert await box.run("ls") == {"exit_code": 0, "output": "attack.py\n"}


async def test_a_full_folder_can_be_emptied(box: WorkspaceTools) -> None:
    """By a command, where it is not over its limits; by delete_file always."""
    for number in range(25):
        (box.folder / f"{number}").write_bytes(bytes(1 << 20))
        (box.folder / f"{number}").chmod(0o644)
    assert await box.run("ls") == {"error": f"{FULL}; delete something first"}
    for number in range(5):
        assert await box.call("delete_file", path=str(number)) == {"path": str(number)}
    assert (await box.run("rm", *map(str, range(5, 15))))["exit_code"] == 0
    assert len(os.listdir(box.folder)) == 10


async def test_what_a_command_did_is_in_the_folder(box: WorkspaceTools) -> None:
    """Made, changed, deleted, turned from a file into a folder; what it left alone is not written
    again."""
    for path in ("changed", "deleted", "turned", "gone/below", "left"):
        await box.call("write_file", path=path, content="before")
    untouched = (box.folder / "left").stat().st_ino
    script = (
        "echo after >changed; rm -r deleted gone turned; mkdir -p turned made/empty; echo new "
        ">turned/x"
    )
    assert await box.run("sh", "-c", script) == {"exit_code": 0, "output": ""}
    found = {str(path.relative_to(box.folder)) for path in box.folder.rglob("*")}
    assert found == {"changed", "left", "made", "made/empty", "turned", "turned/x"}
    assert (box.folder / "changed").read_text() == "after\n"
    assert (box.folder / "left").stat().st_ino == untouched


async def test_what_a_command_leaves_running_ends_with_it(box: WorkspaceTools) -> None:
    """Before anything is taken out of the box: nobody writes into what is looked at."""
    script = (
        "(while :; do echo x >>more; done) >/dev/null 2>&1 & while [ ! -s more ]; do :; done; "
        "echo done"
    )
    assert await box.run("sh", "-c", script) == {"exit_code": 0, "output": "done\n"}
    size = (box.folder / "more").stat().st_size
    assert size > 0
    assert await box.run("wc", "-c", "more") == {"exit_code": 0, "output": f"{size} more\n"}


async def test_a_flood_of_words_ends_the_command_and_keeps_nothing(box: WorkspaceTools) -> None:
    """It was stopped in the middle of its work."""
    total = await box.run(
        "sh", "-c", "echo x >made; while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"
    )
    assert total["exit_code"] == 128 + 9
    assert total["output"].endswith(f"[stopped: {NOTHING_KEPT}]")
    assert os.listdir(box.folder) == []


async def test_links_stay_in_the_box(box: WorkspaceTools) -> None:
    """Neither those to files of the machine nor a pipe get out; two names of one file become two
    files."""
    (box.folder / "older").symlink_to("/etc/passwd")
    script = (
        "ln -s /etc/passwd link; ln -s / root; mkfifo pipe; echo x >one; ln one two; mkdir a; ln "
        "-s / a/root"
    )
    assert await box.run("sh", "-c", script) == {"exit_code": 0, "output": ""}
    assert sorted(os.listdir(box.folder)) == ["a", "older", "one", "two"]
    assert os.listdir(box.folder / "a") == []
    assert (await box.call("read_file", path="two"))["content"] == "x"
    assert await box.call("read_file", path="older") == {"error": "not a plain file: older"}
    assert await box.call("delete_file", path="older") == {"path": "older"}


async def test_words_that_no_program_can_be_given_are_refused(box: WorkspaceTools) -> None:
    """And a command is never longer than what is shown of it where approval is asked for."""
    nul = {"error": "invalid parameters: command: it has a NUL character"}
    assert await box.run("echo", "a\0b") == nul
    lone = {"error": "invalid parameters: it has characters that are no Unicode text"}
    assert await box.run("echo", "\ud800") == lone
    long = {
        "error": f"the command is longer than {COMMAND_CAP} characters; "
        "put what is long into a file"
    }
    assert await box.run("echo", "a" * 600, "a" * 600) == long


@pytest.mark.parametrize("programs", ["ls,/bin/sh", "ls,-x", "ls,a b", "ls,$(x)", "ls,../x"])
def test_a_program_in_the_list_is_a_plain_name(programs: str) -> None:
    """Anything else is a mistake of the operator's."""
    with pytest.raises(
        ValidationError, match="write names of programs, without folders and spaces"
    ):
        WorkspaceConfig(workspace_commands=programs)
