"""``kaiwa run --processes``: one port, several processes, and what they must do together."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from redis.asyncio import Redis

from bot.tasks import run_beside
from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.slack import APP_TOKEN, SlackFake
from tests.process.kaiwa_process import Installation, KaiwaProcess, kaiwa, left_behind
from tests.process.test_connections import watched
from tests.process.test_sharing import number_in
from tests.process.webhooks import post_line_event
from tests.waiting import until, until_true

PEOPLE = 30


def members(running: KaiwaProcess) -> list[int]:
    """The ids of the processes that share the port."""
    found = []
    for children in Path(f"/proc/{running.process.pid}/task").glob("*/children"):
        found += [int(pid) for pid in children.read_text().split()]
    return sorted(found)


def listening_socket(port: int) -> str:
    """The name of the socket that listens there, as in /proc/PID/fd."""
    sockets = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines())
    (inode,) = (
        fields[9] for fields in sockets if fields[1].endswith(f":{port:04X}") and fields[3] == "0A"
    )
    return f"socket:[{inode}]"


def watches(pid: int, name: str) -> bool:
    """Whether the event loop of a process watches a socket."""
    try:
        watched = [path.read_text() for path in Path(f"/proc/{pid}/fdinfo").iterdir()]
        numbers = [
            path.name for path in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(path) == name
        ]
    except OSError:  # it has ended
        return False
    return any(
        re.search(rf"^tfd: +{number} ", text, re.M) for number in numbers for text in watched
    )


async def all_ready(running: KaiwaProcess, count: int) -> None:
    """Wait until so many processes accept connections."""
    name = listening_socket(int(running.base_url.rpartition(":")[2]))
    await until(lambda: sum(watches(pid, name) for pid in members(running)) == count)


@asynccontextmanager
async def one_listener(slack: SlackFake) -> AsyncIterator[Callable[[], bool]]:
    """Whether Slack has never had two connections while the context is open."""
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, slack.connected)
            await asyncio.sleep(0.002)

    async with run_beside(watch()):
        yield lambda: most == 1


async def live_words_cross_processes(running: KaiwaProcess) -> None:
    """Whichever process accepts the message and whichever the page is connected to."""
    for number in range(6):
        talk = f"conversation-{number}"
        async with (
            running.browser() as reader,
            reader.stream("GET", f"/console/{talk}/events") as events,
        ):
            assert events.status_code == 200
            await running.say(talk, f"number {number}")
            async with asyncio.timeout(10):
                async for event in events.aiter_lines():
                    if '"type":"answered"' in event:
                        break


async def turns_counted(running: KaiwaProcess) -> set[str]:
    """What the metrics of nine requests say, whichever member answers."""
    async with running.browser() as http:
        return {
            re.findall(r"^kaiwa_turns_total.*", (await http.get("/metrics")).text, re.M)[0]
            for _ in range(9)
        }


async def test_a_member_is_killed_under_load_and_nothing_is_lost(
    here: Installation,
    gemini: GeminiFake,
    line: LineFake,
    slack: SlackFake,
    redis_url: str,
) -> None:
    """Another takes its place, and one of them listens to Slack in its stead, never two at once;
    each message is answered once, the metrics are sums, and connections stay few."""
    gemini.always = number_in
    del here.variables["SLACK_SIGNING_SECRET"]
    here.variables |= {"SLACK_APP_TOKEN": APP_TOKEN, "REDIS_URL": redis_url}

    async def send(running: KaiwaProcess, number: int) -> None:
        user = f"U{number:032x}"
        event = line.text(f"number {number}", user, user)

        async def taken() -> bool:
            try:
                return await post_line_event(running, event) == 200
            except (
                httpx.TransportError
            ):  # the killed process had accepted the connection, perhaps the event too
                return False

        await until_true(taken)

    async with here.run("--processes", "3") as running, one_listener(slack) as never_two:
        await all_ready(running, 3)
        await until(lambda: (slack.opened, slack.connected) == (1, 1))
        await live_words_cross_processes(running)
        before = members(running)
        async with (
            Redis.from_url(redis_url, max_connections=1) as redis,
            watched(redis) as watch,
            asyncio.TaskGroup() as senders,
        ):
            for number in range(PEOPLE):
                senders.create_task(send(running, number))
            await until(lambda: gemini.streaming > 5)
            # The first one listens to Slack.
            os.kill(before[0], signal.SIGKILL)
        assert watch.most - 1 <= 18
        await until(lambda: len(line.texts) >= PEOPLE)
        await running.idle(10)
        await until(lambda: (slack.opened, slack.connected) == (2, 1))
        await all_ready(running, 3)
        assert never_two()
        assert len(set(members(running)) & set(before)) == 2
        assert [one["cause"] for one in running.log("process.replaced")] == ["signal 9"]
        assert running.log("turn.apologised") + running.log("turn.given_up") == []
        answered = len(running.log("turn.answered"))
        assert await turns_counted(running) == {
            f'kaiwa_turns_total{{outcome="answered"}} {answered}.0'
        }
        assert await running.stop() == 0
    assert sorted(line.texts) == sorted([f"It was {number}."] for number in range(PEOPLE))
    assert left_behind(here.folder) == []


async def test_a_wrong_setting_that_a_member_finds_is_reported_once(tmp_path: Path) -> None:
    """With the exit code of one process."""
    async with kaiwa(tmp_path, "run", "--processes", "2", MODEL="nobody:x") as running:
        assert await running.process.wait() == 2
    (complaint,) = [line for line in running.lines if line.startswith("kaiwa:")]
    assert complaint.startswith("kaiwa: MODEL: ")
    assert left_behind(tmp_path) == []
