"""``make chaos``: a storm over LINE and Slack, and what it has broken.

    .venv/bin/python -m tests.chaos --seed 7

Exit code 1, with the timeline of every conversation concerned, where something was lost, doubled,
reordered or left.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.chaos.plan import Plan
from tests.chaos.report import is_clean, report
from tests.chaos.storm import storm


def plan_from_arguments() -> Plan:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--conversations", type=int, default=Plan.conversations)
    parser.add_argument("--messages", type=int, default=Plan.messages)
    parser.add_argument("--seconds", type=float, default=Plan.seconds)
    parser.add_argument("--processes", type=int, default=Plan.processes)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    return Plan(**vars(parser.parse_args()))


def main() -> int:
    """Let the storm pass, and tell."""
    plan = plan_from_arguments()
    print(f"seed {plan.seed}", flush=True)
    with TemporaryDirectory(prefix="kaiwa-chaos-") as folder:
        evidence = asyncio.run(storm(plan, Path(folder)))
    print("\n".join(report(evidence)))
    return 0 if is_clean(evidence) else 1


if __name__ == "__main__":
    raise SystemExit(main())
