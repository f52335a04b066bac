"""Addresses that a stranger may name: only public ones, however they are written and whatever a
name resolves to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolset.tool import ToolError
from toolset.web.public_address import (
    BUSY,
    MAX_LOOKUPS,
    NOT_PUBLIC,
    SystemResolver,
    is_public,
    public_addresses,
)

PUBLIC = "93.184.215.14"
HERE, THERE = "slack:C1", "slack:C2"  # conversations

# fmt: off
REFUSED = [
    "0.0.0.0",  # noqa: S104 -- nothing is bound
    "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "::", "::1", "::127.0.0.1", "::93.184.215.14", "::ffff:127.0.0.1", "::ffff:93.184.215.14",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "100::1", "2001::1",
    "2001:0:53aa:64c:0:fbff:3fff:fdd2", "2001:db8::1", "2002:7f00:1::1", "2002:5db8:d70e::1",
    "3fff::1", "4000::1",
    "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
]
NO_HOSTS = [
    "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F000001",
    "0x7f.1", "0177.0.0.1",
    "017700000001", "0x7f.0.0.0x1", "127.0.0.01", "8.8", "134744072", "0x", "1.2.3.4.5",
    "999.1.1.1", "a.0x1", "a.1",
    "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "fe80::1%eth0", "2606:4700::1%1", "1::2::3",
    "localhost", "intranet", "", ".", "..", "a..b", ".a.b", "-a.example", "a-.example", "a.b-",
    "exa mple.com",
    "a\x00.example", "a%2eexample", "[::1]", "例え.jp", "１２７.０.０.１", "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    f"{'a' * 64}.example", f"{'a.' * 130}example",
]
# fmt: on


class Names:
    """A resolver with answers in order; the last one is given again.

    Attributes:
        asked: the names that were looked up.
    """

    def __init__(self, *answers: Sequence[str]) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    async def __call__(self, name: str, _conversation: str = "") -> Sequence[str]:
        self.asked.append(name)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@pytest.mark.parametrize("address", REFUSED)
def test_what_is_not_on_the_internet_is_not_public(address: str) -> None:
    """Private, loopback, link-local, metadata, carrier's, multicast, reserved, and IPv6 that leads
    to other IPv4."""
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *(
            "1.1.1.1",
            PUBLIC,
            "172.15.255.255",
            "172.32.0.1",
            "223.255.255.255",
            "100.63.255.255",
            "100.128.0.1",
        ),
        *(
            "2606:4700:4700::1111",
            "2a00:1450:4001:80b::200e",
            "2001:4860:4860::8888",
            "64:ff9b::93.184.215.14",
        ),
    ],
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    """Up to the edges of what is refused, and public IPv4 as networks without IPv4 see it."""
    assert is_public(ip_address(address))


@given(address=st.ip_addresses())
def test_what_is_public_is_so_for_python_too(address: IPv4Address | IPv6Address) -> None:
    """Its list is not as strict, and is older in older versions, but nothing is open here that is
    closed there."""
    assert not is_public(address) or address.is_global


@pytest.mark.parametrize("host", NO_HOSTS)
async def test_what_is_no_public_host_is_refused_without_a_lookup(host: str) -> None:
    """Numbers in any form but the usual one, also of public addresses, and what is no name on the
    internet."""
    names = Names([PUBLIC])
    with pytest.raises(ToolError, match=f"^{NOT_PUBLIC}$"):
        await public_addresses(host, names)
    assert names.asked == []


@pytest.mark.parametrize(
    "answer",
    [[], ["10.0.0.1"], [PUBLIC, "127.0.0.1"], ["::1", PUBLIC], ["fe80::1%2"], ["::ffff:10.0.0.1"]],
)
async def test_a_name_with_any_other_address_is_refused(answer: list[str]) -> None:
    """A mixed answer is how names are rebound; the text does not tell whether a private name
    exists."""
    with pytest.raises(ToolError, match=f"^{NOT_PUBLIC}$"):
        await public_addresses("page.example", Names(answer))


async def test_a_public_name_is_looked_up_once() -> None:
    """In lower case, without the dot at its end; addresses keep their order."""
    names = Names([PUBLIC, "2606:4700::1", PUBLIC], ["127.0.0.1"])
    found = await public_addresses("Page_1.xn--wgv71a119e.Example.", names)
    assert list(map(str, found)) == [PUBLIC, "2606:4700::1"]
    assert names.asked == ["page_1.xn--wgv71a119e.example"]


@pytest.mark.parametrize("host", [PUBLIC, "2606:4700::1"])
async def test_a_public_address_needs_no_lookup(host: str) -> None:
    """It is its own answer."""
    names = Names([])
    assert list(map(str, await public_addresses(host, names))) == [host]
    assert names.asked == []


async def test_the_systems_own_lookup() -> None:
    """It finds this machine, and nothing for what is no name."""
    resolve = SystemResolver()
    assert set(await resolve("localhost", HERE)) <= {"127.0.0.1", "::1"}
    assert await resolve(f"{'a' * 64}.localhost", HERE) == []


async def test_lookups_that_do_not_end_are_bounded() -> None:
    """A hostile name server delays only those who asked for its names, and only until they give
    up."""
    answer = threading.Event()

    def stalled(*arguments: object, **options: object) -> list[object]:
        answer.wait(10)
        return []

    resolve = SystemResolver(most=1, look_up=stalled)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(resolve("slow.example", HERE), 0.05)
    with pytest.raises(ToolError, match=f"^{BUSY}$"):
        await resolve("other.example", THERE)
    answer.set()
    async with asyncio.timeout(5):
        while True:
            try:
                assert await resolve("other.example", THERE) == []
                break
            except ToolError:
                await asyncio.sleep(0.01)


async def test_one_conversation_holds_two_lookups_at_once() -> None:
    """Its further names wait for its own; the names of others are looked up beside them."""
    answer = threading.Event()
    asked: list[object] = []

    def look_up(name: object, *arguments: object, **options: object) -> list[object]:
        asked.append(name)
        if name != "quick.example":
            answer.wait(10)
        return []

    resolve = SystemResolver(look_up=look_up)
    slow = [
        asyncio.create_task(resolve(f"slow{number}.example", HERE)) for number in range(MAX_LOOKUPS)
    ]
    await asyncio.sleep(0)
    assert await resolve("quick.example", THERE) == []
    assert {"slow0.example", "slow1.example", "quick.example"} >= set(asked)
    answer.set()
    assert await asyncio.gather(*slow) == [[]] * MAX_LOOKUPS


async def test_a_lookup_that_goes_on_counts_after_its_caller_has_left() -> None:
    """Else a conversation would hold as many as it can begin one after the other."""
    answer = threading.Event()
    resolve = SystemResolver(look_up=lambda *arguments, **options: [answer.wait(10)][:0])
    for number in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(resolve(f"slow{number}.example", HERE), 0.05)
    third = asyncio.create_task(resolve("third.example", HERE))
    await asyncio.sleep(0)
    assert [thread.name for thread in threading.enumerate()].count("lookup") == 2
    answer.set()
    assert await third == []
