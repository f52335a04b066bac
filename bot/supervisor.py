"""The supervisor of ``kaiwa run --processes N``: it keeps N members running, processes that share
one listening socket.

``kaiwa run`` checks the settings, binds the port and replaces itself by this module (``exec``),
which imports only the standard library. The first member starts alone: it prints the start report,
and if it cannot start, the supervisor ends with its exit code. When it is ready, the others start.

A member has a connection to the supervisor, its *link*: a byte on it says that the member is ready,
and its end tells the member that the supervisor is dead. On SIGTERM members drain. A platform may
send SIGTERM to the members too, so the supervisor passes a second one on as SIGINT.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from math import inf
from tempfile import TemporaryDirectory
from typing import NamedTuple, NoReturn

SUPERVISOR = (sys.executable, "-P", "-m", "bot.supervisor")
MEMBER = (sys.executable, "-P", "-c", "from bot.cli.main import main; main()", "member")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
CANNOT_START = (1, 2)  # exit codes: the store does not answer, a setting is wrong
STEADY_S = 10.0  # a member that has run this long is replaced at once
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
READY = b"+"  # on a link
STOP_S = 27.0  # for members to drain; then they are killed


class Membership(NamedTuple):
    """What a member gets from the supervisor.

    Attributes:
        socket: the descriptor of the listening socket.
        link: the descriptor of the link.
        folder: of the members of this port; private.
        announces: whether to print the start report and the address.
        replaces: how the process that this one replaces has ended; empty if there was none.
    """

    socket: int
    link: int
    folder: str
    announces: bool
    replaces: str


def replace_by_supervisor(sock: socket.socket, processes: int, options: Sequence[str]) -> NoReturn:
    """Run the supervisor in place of this program.

    Args:
        options: of every member.
    """
    sock.set_inheritable(True)
    # this program
    os.execv(sys.executable, [*SUPERVISOR, str(sock.fileno()), str(processes), *options])  # noqa: S606


class _Member:
    """A process, or the time at which one starts.

    Attributes:
        is_ready: None while the process is starting.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.link: socket.socket | None = None
        self.is_ready: bool | None = None
        self.due_at = inf
        self._started_at = 0.0
        self._pause_s = 0.0
        self._replaces = ""

    def start(
        self, command: Sequence[str], sock: socket.socket, folder: str, *, announces: bool
    ) -> None:
        self.link, theirs = socket.socketpair()
        membership = Membership(sock.fileno(), theirs.fileno(), folder, announces, self._replaces)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 -- this program
                [*command, *map(str, membership)],
                stdin=subprocess.DEVNULL,
                pass_fds=(membership.socket, membership.link),
                process_group=0,  # Ctrl-C is for the supervisor alone
                env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": folder},
            )
        self.is_ready, self.due_at, self._started_at = None, inf, time.monotonic()

    def exit_code(self) -> int | None:
        """The exit code of a process that has ended; then another one is due."""
        if self.process is None or self.link is None or (code := self.process.poll()) is None:
            return None
        self.link.close()
        self.process = self.link = None
        now = time.monotonic()
        longer = min(max(2 * self._pause_s, SHORTEST_PAUSE_S), LONGEST_PAUSE_S)
        self._pause_s = 0.0 if now - self._started_at > STEADY_S else longer
        self.due_at = now + self._pause_s
        self._replaces = f"exit code {code}" if code >= 0 else f"signal {-code}"
        return code


class Supervisor:
    """Keeps members running until SIGTERM or SIGINT.

    Args:
        command: of a member; what it gets from the supervisor is added.
        stop_s: for members to drain.
    """

    def __init__(
        self,
        sock: socket.socket,
        folder: str,
        processes: int,
        command: Sequence[str],
        stop_s: float = STOP_S,
    ) -> None:
        self._socket = sock
        self._folder = folder
        self._command = command
        self._stop_s = stop_s
        self._members = [_Member() for _ in range(processes)]
        self._members[0].due_at = 0.0
        self._was_ready = False
        self._orders = 0
        self._kill_at = inf
        self._exit_code = 0

    def run(self) -> int:
        """Returns the exit code of all, when all members have ended."""
        signals = _receive_signals()
        while self._running or not self._orders:
            readable = self._wait(signals)
            for member in self._running:
                if member.link in readable:
                    self._answer(member)
                if (code := member.exit_code()) is not None:
                    self._give_up_if_hopeless(member, code)
            for number in signals.recv(64) if signals in readable else b"":
                if number != signal.SIGCHLD:
                    self._stop()
            self._act_on_time()
        return self._exit_code

    @property
    def _running(self) -> list[_Member]:
        return [member for member in self._members if member.process]

    def _wait(self, signals: socket.socket) -> list[socket.socket]:
        """Wait for signals, links and the next time to act; returns the sockets that can be
        read."""
        links = [member.link for member in self._running if member.link and member.is_ready is None]
        until = min(
            self._kill_at, *(inf if self._orders else member.due_at for member in self._members)
        )
        timeout = None if until == inf else max(0.0, until - time.monotonic())
        readable: list[socket.socket] = select.select([signals, *links], [], [], timeout)[0]
        return readable

    def _answer(self, member: _Member) -> None:
        """Read whether a member is ready; with the first one, let the others start."""
        member.is_ready = bool(member.link and member.link.recv(1) == READY)
        if member.is_ready and not self._was_ready:
            self._was_ready = True
            for other in self._members:
                other.due_at = inf if other.process else 0.0

    def _give_up_if_hopeless(self, ended: _Member, code: int) -> None:
        if code in CANNOT_START and not (ended.is_ready or self._was_ready or self._orders):
            self._exit_code = code  # the member has printed why
            self._stop()

    def _stop(self) -> None:
        """Let members drain; called again, let them end at once."""
        self._orders += 1
        if self._orders == 1:
            self._socket.close()  # those of the members stay open until they have drained
            self._kill_at = time.monotonic() + self._stop_s
        for member in self._running:
            if member.process:
                # Before it is ready, a member may not know SIGINT yet.
                member.process.send_signal(
                    signal.SIGINT if self._orders > 1 and member.is_ready else signal.SIGTERM
                )

    def _act_on_time(self) -> None:
        """Start members that are due, and kill those that have not drained in time."""
        now = time.monotonic()
        for member in self._members:
            if member.process and now >= self._kill_at:
                member.process.kill()
                self._exit_code = 1
            elif member.due_at <= now and not self._orders:
                member.start(
                    self._command, self._socket, self._folder, announces=not self._was_ready
                )
        if now >= self._kill_at:
            self._kill_at = inf


def _receive_signals() -> socket.socket:
    """A socket that receives the number of each signal as a byte."""
    received, sender = socket.socketpair()
    sender.setblocking(False)
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup does with SIGHUP
            signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(sender.detach())
    return received


def main() -> int:
    """Run ``python -m bot.supervisor DESCRIPTOR PROCESSES OPTIONS…``."""
    descriptor, processes, *options = sys.argv[1:]
    with (
        socket.socket(fileno=int(descriptor)) as sock,
        TemporaryDirectory(prefix="kaiwa-") as folder,
    ):
        fcntl.flock(
            os.open(folder, os.O_RDONLY), fcntl.LOCK_SH
        )  # systemd-tmpfiles then leaves it alone, however old
        return Supervisor(sock, folder, int(processes), [*MEMBER, *options]).run()


if __name__ == "__main__":
    sys.exit(main())
