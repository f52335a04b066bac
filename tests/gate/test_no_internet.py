"""The guard that keeps tests away from the internet really does."""

from __future__ import annotations

import socket

import pytest

from tests.conftest import Internet

ELSEWHERE = "192.0.2.1"  # reserved for documentation: nobody answers there


def test_a_connection_beyond_this_machine_is_refused(internet: Internet) -> None:
    """A socket that leaves the machine fails at once, and is remembered."""
    with socket.socket() as client, pytest.raises(OSError, match="tests do not touch the internet"):
        client.connect((ELSEWHERE, 80))
    assert internet.asked == [ELSEWHERE]
    internet.asked.clear()


def test_a_name_is_not_looked_up(internet: Internet) -> None:
    """Asking for an address already tells somebody."""
    with pytest.raises(OSError, match="tests do not touch the internet"):
        socket.getaddrinfo("example.com", 80)
    assert internet.asked == ["example.com"]
    internet.asked.clear()


def test_this_machine_is_free() -> None:
    """Servers that tests start on loopback can be reached by address and by name."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())
    assert socket.getaddrinfo("localhost", 80)
