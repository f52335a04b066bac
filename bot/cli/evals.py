"""``kaiwa eval``: asks a model the questions of ``evals/`` and prints what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from bot import app, log, settings
from bot.agent.loop import Agent
from bot.evals import report
from bot.evals.canned import canned_tools
from bot.evals.questions import Question, choose, load_questions, load_results
from bot.evals.results import keep_run, read_runs
from bot.evals.runner import Attempt, Limits, run_questions
from bot.ops.usage import load_prices
from bot.providers.registry import check_models, model_secrets, open_models
from bot.settings import Settings
from bot.store.private import private_folder
from bot.telemetry import Metrics
from bot.terminal.reports import print_table
from toolset.tool_map import FIND_TOOLS, ToolMap

FILE = "evals.json"
EVERY = 25  # attempts between two lines of progress


def evaluate(model: str, limits: Limits, only: Sequence[str], results: Path | None, *, by_search: bool) -> int:
    """Ask the questions and print the table; exit code 1 if there was not a single answer.

    Args:
        model: ``provider:model``; empty for the configured one.
        only: words that choose questions; then nothing is kept.
        results: the file of earlier runs; by default in KAIWA_DATA_DIR.
        by_search: the model finds the tools by ``find_tools``; such runs are compared with each other.

    Raises:
        SettingsError: the model cannot be asked.
        BadInput: no such questions, or the file of earlier runs cannot be used.
    """
    config = _config(model)
    questions = choose(load_questions(), only)
    path = results or private_folder(config.kaiwa_data_dir) / FILE
    name = f"{config.chosen_model} with {FIND_TOOLS}" if by_search else config.chosen_model
    before = read_runs(path).runs.get(name)
    tools = canned_tools(questions, load_results(), by_search=by_search)
    attempts = uvloop.run(_run(config, tools, questions, limits))
    prices = load_prices()
    at = datetime.now(UTC).isoformat(timespec="seconds")
    run = report.count(name, at, questions, attempts, prices)
    if not only:
        keep_run(path, run)
    _print(run, questions, attempts)
    if before:
        print_table(("", "question", "right", "why"), report.change_rows(report.changes(before, run)))
        print(report.summary(before, run), file=sys.stderr)
    money = f"prices of {prices.as_of} ({prices.source})"
    print(f"{name}: {len(attempts)} answers, {money}; {path}", file=sys.stderr)
    return 1 if all(attempt.error for attempt in attempts) else 0


def _config(model: str) -> Settings:
    """The settings with this model alone, after configuring the log."""
    config = settings.load()
    config = config.model_copy(update={"fallback_models": (), **({"model": model} if model else {})})
    check_models(config)
    log.configure("CRITICAL", [*config.secrets, *model_secrets(config)])
    return config


async def _run(config: Settings, tools: ToolMap, questions: Sequence[Question], limits: Limits) -> list[Attempt]:
    metrics = Metrics()
    async with open_models(config, metrics) as provider:
        agent = Agent(provider, tools, app.persona(config), metrics, config.max_tool_turns)
        return await run_questions(agent, questions, limits, _progress(len(questions) * limits.repeat))


def _progress(total: int) -> Callable[[Attempt], None]:
    made = 0

    def done(_attempt: Attempt) -> None:
        nonlocal made
        made += 1
        if made % EVERY == 0 or made == total:
            print(f"{made} of {total}", file=sys.stderr, flush=True)

    return done


def _print(run: report.Run, questions: Sequence[Question], attempts: Sequence[Attempt]) -> None:
    print_table(report.HEAD, report.rows(questions, attempts, load_prices()), elastic=0)
    print(flush=True)
    if wrong := list(report.wrong_rows(run)):
        print_table(("not always right", "right", "at first"), wrong)
        print(flush=True)
