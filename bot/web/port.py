"""The socket that listens on the server's address, alone or shared; importing this module is
cheap."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from bot.errors import SettingsError

SUPERVISOR = (sys.executable, "-P", "-m", "bot.supervisor")
# A member sends it on its link.
READY = b"+"


class Membership(NamedTuple):
    """What a member, one of several processes, gets from the supervisor.

    Attributes:
        socket: the descriptor of the listening socket.
        link: the descriptor of the link.
        folder: of the members of this port; private.
        is_first: whether to own the bundled Valkey, and to print the start report and the address.
        replaces: how the process that this one replaces has ended; empty if there was none.
    """

    socket: int
    link: int
    folder: str
    is_first: bool
    replaces: str


def listen(host: str, port: int) -> socket.socket:
    """Bind the address, before anything else starts.

    Raises:
        SettingsError: the port is in use, or the host is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With this protocol asyncio sends without delay.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        variable = "PORT"
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            variable = "HOST"
        raise SettingsError(
            variable, f"cannot listen on {host}:{port} ({error.strerror}); choose another"
        ) from error
    sock.setblocking(False)
    return sock


def inherited(descriptor: int) -> socket.socket:
    """A socket that this process got from the process that started it; processes that it starts do
    not get it."""
    sock = socket.socket(proto=socket.IPPROTO_TCP, fileno=descriptor)
    sock.set_inheritable(False)
    sock.setblocking(False)
    return sock


def replace_by_supervisor(sock: socket.socket, processes: int, options: Sequence[str]) -> NoReturn:
    """Run the supervisor in place of this program.

    Args:
        options: of every member.
    """
    sock.set_inheritable(True)
    # The command is this program.
    os.execv(sys.executable, [*SUPERVISOR, str(sock.fileno()), str(processes), *options])  # noqa: S606
