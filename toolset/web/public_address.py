"""Which addresses a tool may reach on the word of a person, a model or a page: public ones, each
looked up only once.

The lists are from IANA's registries of special-purpose addresses, written out because the
properties of ``ipaddress`` differ between Python versions.
https://www.iana.org/assignments/iana-ipv4-special-registry,
https://www.iana.org/assignments/iana-ipv6-special-registry
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

from toolset.shares import Shares
from toolset.tool import ToolError

Address = IPv4Address | IPv6Address
# From a name, and the conversation that asks, to addresses; none if there are none.
Resolver = Callable[[str, str], Awaitable[Sequence[str]]]

# fmt: off
REFUSED_V4 = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",  # multicast, reserved, broadcast
    "168.63.129.16/32",  # Azure's own services, metadata among them
)))
# fmt: on
GLOBAL_V6 = IPv6Network(
    "2000::/3"
)  # nothing else is assigned; without loopback, link-local, mapped and compatible IPv4
REFUSED_V6 = tuple(
    map(
        IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
    )  # Teredo is in the first, 6to4 the third
)
NAT64 = IPv6Network(
    "64:ff9b::/96"
)  # how networks without IPv4 reach it; the last four bytes are the IPv4 address

NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]",
    re.ASCII,
)
NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z", re.ASCII)
MAX_LOOKUPS = 8  # at once in this process
MAX_OF_ONE = 2  # of these for one conversation

# the same for private and unknown ones: names of a network are private
NOT_PUBLIC = "no public website has this address"
BUSY = "too many websites are looked up at the moment, try again in a minute"


def is_public(address: Address) -> bool:
    """Whether an address is that of a host on the internet, and leads to no other address."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in REFUSED_V4)
    if address in NAT64:
        return is_public(IPv4Address(address.packed[-4:]))
    return (
        address.scope_id is None
        and address in GLOBAL_V6
        and not any(address in network for network in REFUSED_V6)
    )


async def public_addresses(
    host: str, resolve: Resolver, conversation: str = ""
) -> tuple[Address, ...]:
    """The addresses of a host, given as in the ASCII form of a URL, without the brackets of IPv6.

    Connect to these and not to the name: it may resolve to something else a moment later. A name
    with both public and other addresses is refused.

    Args:
        conversation: that asks; all that have no name share one.

    Raises:
        ToolError: it has no address, one that is not public, or is a number in any other form than
            192.0.2.1.
    """
    name = host.lower().removesuffix(".")
    try:
        addresses: tuple[Address, ...] = (ip_address(name),)
    except ValueError:
        if NUMBER.match(name.rpartition(".")[2]) or not NAME.fullmatch(name):
            raise ToolError(NOT_PUBLIC) from None
        addresses = tuple(map(ip_address, await resolve(name, conversation)))
    if not addresses or not all(map(is_public, addresses)):
        raise ToolError(NOT_PUBLIC)
    return tuple(dict.fromkeys(addresses))


class SystemResolver:
    """The system's lookup, in threads of its own.

    A lookup cannot be stopped, and a hostile name server answers late. So threads are not those
    that others wait for, are bounded in number, for each conversation too, and do not delay the end
    of the process.
    """

    def __init__(
        self, most: int = MAX_LOOKUPS, look_up: Callable[..., list[Any]] = socket.getaddrinfo
    ) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._shares = Shares(MAX_OF_ONE)
        self._getaddrinfo = look_up

    async def __call__(self, name: str, conversation: str) -> Sequence[str]:
        """The addresses of a name, once the conversation's own lookups leave room; the caller
        limits the time.

        Raises:
            ToolError: too many lookups are under way.
        """
        share = self._shares.of(conversation)
        await share.acquire()
        if not self._free.acquire(blocking=False):
            share.release()
            raise ToolError(BUSY)
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[str]] = loop.create_future()

        def deliver(addresses: list[str]) -> None:
            share.release()
            if not found.done():
                found.set_result(addresses)

        threading.Thread(
            target=self._look_up, args=(name, loop, deliver), name="lookup", daemon=True
        ).start()
        return await found

    def _look_up(
        self, name: str, loop: asyncio.AbstractEventLoop, deliver: Callable[[list[str]], None]
    ) -> None:
        addresses: list[str] = []
        try:
            with suppress(OSError, UnicodeError):
                addresses = [
                    str(entry[4][0])
                    for entry in self._getaddrinfo(name, None, type=socket.SOCK_STREAM)
                ]
        finally:
            self._free.release()
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(deliver, addresses)
