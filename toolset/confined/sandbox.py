"""The box commands run in, made by bubblewrap: no network, no other processes, nothing but programs and two folders.

https://github.com/containers/bubblewrap. What may be asked for is the tool's business; what a command can do once it
runs is decided here alone. There is no /proc in the box, and no way to make another one inside it. Both folders are
memory; no folder of this machine can be written to.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolset.confined.workspace import FILE_CAP, MOST_ENTRIES, NOBODY, TOTAL_CAP

PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
NEEDED = ("bwrap", "choom", "setpriv")
SECONDS = 20  # of a command

WORK = "/work"
TMP = "/tmp"  # noqa: S108 -- the box's own
WORK_CAP = TOTAL_CAP + MOST_ENTRIES * os.sysconf("SC_PAGE_SIZE")  # bytes; a file takes whole pages
TMP_CAP = 16 * 1024 * 1024  # bytes
LIMITS = {
    "as": 512 * 1024 * 1024,  # bytes of memory, each process
    "cpu": 15,  # seconds, each process
    "fsize": FILE_CAP,
    "nofile": 64,
    "nproc": 16,
    "core": 0,
}
READY, FILLED = b"ready\n", b"filled\n"
# The archive comes in on standard input, a socket, and what is told goes out on it. The command never has it. What tar
# says would be for the log and may hold names that people gave to files.
TAKE_IN = "{ tar -xf - 2>/dev/null || { echo tar failed; exit 1; }; }"
START = f'echo ready >&0 && {TAKE_IN} && echo filled >&0 && exec "$@" </dev/null'

SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64")  # links into /usr, or folders on systems that kept them apart
PARTS = (*SYSTEM, "include", "libexec", "share")  # of /usr and /usr/local; whatever else lies there is no program's
ISOLATION = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
ENVIRONMENT = {"PATH": PROGRAMS, "HOME": WORK, "LANG": "C.UTF-8"}


class NoSandbox(Exception):
    """Commands cannot be confined here, and so none is run. The text is for the operator."""


class Sandbox:
    """Says how a command is started in its box.

    Args:
        private: folders that no command may see, wherever they lie.
        programs: where the programs are that make the box.

    Raises:
        NoSandbox: one is missing.
    """

    def __init__(self, as_root: bool, private: Iterable[Path] = (), programs: str = PROGRAMS) -> None:
        self._as_root = as_root
        self._private = tuple(private)
        self._found = {name: shutil.which(name, path=programs) or "" for name in NEEDED}
        if missing := [name for name, path in self._found.items() if not path]:
            raise NoSandbox(f"not installed: {', '.join(missing)} (packages bubblewrap and util-linux)")

    def argv(self, command: Sequence[str], socket: int) -> list[str]:
        """How to run a command.

        It is the first to go where memory runs out. The backstop for time holds where Kaiwa itself was killed.

        Args:
            socket: inherited, and standard input too. It tells what bubblewrap says about the box, then READY; takes
                an archive of files; tells FILLED.
        """
        limits = [f"--{name}={value}" for name, value in LIMITS.items()]
        return [
            *(self._found["choom"], "-n", "1000", "--"),
            *(self._as_nobody() if self._as_root else []),
            *(self._found["bwrap"], *ISOLATION, "--info-fd", str(socket), "--cap-drop", "ALL", "--hostname", "sandbox"),
            *_system(self._private),
            *("--dev", "/dev", "--size", str(TMP_CAP), "--tmpfs", TMP, "--size", str(WORK_CAP), "--tmpfs", WORK),
            *("--chdir", WORK, "--remount-ro", "/dev", "--remount-ro", "/"),
            *("--clearenv", *(word for pair in ENVIRONMENT.items() for word in ("--setenv", *pair)), "--"),
            *("timeout", "--signal=KILL", str(SECONDS + 5), "sh", "-c", START, "sh"),
            *("prlimit", *limits, "--", *command),
        ]

    def _as_nobody(self) -> list[str]:
        """Root is above all limits."""
        return [self._found["setpriv"], f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]


def _system(private: Iterable[Path]) -> list[str]:
    """The programs and libraries of this machine, to be read; an empty folder stands for a private one among them."""
    arguments: list[str] = []
    shown: dict[Path, Path] = {}
    for path in (Path(top, name) for top in ("/", "/usr", "/usr/local") for name in PARTS):
        if path.is_symlink():
            arguments += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir() and (path.parent != Path("/") or path.name in SYSTEM):
            arguments += ["--ro-bind", str(path), str(path)]
            shown[path] = path.resolve()
    for name in ("/etc/alternatives", "/etc/ld.so.cache"):
        arguments += ["--ro-bind-try", name, name]
    found = {Path(os.path.realpath(path)) for path in private if os.path.isdir(path)}
    for path, real in shown.items():
        within = {folder for folder in found if folder != real and folder.is_relative_to(real)}
        for folder in sorted(within):
            if within.isdisjoint(folder.parents):
                hidden = str(path / folder.relative_to(real))
                arguments += ["--tmpfs", hidden, "--remount-ro", hidden]
    return arguments
