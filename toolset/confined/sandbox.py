"""The sandbox for commands, made by bubblewrap: no network, no other processes, only programs and
two folders.

https://github.com/containers/bubblewrap. The tool decides which programs may run, this module what
they can do. There is no /proc in the sandbox, and no way to make another sandbox inside. Both
folders are in memory; no folder of this machine can be written to.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

from toolset.confined.workspace import FILE_CAP, MAX_ENTRIES, NOBODY, TOTAL_CAP

PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
NEEDED = ("bwrap", "choom", "setpriv")
SECONDS = 20  # of a command

WORK = "/work"
TMP = "/tmp"  # noqa: S108 -- of the sandbox
WORK_CAP = TOTAL_CAP + MAX_ENTRIES * os.sysconf("SC_PAGE_SIZE")  # bytes; a file takes whole pages
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
# Standard input is a socket: the archive comes in, READY and FILLED go out. The command itself does
# not get it. Errors of tar are dropped: they may hold names of people's files.
UNPACK = "{ tar -xf - 2>/dev/null || { echo tar failed; exit 1; }; }"
START = f'echo ready >&0 && {UNPACK} && echo filled >&0 && exec "$@" </dev/null'

SYSTEM_FOLDERS = (
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
)  # links into /usr, or folders on systems that kept them apart
PARTS = (
    *SYSTEM_FOLDERS,
    "include",
    "libexec",
    "share",
)  # of /usr and /usr/local; programs need nothing else there
ISOLATION = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
)
ENVIRONMENT = {"PATH": PROGRAMS, "HOME": WORK, "LANG": "C.UTF-8"}


class NoSandbox(Exception):
    """The sandbox does not work here, so no command is run. The text is for the operator."""


class Sandbox:
    """Builds the command line that runs a command in the sandbox.

    Args:
        as_root: whether Kaiwa runs as root; then commands run as nobody.
        private: folders that no command may see, wherever they are.
        programs: search path for the programs of the sandbox itself.

    Raises:
        NoSandbox: one is missing.
    """

    def __init__(
        self, as_root: bool, private: Iterable[Path] = (), programs: str = PROGRAMS
    ) -> None:
        self._as_root = as_root
        self._private_folders = tuple(private)
        self._found = {name: shutil.which(name, path=programs) or "" for name in NEEDED}
        if missing := [name for name, path in self._found.items() if not path]:
            raise NoSandbox(
                f"not installed: {', '.join(missing)} (packages bubblewrap and util-linux)"
            )

    def argv(self, command: Sequence[str], socket: int) -> list[str]:
        """The command line.

        When memory runs out, the command is killed first (choom). ``timeout`` is for the case that
        Kaiwa was killed.

        Args:
            socket: inherited, and also standard input. Sends bubblewrap's JSON about the sandbox,
                then READY; receives the archive; sends FILLED.
        """
        limits = [f"--{name}={value}" for name, value in LIMITS.items()]
        environment: list[str] = []
        for name, value in ENVIRONMENT.items():
            environment += ["--setenv", name, value]
        return [
            *(self._found["choom"], "-n", "1000", "--"),
            *self._as_nobody(),
            *(self._found["bwrap"], *ISOLATION, "--info-fd", str(socket)),
            *("--cap-drop", "ALL", "--hostname", "sandbox"),
            *_system_mounts(self._private_folders),
            *("--dev", "/dev", "--size", str(TMP_CAP), "--tmpfs", TMP),
            *("--size", str(WORK_CAP), "--tmpfs", WORK),
            *("--chdir", WORK, "--remount-ro", "/dev", "--remount-ro", "/"),
            *("--clearenv", *environment, "--"),
            *("timeout", "--signal=KILL", str(SECONDS + 5), "sh", "-c", START, "sh"),
            *("prlimit", *limits, "--", *command),
        ]

    def _as_nobody(self) -> list[str]:
        """Switch from root to nobody: the limits do not apply to root."""
        if not self._as_root:
            return []
        return [
            self._found["setpriv"],
            f"--reuid={NOBODY}",
            f"--regid={NOBODY}",
            "--clear-groups",
            "--",
        ]


def _system_mounts(private: Iterable[Path]) -> list[str]:
    """Read-only mounts of this machine's programs and libraries; an empty folder covers each
    private one below them."""
    arguments: list[str] = []
    shown: dict[Path, Path] = {}
    for top, name in product(("/", "/usr", "/usr/local"), PARTS):
        path = Path(top, name)
        if path.is_symlink():
            arguments += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir() and (path.parent != Path("/") or path.name in SYSTEM_FOLDERS):
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
