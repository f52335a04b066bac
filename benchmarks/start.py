"""How long ``kaiwa run`` takes to be ready, and what it weighs then, with LINE, Slack and Gemini
on.

    .venv/bin/python -m benchmarks.start

The bundled Valkey is included. Nothing is called outside this machine: the addresses of LINE, Slack
and Gemini point to a port of loopback where nobody listens. The last lines say which packages take
longest to import.
"""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.whole.tables import heading, table
from tests.project import ROOT

RUNS = 5
SHOWN = 12  # packages
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
IMPORTED = re.compile(
    r"import time:\s+(\d+) \|\s+\d+ \|\s*(\w+)"
)  # microseconds without what it imports itself


def is_ready() -> bool:
    """Whether ``/readyz`` says so."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def running(folder: Path, *options: str) -> Iterator[int]:
    """The id of a ``kaiwa run`` that is ready; what it says on stderr goes into a file."""
    command = [sys.executable, *options, "-c", "from bot.cli.main import main; main()", "run"]
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": str(ROOT),
        "PORT": PORT,
        "KAIWA_DATA_DIR": str(folder),
        **CHANNELS,
    }
    with (
        (folder / "stderr").open("wb") as errors,
        subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=errors
        ) as process,
    ):
        while not is_ready():
            time.sleep(0.01)
        yield process.pid
        process.send_signal(signal.SIGTERM)


def megabytes(pid: int) -> float:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(
        int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS")
    )


def cpu_s(pid: int) -> float:
    """The CPU seconds of a process so far."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def measure(folder: Path) -> tuple[float, float, float, float]:
    """Seconds to ready, CPU seconds until then, and megabytes of Kaiwa and of Valkey five seconds
    later."""
    started = time.monotonic()
    with running(folder) as pid:
        seconds, cpu = time.monotonic() - started, cpu_s(pid)
        time.sleep(5)  # what is loaded after the start counts too
        return seconds, cpu, megabytes(pid), megabytes(int((folder / "valkey.pid").read_text()))


def imports(folder: Path) -> Counter[str]:
    """Milliseconds of importing, by package."""
    with running(folder, "-X", "importtime"):
        pass
    spent: Counter[str] = Counter()
    for microseconds, package in IMPORTED.findall((folder / "stderr").read_text()):
        spent[package] += int(microseconds)
    return Counter({package: round(total / 1000) for package, total in spent.items()})


def main() -> None:
    """Print the medians, and the imports of one more run."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        runs = [measure(folder) for _ in range(RUNS)]
        spent = imports(folder)
    seconds, cpu, kaiwa, valkey = (
        f"{statistics.median(values):.3g}" for values in zip(*runs, strict=True)
    )
    rows = [
        ["s until ready", seconds, "1.5"],
        ["CPU s", cpu, ""],
        ["MB idle", kaiwa, "100"],
        ["MB of Valkey", valkey, ""],
    ]
    print(heading("Start", "python -m benchmarks.start"))
    print(table(("", "measured", "target"), rows))
    print(f"imports: {spent.total()} ms, measuring included")
    for package, milliseconds in spent.most_common(SHOWN):
        print(f"{milliseconds:6} {package}")


if __name__ == "__main__":
    main()
