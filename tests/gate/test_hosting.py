"""The files for containers and servers agree with the project, and with the programs that read
them where those are here."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.ops.variable_names import own_variables
from bot.settings import Settings
from tests.project import ROOT, files

SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMPOSE: Any = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


def text(name: str) -> str:
    """A file of the project."""
    return (ROOT / name).read_text("utf-8")


def test_the_image_has_the_python_of_the_project_and_another_user_than_root() -> None:
    """Both stages have the same one, so that what is installed in one runs in the other."""
    lines = text("Dockerfile").splitlines()
    base = f"FROM python:{text('.python-version').strip()}-slim"
    assert [line for line in lines if line.startswith("FROM")] == [f"{base} AS build", base]
    last = lines[lines.index(base) :]
    (user,) = (line for line in last if line.startswith("USER"))
    assert re.fullmatch(r"USER [1-9]\d{3,}:[1-9]\d{3,}", user)
    assert any(line.startswith("HEALTHCHECK ") and "/healthz" in line for line in last)
    assert last[-1] == 'CMD ["kaiwa", "run"]'


def test_what_the_image_copies_is_there_and_nothing_else_is_sent() -> None:
    """No .env, no data and no history of git reach a builder."""
    copied = [
        source
        for line in text("Dockerfile").splitlines()
        if line.startswith("COPY ") and "--from=" not in line
        for source in line.split()[1:-1]
    ]
    assert [source for source in copied if not files(source)] == []
    ignored = [line for line in text(".dockerignore").splitlines() if line[0] != "#"]
    assert ignored == ["*", *[f"!{source}" for source in copied], "**/__pycache__"]


def test_compose_gives_kaiwa_its_redis_and_no_rights() -> None:
    """Settings that exist, a store that keeps what it is given, and a port of this machine only."""
    kaiwa, redis = COMPOSE["services"]["kaiwa"], COMPOSE["services"]["redis"]
    assert kaiwa["environment"].keys() <= own_variables()
    assert kaiwa["environment"]["REDIS_URL"] == "redis://redis:6379"
    assert (kaiwa["read_only"], kaiwa["cap_drop"]) == (True, ["ALL"])
    assert kaiwa["ports"] == [f"127.0.0.1:8000:{kaiwa['environment']['PORT']}"]
    for option in ("--appendonly yes", "--maxmemory-policy noeviction"):
        assert option in redis["command"]
    named = {volume.split(":")[0] for one in (kaiwa, redis) for volume in one["volumes"]}
    assert named == COMPOSE["volumes"].keys()


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """Every key, and that the folder of its program is that of its settings."""
    unit = text("deploy/kaiwa.service")
    folder, program = re.findall(r"^(?:WorkingDirectory|ExecStart)=(\S+)", unit, re.MULTILINE)
    assert program == f"{folder}/.venv/bin/kaiwa"
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / "kaiwa.service"
    copy.write_text(unit.replace(program, "/bin/sh").replace("User=kaiwa", "User=root"), "utf-8")
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_caddy_leads_to_the_port_of_kaiwa() -> None:
    """The one that Kaiwa listens on unless it is told another one."""
    assert f"reverse_proxy 127.0.0.1:{Settings.model_fields['port'].default}\n" in text(
        "deploy/Caddyfile"
    )
    if shutil.which("caddy") is None:
        pytest.skip("caddy is not installed")
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", "deploy/Caddyfile"]
    assert subprocess.run(command, cwd=ROOT).returncode == 0


def test_the_commands_about_hosting_are_shell() -> None:
    """Each block of the page is read by a shell, and names files that there are."""
    page = text("docs/hosting.md")
    for block in SHELL_BLOCK.findall(page):
        assert subprocess.run(["sh", "-n"], input=block, text=True).returncode == 0
    named = re.findall(r"/srv/kaiwa/app/(deploy/\S+)", page)
    assert [name for name in named if not (ROOT / name).is_file()] == []
    assert len(named) == 2
