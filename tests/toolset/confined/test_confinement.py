"""Nothing leads out of a workspace, whatever a path says and whatever a command has planted
there."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolset.confined import files
from toolset.confined.workspace import Workspace
from toolset.tool import ToolError

SECRET = "a secret beside the workspace"

PLANTED = (
    "out",
    "up",
    "absolute",
    "secret.txt",
    "deep/out",
    "self",
    "pipe",
    "door",
    "twin",
    "null",
    "plain",
    "deep",
)
PIECES = [
    "..",
    ".",
    "",
    "/",
    "~",
    "\0",
    "\\",
    "\n",
    "secret.txt",
    "beside",
    "a" * 300,
    "é",
    *PLANTED,
]
paths = st.one_of(st.lists(st.sampled_from(PIECES), max_size=6).map("/".join), st.text(max_size=30))


class Traps:
    """A workspace full of traps, with a secret beside it."""

    def __init__(self, root: Path) -> None:
        self.beside = root / "beside"
        self.beside.mkdir()
        (self.beside / "secret.txt").write_text(SECRET)
        self.workspace = Workspace(root, None)
        with self.workspace.folder("c"):
            self.folder = self.workspace.path_of("c")
        self._plant()

    def _plant(self) -> None:
        (self.folder / "deep").mkdir()
        (self.folder / "plain").write_text("plain")
        (self.folder / "out").symlink_to("../beside")
        (self.folder / "up").symlink_to("..")
        (self.folder / "absolute").symlink_to(self.beside / "secret.txt")
        (self.folder / "secret.txt").symlink_to("../beside/secret.txt")
        (self.folder / "deep" / "out").symlink_to("../../beside")
        (self.folder / "self").symlink_to("self")
        (self.folder / "null").symlink_to("/dev/null")
        os.link(self.beside / "secret.txt", self.folder / "twin")
        os.mkfifo(self.folder / "pipe")
        before = os.open(".", os.O_RDONLY)
        os.chdir(self.folder)  # the path of a socket must be short
        with socket.socket(socket.AF_UNIX) as door:
            door.bind("door")
        os.fchdir(before)
        os.close(before)

    def outside(self) -> dict[str, str]:
        """All there is beside the workspace."""
        return {
            str(path): path.read_text() if path.is_file() else ""
            for path in self.folder.parent.rglob("*")
            if not path.is_relative_to(self.folder)
        }

    def reported(self, path: str) -> str:
        """Everything the tools say when they are asked for a path in each way, and after it was
        written to."""
        spoken = []
        with self.workspace.folder("c") as folder:
            for ask in (
                lambda: files.read_lines(folder, path),
                lambda: files.list_entries(folder, path),
                lambda: files.search(
                    folder, path, files.line_matcher("secret|^", ignore_case=True, is_regex=True)
                ),
                lambda: files.write(folder, path, b"written", None),
            ):
                with suppress(ToolError):
                    spoken.append(str(ask()))
        return "\n".join(spoken)


@contextmanager
def traps() -> Iterator[Traps]:
    """A fresh one."""
    with tempfile.TemporaryDirectory() as root:
        yield Traps(Path(root))


@given(st.lists(paths, min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_no_path_reaches_what_lies_outside(asked: list[str]) -> None:
    """Neither to read nor to write; every refusal is a sentence of ours."""
    with traps() as trapped:
        before = trapped.outside()
        for path in asked:
            assert SECRET not in trapped.reported(path)
        assert trapped.outside() == before


@pytest.mark.parametrize(
    ("path", "error"),
    [
        (
            "/etc/passwd",
            "invalid parameters: path: write it relative to the workspace, such as notes/today.txt",
        ),
        (
            "/dev/zero",
            "invalid parameters: path: write it relative to the workspace, such as notes/today.txt",
        ),
        (
            "a/../../x",
            "invalid parameters: path: write it relative to the workspace, such as notes/today.txt",
        ),
        (
            "..\\x",
            "invalid parameters: path: write it relative to the workspace, such as notes/today.txt",
        ),
        ("a\0b", "invalid parameters: path: it has invisible characters"),
        ("a\u202eb", "invalid parameters: path: it has invisible characters"),
        ("\ud800", "invalid parameters: path: it has invisible characters"),
        ("あ" * 67, "invalid parameters: path: at most 16 names, each of at most 200 bytes"),
        ("a/" * 16 + "a", "invalid parameters: path: at most 16 names, each of at most 200 bytes"),
        (".", "invalid parameters: path: write the name of a file"),
        ("a/", "invalid parameters: path: write the name of a file"),
        ("deep", "a folder, not a file: deep"),
        ("plain/x", "not a folder: plain/x"),
        ("missing", "no such file or folder: missing"),
        ("out/secret.txt", "not a folder: out/secret.txt"),
        ("secret.txt", "not a plain file: secret.txt"),
        ("twin", "not a plain file: twin"),
        ("pipe", "not a plain file: pipe"),
        ("door", "not a plain file: door"),
        ("null", "not a plain file: null"),
        ("self", "not a plain file: self"),
    ],
)
def test_each_trap_is_refused_in_words(path: str, error: str) -> None:
    """The model can fix its call by them; a pipe does not keep anybody waiting."""
    with (
        traps() as trapped,
        trapped.workspace.folder("c") as folder,
        pytest.raises(ToolError) as raised,
    ):
        files.read_lines(folder, path)
    assert str(raised.value) == error


@pytest.mark.parametrize("name", ["secret.txt", "twin", "pipe", "door", "null", "absolute"])
def test_what_is_no_plain_file_is_not_replaced(name: str) -> None:
    """It stays as it is, and so does what it leads to."""
    with traps() as trapped, trapped.workspace.folder("c") as folder:
        before = os.lstat(trapped.folder / name)
        with pytest.raises(ToolError, match=r"^not a plain file: "):
            files.write(folder, name, b"written", None)
        assert os.lstat(trapped.folder / name) == before


def test_names_exchanged_meanwhile_lead_nowhere() -> None:
    """A folder and a file that turn into links and back, as fast as a command could."""
    with traps() as trapped:
        (trapped.folder / "real").mkdir()
        (trapped.folder / "real" / "secret.txt").write_text("harmless")
        before, stop = trapped.outside(), Event()
        swapping = Thread(target=_swap, args=(trapped.folder, stop))
        swapping.start()
        try:
            reported = "".join(
                trapped.reported("swapped/secret.txt") + trapped.reported("swapped")
                for _ in range(150)
            )
        finally:
            stop.set()
            swapping.join()
        assert "harmless" in reported or "written" in reported, (
            "the exchange was never met half way"
        )
        assert SECRET not in reported
        assert trapped.outside() == before


def _swap(folder: Path, stop: Event) -> None:
    """Now a folder of ours, now a link out of it."""
    (folder / "link").symlink_to("../beside")
    swapped = folder / "swapped"
    while not stop.is_set():
        for name in ("real", "link"):
            try:
                (folder / name).rename(swapped)
                swapped.rename(folder / name)
            except OSError:  # a write has just made a folder of that name
                shutil.rmtree(swapped, ignore_errors=True)


def test_a_folder_nobody_may_open_is_an_error(tmp_path: Path) -> None:
    """It could hide anything, so nothing more is written."""
    workspace = Workspace(tmp_path, None)
    with workspace.folder("c") as folder:
        locked = workspace.path_of("c") / "locked"
        locked.mkdir(mode=0)
        if os.geteuid() == 0:
            pytest.skip("root may open everything")
        with pytest.raises(ToolError, match="may not be opened"):
            files.write(folder, "a", b"x", None)
