"""The Dockerfile: an image is built and run where a builder is, else its steps are carried out in
folders that stand for the image's."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.process.kaiwa_process import KaiwaProcess, left_behind
from tests.project import ROOT, files, name_of
from tests.waiting import until_true

MB = 1_000_000
MOST_BYTES = 160 * MB  # of the image, compressed
BASE_BYTES = 45 * MB  # of python:3.13-slim, which a replay does not have
TOKEN = "a-token-of-their-own"
BUILT = "kaiwa-of-a-test"
USER = "10001:10001"
FOLDERS = ("app", "data", "src")  # what the Dockerfile makes at the root
# what the image with Python sets, so that it is found under another path here
BASE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": "/usr/local/lib"}
TMP = "/tmp"  # noqa: S108 -- of the container
HOSTS = ("PIP_", "SSL_", "http_", "https_", "HTTP_", "HTTPS_", "no_", "NO_")  # how pip gets out


def builder() -> str:
    """Docker or Podman, if it works here."""
    for name in ("docker", "podman"):
        if (
            shutil.which(name)
            and subprocess.run([name, "info"], capture_output=True).returncode == 0
        ):
            return name
    return ""


@dataclass
class Stage:
    """What a stage of the Dockerfile has become.

    Attributes:
        root: has the folders of the stage that are no part of a system.
    """

    root: Path
    env: dict[str, str]
    folder: str = "/"
    user: str = "0:0"
    command: list[str] = field(default_factory=list)
    health: str = ""

    def inside(self, *command: str, writable: bool) -> list[str]:
        """The command, in this machine's system with the stage's folders; only /data and /tmp can
        be written unless all can."""
        words = ["bwrap", "--die-with-parent"]
        for path in sorted(Path("/").iterdir()):
            if path.is_symlink():
                words += ["--symlink", os.readlink(path), str(path)]
            elif path.is_dir() and path.name not in (*FOLDERS, "dev", "proc", "tmp"):
                words += ["--ro-bind", str(path), str(path)]
        words += ["--ro-bind", sys.base_prefix, "/usr/local"]  # where the image has its Python
        words += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", TMP, "--chmod", "1777", TMP]
        for name in FOLDERS:
            how = "--bind" if writable or name == "data" else "--ro-bind"
            words += [how, str(self.root / name), f"/{name}"]
        words += ["--chdir", self.folder, "--clearenv"]
        for name, value in self.env.items():
            words += ["--setenv", name, value]
        user, group = self.user.split(":")
        return [
            *words,
            "setpriv",
            f"--reuid={user}",
            f"--regid={group}",
            "--clear-groups",
            *command,
        ]


def instructions() -> Iterator[tuple[str, str]]:
    """The Dockerfile's, a line each."""
    for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            yield name, rest


def replay(folder: Path) -> Stage:
    """Carry out the Dockerfile; the last stage."""
    stages: dict[str, Stage] = {}
    outside = {name: value for name, value in os.environ.items() if name.startswith(HOSTS)}
    stage = Stage(folder, {})
    for name, rest in instructions():
        words = shlex.split(rest)
        match name:
            case "FROM":
                stage = Stage(folder / str(len(stages)), dict(BASE))
                for own in FOLDERS:
                    (stage.root / own).mkdir(parents=True)
                stages[words[-1]] = stage
            case "WORKDIR":
                stage.folder = rest
            case "ENV":
                stage.env |= dict(word.split("=", 1) for word in words)
            case "COPY":
                copy(stage, stages, words)
            case "RUN":
                step = replace(stage, env=stage.env | outside)
                run_step(step.inside("sh", "-c", rest, writable=True))
            case "USER":
                stage.user = rest
            case "HEALTHCHECK":
                stage.health = rest.partition(" CMD ")[2]
            case "CMD":
                stage.command = json.loads(rest)
            case _:
                assert name in ("VOLUME", "EXPOSE"), f"{name} is not carried out here"
    return stage


