"""What strangers can do to a running process from outside: half a request, huge ones, and claims to
be this machine."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pexpect
import pytest

from tests.fakes import line_events
from tests.fakes.line import LineFake
from tests.ports import free_port
from tests.process.kaiwa_process import ENTRY, Installation, KaiwaProcess, kaiwa
from tests.process.webhooks import post_line
from tests.project import environment
from tests.waiting import until_true

HALVES = (
    b"POST /webhooks/line HTTP/1.1\r\nHost: x\r\nX-Line-Sig",
    b"POST /webhooks/line HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{}",
)
MIB = 1024 * 1024
FEW_DESCRIPTORS = (
    f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160)); {ENTRY}"
)


def port_of(running: KaiwaProcess) -> int:
    return urlsplit(running.base_url).port or 0


@asynccontextmanager
async def half_open(running: KaiwaProcess, count: int) -> AsyncIterator[list[socket.socket]]:
    """So many connections with half a head or half a body."""
    loop = asyncio.get_running_loop()
    sockets = []
    for number in range(count):
        sock = socket.socket()
        sock.setblocking(False)
        sockets.append(sock)
        await loop.sock_connect(sock, ("127.0.0.1", port_of(running)))
        with suppress(ConnectionError):
            await loop.sock_sendall(sock, HALVES[number % 2])
    try:
        yield sockets
    finally:
        for sock in sockets:
            sock.close()


async def test_signed_webhooks_get_in_where_descriptors_are_few(
    here: Installation, line: LineFake
) -> None:
    """Half requests give way at the limit, and the log says so in one line."""
    async with here.web(entry=FEW_DESCRIPTORS) as running:
        for _ in range(3):
            async with half_open(running, 300):
                assert [
                    await post_line(running, line, f"message {number}") for number in range(10)
                ] == [200] * 10
                assert await running.get("/readyz") == 200
    (reported,) = running.log("connections.at_limit")
    assert reported["limit"] == 80


def resident(running: KaiwaProcess) -> int:
    """Bytes of memory that are its own."""
    pages = Path(f"/proc/{running.process.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


HEADS = (
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ", b"x" * MIB, 150),  # a header of 150 MiB
    (b"GET /", b"x" * MIB, 20),  # an address of 20 MiB
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"A: b\r\n" * 10_000, 50),  # 500,000 headers
)


async def refuse_heads_without_end(running: KaiwaProcess) -> None:
    """After 64 KiB; nothing of the rest is kept."""
    before = resident(running)
    for beginning, piece, pieces in HEADS:
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(running))
        # What comes is read at once: a reset takes with it what nobody has read.
        reading = asyncio.create_task(reader.read(1000))
        with suppress(ConnectionError):
            writer.write(beginning)
            for _ in range(pieces):
                writer.write(piece)
                await writer.drain()
        reported = await reading
        assert reported.startswith(b"HTTP/1.1 431 ")
        assert resident(running) - before < 8 * MIB
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()
    assert await running.get("/healthz") == 200


def console_token(folder: Path) -> str:
    return (folder / "data" / "console_token").read_text().strip()


async def test_strangers_get_nothing_and_stop_nobody(here: Installation, line: LineFake) -> None:
    """The page's token is kept for its owner alone, and never logged; without it nobody gets in.
    Signed webhooks are taken beside a thousand half requests and heads without end."""
    async with here.web() as running:
        path = here.folder / "data" / "console_token"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        token = console_token(here.folder)
        assert len(token) >= 43
        await refuse_strangers(running.base_url)
        await let_in_who_has(token, running.base_url)
        await refuse_heads_without_end(running)
        async with half_open(running, 1000):
            statuses = [await post_line(running, line, f"message {n}") for n in range(10)]
            assert statuses == [200] * 10
            assert await running.get("/healthz") == 200
        assert running.log("connections.at_limit") == []
    assert f"The page asks for the token in {path}" in running.output
    assert token not in running.output


def test_on_a_terminal_the_address_to_sign_in_is_printed(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    """Nobody need look for a file: the address has the token, behind a # that no log will show."""
    child = pexpect.spawn(
        sys.executable,
        ["-c", ENTRY, "run", "--no-worker"],
        env=environment(PORT="0", KAIWA_DATA_DIR=str(tmp_path / "data"), **variables),
        cwd=tmp_path,
        encoding="utf-8",
        timeout=30,
    )
    try:
        child.expect(r"Sign in at http://127\.0\.0\.1:\d+/signin#(\S+)")
        assert str(child.after).endswith(f"#{console_token(tmp_path)}")
    finally:
        child.kill(
            signal.SIGTERM
        )  # pexpect would begin with SIGHUP, which ends it without its store
        child.expect(pexpect.EOF)
        child.close()


