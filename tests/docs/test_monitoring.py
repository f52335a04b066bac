"""docs/monitoring: whatever its dashboard and its rules name, a running Kaiwa shows."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.docs.promql import Expression, Malformed
from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL
from tests.fixtures_fakes import everything_on
from tests.process.kaiwa_process import KaiwaProcess, kaiwa
from tests.process.test_processes import members
from tests.process.webhooks import post_line, post_slack, press_feedback
from tests.project import ROOT
from tests.waiting import until, until_true

TS = "1795298220.000100"
FOLDER = ROOT / "docs" / "monitoring"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text("utf-8"))
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FOLDER / "rules.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
# What Prometheus itself adds.
SCRAPED = {"job", "instance"}
FIELD = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}")
VALUE = re.compile(r"\{\{ \$value(?: \| humanize(?:Percentage|Duration)?)? \}\}")


def targets() -> Iterator[tuple[str, str, str]]:
    """The title of each panel, an expression, and its legend."""
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "5m").replace("$job", "kaiwa")
            yield panel["title"], text, target["legendFormat"]


def expressions() -> dict[str, Expression]:
    """Every expression, by the panel or the alert."""
    found = {f"{title} {legend}": Expression(text) for title, text, legend in targets()}
    return found | {rule["alert"]: Expression(rule["expr"]) for rule in RULES}


def has_sent(line: LineFake, number: int) -> bool:
    """Whether LINE has got so many answers."""
    return len(line.sent) == number


async def shown_by(running: KaiwaProcess) -> dict[str, set[str]]:
    """The labels of each metric of a process."""
    async with running.browser() as http:
        exposition = (await http.get("/metrics")).text
    labels: dict[str, set[str]] = defaultdict(set)
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            labels[sample.name] |= sample.labels.keys()
        if not family.samples:
            labels[f"{family.name}_total"] |= set()
    return labels


@pytest.mark.process
async def test_every_name_and_label_is_that_of_a_running_process(
    tmp_path: Path, gemini: GeminiFake, line: LineFake, slack: SlackFake
) -> None:
    """After a tool call, a failure, a message beyond a limit, and a rating."""
    variables = everything_on(line, slack, gemini) | {"DAILY_USER_MESSAGES": "2"}
    async with kaiwa(tmp_path, "run", **variables) as running:
        gemini.call("calculate", {"expression": "6*7"})
        gemini.say("42")
        assert await post_line(running, line, "what is 6*7?") == 200
        await until(lambda: len(line.sent) == 1)
        gemini.fail(401)
        for number in (2, 3):
            assert await post_line(running, line, "and 6*8?") == 200
            await until(partial(has_sent, line, number))
        gemini.say("Hello")
        slack.add_user()
        assert await post_slack(running, slack, "hello", TS) == 200
        await until(lambda: slack.shown == ["Hello"])
        assert await press_feedback(running, slack, CHANNEL, "positive") == 200

        async def is_rated() -> bool:
            return bool((await shown_by(running))["kaiwa_feedback_total"])

        await until_true(is_rated)
        shown = await shown_by(running)
    shown["up"] = set()
    for title, expression in expressions().items():
        for metric, labels in expression.labels.items():
            assert metric in shown, title
            assert labels <= shown[metric] | SCRAPED, title


@pytest.mark.process
async def test_of_several_processes_each_has_its_memory_and_its_files(tmp_path: Path) -> None:
    """Whichever answers; what is of Kaiwa as a whole is shown once."""
    async with kaiwa(tmp_path, "run", "--processes=2") as running, running.browser() as http:

        async def pids() -> set[str]:
            text = (await http.get("/metrics")).text
            return set(re.findall(r'^process_resident_memory_bytes\{pid="(\d+)"\} \d', text, re.M))

        async def all_shown() -> bool:
            return len(await pids()) == 2

        await until_true(all_shown)
        assert await pids() == {str(pid) for pid in members(running)}
        text = (await http.get("/metrics")).text
        assert len(re.findall(r"^kaiwa_build_info\{", text, re.M)) == 1
        assert len(re.findall(r"^# HELP process_cpu_seconds_total ", text, re.M)) == 1


def test_legends_and_sentences_have_the_labels_that_they_show() -> None:
    """Else they would show nothing in their place."""
    for title, text, legend in targets():
        assert set(FIELD.findall(legend)) <= grouped_by(text), title
    for rule in RULES:
        assert rule["labels"].keys() == {"severity"}
        assert rule["annotations"].keys() == {"summary", "run"}
        sentence = VALUE.sub("", rule["annotations"]["summary"])
        known = grouped_by(rule["expr"]) or SCRAPED
        assert set(FIELD.findall(sentence)) <= known, rule["alert"]
        assert "{{" not in FIELD.sub("", sentence)


def grouped_by(expression: str) -> set[str]:
    """The labels that are left of an expression's series."""
    return {
        label.strip()
        for group in re.findall(r"\bby \(([^)]*)\)", expression)
        for label in group.split(",")
    }


def test_panels_have_ids_and_places_of_their_own() -> None:
    """Grafana would draw one over the other."""
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set[tuple[int, int]]()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (place["x"] + column, place["y"] + row)
            for column in range(place["w"])
            for row in range(place["h"])
        }
        assert max(column for column, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sum(",
        "sum by job (up)",
        "rate(kaiwa_turns_total)",
        "kaiwa_turns_total[5m]",
        'up{job="kaiwa"',
        "up{job=kaiwa}",
        "rat(up[5m])",
        "up > > 1",
        "up 1",
        "up $x",
    ],
)
def test_what_is_no_expression_is_found(text: str) -> None:
    """So that a slip in the files is found here, and not by Prometheus."""
    with pytest.raises(Malformed):
        Expression(text)