def copy(stage: Stage, stages: dict[str, Stage], words: list[str]) -> None:
    """COPY: from another stage, or what git has of the context."""
    options = {word for word in words if word.startswith("--")}
    *sources, target = (word for word in words if word not in options)
    place = stage.root / stage.folder.strip("/") / target
    origin = next((word.partition("=")[2] for word in options if word.startswith("--from=")), "")
    if origin:
        whole = stages[origin].root / sources[0].strip("/")
        run_step(["cp", "-a", "-T", str(whole), str(stage.root / target.strip("/"))])
        return
    for source in sources:
        for path in files(source):
            inner = path.relative_to(ROOT / source) if (ROOT / source).is_dir() else name_of(path)
            (place / inner).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place / inner)


def run_step(command: list[str]) -> None:
    """Run a command that must work."""
    subprocess.run(command, check=True)


def packed_bytes(command: str) -> int:
    """How large the output of a command is when it is compressed."""
    return int(subprocess.check_output(["sh", "-c", f"{command} | gzip | wc -c"]))


def inner(pid: int) -> int:
    """What bubblewrap runs: it passes no signal on, and Docker does."""
    process = Path(f"/proc/{pid}")
    if (process / "comm").read_text().strip() != "bwrap":
        return pid
    return inner(int((process / f"task/{pid}/children").read_text().split()[0]))


async def talks(tmp_path: Path, command: list[str], port: int, health: list[str]) -> None:
    """What runs there is healthy, lets in who has the token, answers, and ends when it is told
    to."""
    token = tmp_path / "token"
    token.write_text(TOKEN)
    process = await asyncio.create_subprocess_exec(*command)
    running = KaiwaProcess(process, token, base_url=f"http://127.0.0.1:{port}")

    async def is_healthy() -> bool:
        check = await asyncio.create_subprocess_exec(*health)
        return await check.wait() == 0

    try:
        await until_true(is_healthy, 60)
        await running.say("conversation-1", "What is 1 + 2?")
        assert "3" in (await running.answers("conversation-1", 1))[0]
        os.kill(inner(process.pid), signal.SIGTERM)
        async with asyncio.timeout(28):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.skipif(not builder(), reason="no builder of images works here")
async def test_the_image_is_built_and_runs(tmp_path: Path) -> None:
    """Not as root, on a read-only file system, and it is no larger than it may be."""
    tool, port = builder(), free_port()
    run_step([tool, "build", "--tag", BUILT, str(ROOT)])
    assert packed_bytes(f"{tool} save {BUILT}") <= MOST_BYTES
    run = [tool, "run", "--rm", "--name", BUILT, "--read-only", "--tmpfs", TMP]
    run += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    run += ["--env", f"CONSOLE_TOKEN={TOKEN}", "--publish", f"127.0.0.1:{port}:8000", BUILT]
    healthy = f"[ $({tool} inspect --format '{{{{.State.Health.Status}}}}' {BUILT}) = healthy ]"
    await talks(tmp_path, run, port, ["sh", "-c", healthy])


@pytest.mark.skipif(bool(builder()), reason="a builder of images works here")
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("bwrap"), reason="not root, or no bwrap")
async def test_its_steps_are_carried_out_in_folders(tmp_path: Path) -> None:
    """What they have made runs as the image's user, where nothing but /data and /tmp can be
    written."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    port = free_port()
    stage = replay(tmp_path)
    assert packed_bytes(f"tar c -C {stage.root} .") <= MOST_BYTES - BASE_BYTES
    assert stage.user == USER
    stage.env |= {"PORT": str(port), "CONSOLE_TOKEN": TOKEN}
    run = stage.inside(*stage.command, writable=False)
    health = stage.inside("sh", "-c", stage.health, writable=False)
    await talks(tmp_path, run, port, health)
    assert left_behind(stage.root) == []
