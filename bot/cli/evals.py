"""``kaiwa eval``: asks a model the questions of ``evals/`` and prints what came of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from bot import log, settings
from bot.agent.loop import Agent
from bot.evals import report
from bot.evals.canned import canned_tools
from bot.evals.questions import Question, choose, load_questions, load_results
from bot.evals.results import Head, keep_run, keeping, read_runs, read_unfinished, setup_of
from bot.evals.runner import Attempt, Limits, run_questions
from bot.prices import load_prices
from bot.prompts import persona
from bot.providers.registry import check_models, model_secrets, open_models
from bot.reports import print_table
from bot.settings import Settings
from bot.store.private import private_folder
from bot.telemetry import Metrics
from toolset.tool_map import FIND_TOOLS, ToolMap

FILE = "evals.json"
# Two lines of progress have so many attempts between them.
EVERY = 25
# The name of a file cannot hold these characters.
UNSAFE = re.compile(r"[^\w.-]")


def evaluate(
    model: str, limits: Limits, only: Sequence[str], results: Path | None, *, by_search: bool
) -> int:
    """Ask the questions and print the table.

    Args:
        model: ``provider:model``; empty for the configured one.
        only: words that choose questions; then nothing is kept.
        results: the file of earlier runs; by default in KAIWA_DATA_DIR.
        by_search: the model finds the tools by ``find_tools``; such runs are compared with each
            other.

    Returns:
        The exit code: 1 if there was not a single answer, 130 after Ctrl-C.

    Raises:
        SettingsError: the model cannot be asked.
        BadInput: no such questions, or the file of earlier runs cannot be used.
    """
    config = _config(model)
    questions = choose(load_questions(), only)
    path = results or private_folder(config.kaiwa_data_dir) / FILE
    name = config.chosen_model
    if by_search:
        name = f"{name} with {FIND_TOOLS}"
    before = read_runs(path).runs.get(name)
    tools = canned_tools(questions, load_results(), by_search=by_search)
    unfinished = None
    if not only:
        unfinished = path.with_name(f"{path.name}.{UNSAFE.sub('_', name)}.unfinished")
    ask = _run(config, tools, questions, limits, name=name, unfinished=unfinished)
    try:
        attempts = uvloop.run(ask)
    except KeyboardInterrupt:
        interrupted = "interrupted"
        if unfinished:
            interrupted += f"; the same command goes on with the answers in {unfinished}"
        print(interrupted, file=sys.stderr)
        return 130
    prices = load_prices()
    run = report.count(name, _now(), questions, attempts, prices)
    if unfinished:
        keep_run(path, run)
        unfinished.unlink(missing_ok=True)
    _print(run, questions, attempts)
    if before:
        _print_changes(before, run)
    money = f"prices of {prices.as_of} ({prices.source})"
    print(f"{name}: {len(attempts)} answers, {money}; {path}", file=sys.stderr)
    return 1 if all(attempt.error for attempt in attempts) else 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _config(model: str) -> Settings:
    """The settings with this model alone, after configuring the log."""
    config = settings.load()
    config = config.model_copy(update={"fallback_models": (), "model": model or config.model})
    check_models(config)
    log.configure("CRITICAL", [*config.secrets, *model_secrets(config)])
    return config


async def _run(
    config: Settings,
    tools: ToolMap,
    questions: Sequence[Question],
    limits: Limits,
    *,
    name: str,
    unfinished: Path | None,
) -> list[Attempt]:
    """All attempts, with those of an interrupted run.

    Args:
        unfinished: the file of such a run; None: nothing is kept.
    """
    metrics, total = Metrics(), len(questions) * limits.repeat
    async with open_models(config, metrics) as provider:
        agent = Agent(provider, tools, persona(config), metrics, config.max_tool_turns)
        if unfinished is None:
            return await run_questions(agent, questions, limits, _progress(total))
        head = Head(setup_of(name, agent), _now())
        run = read_unfinished(unfinished, head, questions, limits.repeat)
        if run.answers:
            answers = f"{len(run.answers)} answers of the run that began at {run.head.at}"
            print(f"going on with {answers}; delete {unfinished} to begin anew", file=sys.stderr)
        with keeping(run, questions) as keep:
            return await run_questions(
                agent, questions, limits, _progress(total, len(run.answers), keep), run.answers
            )


def _progress(
    total: int, made: int = 0, keep: Callable[[Attempt], None] = lambda _attempt: None
) -> Callable[[Attempt], None]:
    """Counts attempts, and keeps each."""
    count = made

    def note(attempt: Attempt) -> None:
        nonlocal count
        keep(attempt)
        count += 1
        if count % EVERY == 0 or count == total:
            print(f"{count} of {total}", file=sys.stderr, flush=True)

    return note


def _print(run: report.Run, questions: Sequence[Question], attempts: Sequence[Attempt]) -> None:
    print_table(report.HEAD, report.rows(questions, attempts, load_prices()), elastic=0)
    print(flush=True)
    if wrong := list(report.wrong_rows(run)):
        print_table(("not always right", "right", "at first"), wrong)
        print(flush=True)


def _print_changes(before: report.Run, run: report.Run) -> None:
    if changes := report.changes(before, run):
        print_table(("", "question", "right", "why"), report.change_rows(changes))
    print(report.summary(before, run), file=sys.stderr)
