"""Ports for servers that cannot be told to choose one themselves."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

LOWEST, HIGHEST = 20_000, 32_000


def free_port() -> int:
    """A port nobody listens on. The system hands it out to nobody else before it is used: those
    that it chooses itself are higher."""
    while True:
        port = LOWEST + secrets.randbelow(HIGHEST - LOWEST)
        with suppress(OSError), socket.socket() as sock:
            sock.bind(("127.0.0.1", port))
            return port