async def test_on_a_dyno_no_token_is_made(
    tmp_path: Path, variables: dict[str, str], valkey_url: str
) -> None:
    """Its disk is forgotten daily: the page is closed, and names the variable that opens it."""
    async with kaiwa(
        tmp_path, "run", "--no-worker", DYNO="web.1", REDIS_URL=valkey_url, **variables
    ) as running:
        async with httpx.AsyncClient(base_url=running.base_url) as http:
            for path in ("/", "/metrics"):
                reported = await http.get(path)
                assert (reported.status_code, "CONSOLE_TOKEN" in reported.text) == (403, True)
        assert "set CONSOLE_TOKEN to open them" in running.output
    assert not (tmp_path / "data" / "console_token").exists()


NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{behind}; {more} }}
  }}
}}
"""


@asynccontextmanager
async def in_front(kind: str, folder: Path, behind: int) -> AsyncIterator[str]:
    """A real proxy; its address."""
    program = "socat" if kind == "socat" else "nginx"
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        pytest.skip(f"{program} is not installed")
    port = free_port()
    more = {"nginx that passes the host on": "proxy_set_header Host $host;"}.get(kind, "")
    (folder / "nginx.conf").write_text(
        NGINX.format(folder=folder, port=port, behind=behind, more=more)
    )
    arguments = {
        "socat": [f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr", f"TCP:127.0.0.1:{behind}"],
        "nginx": ["-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")],
    }[program]
    process = await asyncio.create_subprocess_exec(found, *arguments)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:

            async def is_up() -> bool:
                with suppress(httpx.HTTPError):
                    return (await http.get("/healthz")).status_code == 200
                return False

            await until_true(is_up, 20)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


async def refuse_strangers(address: str) -> None:
    """Whatever host they ask for."""
    async with httpx.AsyncClient(base_url=address, headers={"Host": "localhost"}) as http:
        for path in ("/", "/metrics", "/console/info", "/console/conversation-1"):
            assert (await http.get(path)).status_code == 401
        posted = await http.post("/console/conversation-1/messages", json={"text": "write a file"})
        assert posted.status_code == 401
        body, headers = line_events.webhook()
        assert (await http.post("/webhooks/line", content=body, headers=headers)).status_code == 200


async def let_in_who_has(token: str, address: str) -> None:
    """By signing in, or with the token in a header."""
    async with httpx.AsyncClient(base_url=address, headers={"Host": "localhost"}) as http:
        assert (await http.post("/signin", data={"token": token})).status_code == 303
        assert (await http.get("/metrics")).status_code == 200
    bearer = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=address, headers=bearer) as http:
        assert "kaiwa_" in (await http.get("/metrics")).text


@pytest.mark.parametrize("kinds", [("nginx", "nginx that passes the host on"), ("socat",)])
async def test_a_stranger_behind_a_proxy_is_a_stranger(
    here: Installation, kinds: tuple[str, ...]
) -> None:
    """Whatever the proxy says or does not say; webhooks get through."""
    async with here.web() as running:
        for kind in kinds:
            async with in_front(kind, here.folder, port_of(running)) as address:
                await refuse_strangers(address)
                await let_in_who_has(console_token(here.folder), address)
