"""How long ``kaiwa run`` takes to be ready, and what it weighs then, with LINE, Slack and Gemini on.

    .venv/bin/python -m benchmarks.start

The bundled Valkey is included. Nothing is called outside this machine: the addresses of LINE, Slack and Gemini point to
a port of loopback where nobody listens.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.whole.tables import heading, table
from tests.project import ROOT

RUNS = 5
NOWHERE = "http://127.0.0.1:9"
PORT = "18765"
CHANNELS = {
    "GEMINI_API_KEY": "key",
    "GOOGLE_GEMINI_BASE_URL": NOWHERE,
    "LINE_CHANNEL_SECRET": "secret",
    "LINE_CHANNEL_ACCESS_TOKEN": "token",
    "LINE_API_BASE_URL": NOWHERE,
    "LINE_DATA_API_BASE_URL": NOWHERE,
    "SLACK_SIGNING_SECRET": "secret",
    "SLACK_BOT_TOKEN": "xoxb-token",
    "SLACK_API_BASE_URL": f"{NOWHERE}/api/",
}


def is_ready() -> bool:
    """Whether ``/readyz`` says so."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def measure(folder: str) -> tuple[float, float]:
    """Seconds to ready and megabytes of resident memory five seconds later."""
    started = time.monotonic()
    command = [sys.executable, "-c", "from bot.cli.main import main; main()", "run"]
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": str(ROOT),
        "PORT": PORT,
        "KAIWA_DATA_DIR": folder,
        **CHANNELS,
    }
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not is_ready():
            time.sleep(0.01)
        seconds = time.monotonic() - started
        time.sleep(5)  # what is loaded after the start counts too
        status = Path(f"/proc/{process.pid}/status").read_text()
        megabytes = next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))
        process.send_signal(signal.SIGTERM)
    return seconds, megabytes


def main() -> None:
    """Print the medians."""
    with TemporaryDirectory() as folder:
        runs = [measure(folder) for _ in range(RUNS)]
    seconds, megabytes = (statistics.median(values) for values in zip(*runs, strict=True))
    print(heading("Start", "python -m benchmarks.start"))
    print(
        table(
            ("", "measured", "target"),
            [["s until ready", f"{seconds:.2f}", "1.5"], ["MB idle", f"{megabytes:.0f}", "100"]],
        )
    )


if __name__ == "__main__":
    main()
