"""The parent of ``kaiwa run --processes N``: it keeps N members running, which share one socket.

The first member owns the bundled Valkey: it starts alone and ends last. A byte on a member's *link*
to the supervisor says that the member is ready, the end of the link that the member is alone.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryDirectory
from threading import Event, RLock, Thread

from bot.web.port import READY, Membership

MEMBER = (sys.executable, "-P", "-c", "from bot.cli.main import main; main()", "member")
_ENDED = 0  # the number of no signal


class Supervisor:
    """Keeps members running until a signal; their command gets a ``Membership``."""

    def __init__(self, sock: socket.socket, folder: str, command: Sequence[str]) -> None:
        self._socket, self._folder, self._command, self._exit_code = sock, folder, command, 0
        # A byte for each signal, its number, and _ENDED for each thread that has ended. A signal
        # that comes just before a wait for a lock or a queue begins would not end that wait.
        self._events, self._events_end = socket.socketpair()
        self._events_end.setblocking(False)
        # The lock guards the links, and the beginning of the stop.
        self._links: dict[subprocess.Popen[bytes], socket.socket] = {}
        self._lock, self._may_start, self._stops = RLock(), Event(), Event()

    def run(self, processes: int, stop_s: float = 27.0) -> int:
        """Returns the exit code of all. Members that do not drain in ``stop_s`` are killed."""
        signal.set_wakeup_fd(self._events_end.fileno())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
            # Who starts Kaiwa may have it ignore SIGHUP, as nohup does.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda _number, _frame: None)
        for place in range(processes):
            Thread(target=self._keep, args=(place == 0,)).start()
        while processes:
            (event,) = self._events.recv(1)
            if event == _ENDED:
                processes -= 1
            elif event == signal.SIGALRM:
                self._exit_code = 1
                self._signal(signal.SIGKILL)
            elif self._stops.is_set():
                # A platform may send SIGTERM to members too: a second one must differ.
                self._signal(signal.SIGINT)
            else:
                signal.setitimer(signal.ITIMER_REAL, stop_s)
                self._signal(signal.SIGTERM)
            if processes == 1 and self._stops.is_set():
                with self._lock, suppress(OSError):
                    for link in self._links.values():
                        link.shutdown(socket.SHUT_RDWR)
        return self._exit_code

    def _keep(self, is_first: bool) -> None:
        replaces = ""
        try:
            while is_first or self._may_start.wait():
                with self._lock:
                    if self._stops.is_set():
                        break
                    process = self._start(is_first, replaces)
                if self._links[process].recv(1) == READY:
                    self._may_start.set()
                code = process.wait()
                replaces = f"exit code {code}" if code >= 0 else f"signal {-code}"
                with self._lock:
                    self._links.pop(process).close()
                    # With these codes it has printed what is wrong with a setting or the store.
                    if code in (1, 2) and not self._may_start.is_set():
                        self._exit_code = code
                        self._signal(signal.SIGTERM)
                # A member that ends at once, again and again, must not take all of the CPU.
                self._stops.wait(1.0)
        finally:
            self._events_end.send(bytes([_ENDED]))

    def _start(self, is_first: bool, replaces: str) -> subprocess.Popen[bytes]:
        link, end = socket.socketpair()
        with end:
            sock, folder = self._socket.fileno(), self._folder
            membership = Membership(sock, end.fileno(), folder, is_first, replaces)
            process = subprocess.Popen(  # noqa: S603 -- this program
                [*self._command, *map(str, membership)],
                stdin=subprocess.DEVNULL,
                pass_fds=membership[:2],
                # Ctrl-C is for the supervisor alone.
                process_group=0,
                env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": folder, "KAIWA_MEMBERS": folder},
            )
        self._links[process] = link
        return process

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            self._stops.set()
            self._may_start.set()
            # The members' own descriptors stay open until they have drained.
            self._socket.close()
            for process in self._links:
                process.send_signal(number)


if __name__ == "__main__":
    descriptor, processes, *options = sys.argv[1:]
    sock = socket.socket(fileno=int(descriptor))
    with TemporaryDirectory(prefix="kaiwa-") as folder:
        # systemd-tmpfiles leaves a locked folder alone, however old.
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_SH)
        code = Supervisor(sock, folder, [*MEMBER, *options]).run(int(processes))
    sys.exit(code)
