"""The box commands run in, made by bubblewrap: no network, no other processes, nothing but /usr and one folder.

https://github.com/containers/bubblewrap. What may be asked for is the tool's business; what a command can do once it
runs is decided here alone. There is no /proc in the box, and no way to make another one inside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from toolset.confined.workspace import FILE_CAP, NOBODY

PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
NEEDED = ("bwrap", "choom", "setpriv")
TRIAL_S = 10.0
SECONDS = 20  # of a command

TMP_CAP = 16 * 1024 * 1024  # bytes, in memory
LIMITS = {
    "as": 512 * 1024 * 1024,  # bytes of memory, each process
    "cpu": 15,  # seconds, each process
    "fsize": FILE_CAP,
    "nofile": 64,
    "nproc": 16,
    "core": 0,
}
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64")  # links into /usr, or folders on systems that kept them apart
ISOLATION = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
ENVIRONMENT = {"PATH": PROGRAMS, "HOME": "/work", "LANG": "C.UTF-8"}


class NoSandbox(Exception):
    """Commands cannot be confined here, and so none is run. The text is for the operator."""


class Sandbox:
    """Says how a command is started in its box.

    Args:
        programs: where the programs are that make the box.

    Raises:
        NoSandbox: one is missing.
    """

    def __init__(self, as_root: bool, programs: str = PROGRAMS) -> None:
        self._as_root = as_root
        self._found = {name: shutil.which(name, path=programs) or "" for name in NEEDED}
        if missing := [name for name, path in self._found.items() if not path]:
            raise NoSandbox(f"not installed: {', '.join(missing)} (packages bubblewrap and util-linux)")

    def argv(self, folder: Path, command: Sequence[str]) -> list[str]:
        """How to run a command on a folder.

        It is the first to go where memory runs out. The backstop for time holds where Kaiwa itself was killed.
        """
        source, outer = ("/mnt", self._as_nobody(folder)) if self._as_root else (str(folder), [])
        limits = [f"--{name}={value}" for name, value in LIMITS.items()]
        return [
            *(self._found["choom"], "-n", "1000", "--"),
            *outer,
            *(self._found["bwrap"], *ISOLATION, "--cap-drop", "ALL", "--hostname", "sandbox"),
            *_system(),
            *("--dev", "/dev", "--size", str(TMP_CAP), "--tmpfs", "/tmp"),  # noqa: S108 -- the box's own
            *("--bind", source, "/work", "--chdir", "/work", "--remount-ro", "/dev", "--remount-ro", "/"),
            *("--clearenv", *(word for pair in ENVIRONMENT.items() for word in ("--setenv", *pair)), "--"),
            *("timeout", "--signal=KILL", str(SECONDS + 5), "prlimit", *limits, "--", *command),
        ]

    def failed(self, code: int, output: str) -> bool:
        """Whether it was the box that ended so, and not the command; its words name folders of this machine."""
        return code != 0 and output.startswith(tuple(f"{name}: " for name in NEEDED))

    def require(self, folder: Path) -> None:
        """Try the box on a folder.

        Raises:
            NoSandbox: it does not work.
        """
        try:
            argv = self.argv(folder, ["true"])
            tried = subprocess.run(argv, env={}, capture_output=True, timeout=TRIAL_S)  # noqa: S603 -- as written here
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoSandbox(f"bubblewrap does not work: {error}") from error
        if tried.returncode:
            raise NoSandbox(f"bubblewrap does not work: {tried.stderr.decode(errors='replace').strip()}")

    def _as_nobody(self, folder: Path) -> list[str]:
        """Root is above all limits. It shows the folder, wherever that lies, to a user who has no other rights."""
        show = [self._found["bwrap"], "--die-with-parent", "--dev-bind", "/", "/", "--bind", str(folder), "/mnt", "--"]
        become = [self._found["setpriv"], f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
        return show + become


def _system() -> list[str]:
    """The programs and libraries of this machine, to be read."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in SYSTEM:
        path = f"/{name}"
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        else:
            arguments += ["--ro-bind-try", path, path]
    for path in ("/etc/alternatives", "/etc/ld.so.cache"):
        arguments += ["--ro-bind-try", path, path]
    return arguments
