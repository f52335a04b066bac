"""The socket that listens on the server's address; importing this module is cheap."""

from __future__ import annotations

import errno
import socket

from bot.errors import SettingsError


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
