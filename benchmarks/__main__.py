"""Every benchmark of whole processes, one after the other; the tables are ready for
docs/performance.md.

    .venv/bin/python -m benchmarks [cost growth scale flood ack start path tokens traces]

Each is a process of its own, `python -m benchmarks.NAME`, and may also be run alone.
"""

from __future__ import annotations

import subprocess
import sys

NAMES = ("cost", "growth", "scale", "flood", "ack", "start", "path", "tokens", "traces")


def main(names: list[str]) -> None:
    """Run them; one that fails ends the run."""
    for name in names or NAMES:
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
