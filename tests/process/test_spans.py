"""``kaiwa run`` with a collector of OpenTelemetry: what it is sent of turns, and what it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.add_api import write_api
from tests.fakes import line_events
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.gemini_answers import Answer, said
from tests.fakes.line import LineFake
from tests.fakes.otlp import OtlpFake, TakenSpan, otlp_fake
from tests.fakes.pets import KEY as PETS_KEY
from tests.fakes.pets import PetsFake
from tests.fakes.wttr import WttrFake
from tests.ports import free_port
from tests.process.kaiwa_process import Installation, KaiwaProcess, kaiwa
from tests.toolset.mcp.servers import TEXT, Hostile, listed
from tests.waiting import until

TALK = "conversation-1"
WORDS = "zebrafinch-confession"
AGENT, DELIVERY = "invoke_agent Kaiwa", "deliver console"
INCOMING = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
DETAILS = "gen_ai.client.inference.operation.details"


@pytest.fixture
def collector() -> Iterator[OtlpFake]:
    with otlp_fake() as fake:
        yield fake


@pytest.fixture
def variables(variables: dict[str, str], collector: OtlpFake, wttr: WttrFake) -> dict[str, str]:
    """Everything on, with a collector, which is sent what there is five times a second."""
    return variables | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.base_url,
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "OTEL_BLRP_SCHEDULE_DELAY": "200",
        "WTTR_BASE_URL": wttr.base_url,
        "WEATHER_TIMEOUT_S": "25",
        "MODEL": "gemini:gemini-3.5-flash",
        "FALLBACK_MODELS": "gemini:gemini-2.5-flash",
    }


def one(spans: list[TakenSpan]) -> TakenSpan:
    (span,) = spans
    return span


async def test_a_turn_is_a_tree_of_the_conventions(
    here: Installation, gemini: GeminiFake, collector: OtlpFake
) -> None:
    """A request that is tried again, one for which another model is asked, a call and a delivery;
    nothing of it has words, a key or an id of a conversation."""
    gemini.fail(503, "busy")
    gemini.call("calculate", {"expression": f"6 * 7 + 0 * len('{WORDS}')"})
    gemini.fail(400, f"refused for {WORDS}")
    gemini.fail(400, f"refused for {WORDS}")
    gemini.say(f"It is 42, {WORDS}.")
    named = {
        "OTEL_SERVICE_NAME": "bot-1",
        "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20k3y-of-mine",
    }
    async with here.run(**named) as running:
        await running.say(TALK, f"How much is 6 * 7, {WORDS}?")
        await running.answers(TALK, 1)
        await until(lambda: bool(collector.named(DELIVERY) and collector.named(AGENT)))
        assert "k3y-of-mine" not in running.output
        (answered,) = running.log("turn.answered")
    agent = one(collector.named(AGENT))
    told = agent.attributes
    assert agent.parent == ""
    assert answered["turn"] == f"turn_{agent.trace}" == told["kaiwa.turn.id"]
    assert {span.trace for span in collector.spans} == {agent.trace}
    assert (told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == (
        "invoke_agent",
        "gcp.gemini",
    )
    assert told["kaiwa.turn.outcome"] == "answered"
    (retried, _), *_, (moved_on, fallback) = agent.events
    assert (retried, moved_on) == ("kaiwa.model.retry", "kaiwa.model.fallback")
    assert fallback["kaiwa.next_model"] == "gemini-2.5-flash"
    failed, first, *_, last = [span for span in collector.spans if span.name.startswith("chat ")]
    assert (failed.is_error, first.is_error, last.is_error) == (True, False, False)
    assert (first.name, last.name) == ("chat gemini-3.5-flash", "chat gemini-2.5-flash")
    assert first.attributes["gen_ai.response.finish_reasons"] == ["tool_call"]
    assert last.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert last.kind == "CLIENT"
    usage = "gen_ai.usage."
    sums = {
        kind: first.attributes[usage + kind] + last.attributes[usage + kind]
        for kind in ("input_tokens", "output_tokens", "cache_read.input_tokens")
    }
    assert sums["input_tokens"] > 0
    assert sums == {kind: told[usage + kind] for kind in sums}
    tool = one(collector.named("execute_tool calculate"))
    assert (tool.kind, tool.attributes["kaiwa.tool.outcome"]) == ("INTERNAL", "error")
    delivery = one(collector.named(DELIVERY))
    assert delivery.attributes["kaiwa.delivery.outcome"] == "delivered"
    assert {span.parent for span in collector.spans if span is not agent} == {agent.id}
    assert collector.resources[0]["service.name"] == "bot-1"
    assert collector.headers[0]["authorization"] == "Bearer k3y-of-mine"
    for hidden in (WORDS, TALK, KEY, line_events.TOKEN):
        assert hidden.encode() not in collector.raw
    assert collector.logs == []


async def test_a_turn_that_fails_says_so(
    here: Installation, gemini: GeminiFake, collector: OtlpFake
) -> None:
    """The apology is an answer to people; to the operator the turn has failed, and why."""
    gemini.always = lambda _: Answer(body=b"{}", status=403)
    async with here.run() as running:
        await running.say(TALK, "Hello?")
        await until(lambda: bool(collector.named(AGENT) and collector.named(DELIVERY)))
        assert running.log("turn.failed")
    agent = one(collector.named(AGENT))
    assert agent.is_error
    assert agent.attributes["kaiwa.turn.outcome"] == "failed"
    assert agent.events[-1][0] == "kaiwa.model.gave_up"
    assert agent.attributes["error.type"] == agent.events[-1][1]["error.type"]


async def test_who_goes_on_after_a_kill_links_what_came_before(
    here: Installation, gemini: GeminiFake, wttr: WttrFake, collector: OtlpFake
) -> None:
    """The share of each process is a tree of its own in the turn's trace."""
    async with here.run() as killed:
        wttr.fail("stalled")
        gemini.calls(("calculate", {"expression": "6 * 7"}), ("get_weather", {"location": "Tokyo"}))
        await killed.say(TALK, "How much is 6 * 7, and how is the weather?")
        await until(lambda: bool(wttr.requests and collector.named("execute_tool calculate")))
        await killed.kill()
    wttr.recover()
    gemini.always = lambda asked: said(f"after {len(asked['contents'])} messages")
    async with here.run() as running:
        assert await running.answers(TALK, 1) == ["after 3 messages"]
        await until(lambda: bool(collector.named(AGENT) and collector.named(DELIVERY)))
    calculated = one(collector.named("execute_tool calculate"))
    agent = one(collector.named(AGENT))  # a killed process says nothing more
    assert agent.parent == ""
    assert agent.links == [(calculated.trace, calculated.parent)]
    assert agent.trace == calculated.trace
    assert one(collector.named("execute_tool get_weather")).parent == agent.id
    assert one(collector.named(DELIVERY)).parent == agent.id


@pytest.mark.parametrize(
    ("mode", "in_spans", "in_events"),
    [
        ("NO_CONTENT", False, False),
        ("SPAN_ONLY", True, False),
        ("event_only", False, True),
        ("SPAN_AND_EVENT", True, True),
        ("true", True, True),
    ],
)
async def test_words_go_where_they_are_wanted(
    here: Installation,
    gemini: GeminiFake,
    collector: OtlpFake,
    mode: str,
    *,
    in_spans: bool,
    in_events: bool,
) -> None:
    """By the four values of the conventions' variable, and by the older one; keys never."""
    gemini.call("calculate", {"expression": "6 * 7"})
    gemini.say(f"It is 42, {WORDS}. Your key is {KEY}.")
    async with here.run(**{CONTENT: mode}) as running:
        await running.say(TALK, f"How much is 6 * 7, {WORDS}?")
        await running.answers(TALK, 1)
        await until(lambda: bool(collector.named(AGENT) and collector.named(DELIVERY)))
        await until(lambda: len(collector.logs) == 2 * in_events)
    last = collector.named("chat gemini-3.5-flash")[-1]
    asked, answered = "gen_ai.input.messages", "gen_ai.output.messages"
    assert (asked in last.attributes) is in_spans
    if in_spans:
        assert WORDS in last.words(asked)[0]["parts"][-1]["content"]
        assert [part["type"] for part in last.words(asked)[-1]["parts"]] == ["tool_call_response"]
        (said_last,) = last.words(answered)
        assert (said_last["role"], said_last["finish_reason"]) == ("assistant", "stop")
        tool = one(collector.named("execute_tool calculate"))
        assert tool.words("gen_ai.tool.call.arguments") == {"expression": "6 * 7"}
        assert WORDS in one(collector.named(AGENT)).attributes[answered]
    if in_events:
        name, told, span_id = collector.logs[-1]
        assert (name, span_id) == (DETAILS, last.id)
        assert WORDS in told[asked]
        assert WORDS in json.loads(told[answered])[0]["parts"][0]["content"]
    assert (WORDS.encode() in collector.raw) is (in_spans or in_events)
    assert KEY.encode() not in collector.raw


async def told(running: KaiwaProcess, line: LineFake, text: str, traceparent: str) -> int:
    """A message from LINE, through a proxy that traces requests."""
    body, headers = line_events.webhook(line.text(text, line_events.USER, line_events.USER))
    return await running.post("/webhooks/line", body, headers | {"traceparent": traceparent})


async def test_the_trace_of_a_webhook_is_linked_and_goes_to_no_vendor(
    here: Installation, gemini: GeminiFake, line: LineFake, wttr: WttrFake, collector: OtlpFake
) -> None:
    """What a proxy says of its own trace is no parent of the turn; a damaged one is nothing."""
    gemini.call("get_weather", {"location": "Tokyo"})
    gemini.say("Sunny")
    gemini.say("Hello")
    async with here.run() as running:
        body, headers = line_events.webhook(
            line.text("Weather?", line_events.USER, line_events.USER)
        )
        assert (
            await running.post("/webhooks/line", body, headers | {"traceparent": INCOMING}) == 200
        )
        await until(lambda: bool(line.texts and collector.named(AGENT)))
        assert await told(running, line, "Hello", f"{INCOMING}-{WORDS}") == 200
        await until(lambda: len(collector.named(AGENT)) == 2)
    first, second = collector.named(AGENT)
    _, trace, span, _ = INCOMING.split("-")
    assert (first.parent, first.links, second.links) == ("", [(trace, span)], [])
    assert first.trace != trace
    sent = [request.headers for request in gemini.requests]
    sent += [request.headers for request in line.requests]
    assert not [one for one in sent if "traceparent" in {name.lower() for name in one}]
    assert WORDS.encode() not in collector.raw


async def test_a_turn_that_waits_for_a_person_goes_on_in_its_tree(
    here: Installation, gemini: GeminiFake, tmp_path: Path, collector: OtlpFake
) -> None:
    """The time between question and decision is in no span."""
    launched = {"launch": TEXT}
    acts = listed("launch", annotations={})
    server = Hostile(tmp_path / "works.json").says(tools=[acts], answers=launched)
    works = {"command": server.command, "args": [*server.args]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"works": works}}), "utf-8")
    gemini.call("works_launch", {})
    gemini.say("It is launched")
    named = {"MCP_SERVERS": str(tmp_path / "mcp.json"), "MCP_TRUST": "works"}
    async with here.run(**named) as running, running.browser() as http:
        await until(lambda: bool(running.log("mcp.connected")))
        await running.say(TALK, "Launch it")
        await until(lambda: bool(collector.named(AGENT) and collector.named(DELIVERY)))
        (question,) = (await http.get(f"/console/{TALK}")).json()["cards"]
        yes = {"action": question["buttons"][0]["action"], "value": question["key"]}
        assert (await http.post(f"/console/{TALK}/actions", json=yes)).status_code == 202
        await running.answers(TALK, 1)
        await until(lambda: len(collector.named(AGENT)) == 2)
    parked, answered = collector.named(AGENT)
    assert [one.attributes["kaiwa.turn.outcome"] for one in (parked, answered)] == [
        "parked",
        "answered",
    ]
    assert not parked.is_error
    assert (parked.parent, answered.parent) == ("", parked.id)
    asked, made = collector.named("execute_tool works_launch")
    assert [one.attributes["kaiwa.tool.outcome"] for one in (asked, made)] == ["parked", "ok"]
    decided = {"kaiwa.approved": True, "kaiwa.by_a_person": True}
    assert made.events == [("kaiwa.call.decided", decided)]


async def test_servers_that_the_operator_named_get_the_trace(
    here: Installation, gemini: GeminiFake, tmp_path: Path, collector: OtlpFake
) -> None:
    """An MCP server in the call, the server of an OpenAPI document in a header: each the span of
    its own call."""
    looked = {"look": TEXT}
    server = Hostile(tmp_path / "works.json").says(tools=[listed("look")], answers=looked)
    works = {"command": server.command, "args": [*server.args]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"works": works}}), "utf-8")
    folder = tmp_path / "tools"
    folder.mkdir()
    with PetsFake().served() as pets:
        url = f"{pets.base_url}/openapi.json"
        write_api(url, ["getPet"], name="", server="", folder=folder)
        named = {"MCP_SERVERS": str(tmp_path / "mcp.json"), "MCP_TRUST": "works"}
        named |= {"TOOLS_DIR": str(folder), "PETS_DEMO_API_KEY": PETS_KEY}
        gemini.calls(("works_look", {}), ("pets_demo_getPet", {"petId": "7"}))
        gemini.say("Done")
        async with here.run(**named) as running:
            await until(lambda: bool(running.log("mcp.connected")))
            await running.say(TALK, "Look at works, and at pet 7")
            await running.answers(TALK, 1)
            await until(lambda: bool(collector.named(AGENT)))
        sent = {"works_look": "", "pets_demo_getPet": pets.traceparent}
    meta = json.loads((tmp_path / "works.called").read_text("utf-8"))
    sent["works_look"] = meta["traceparent"]
    for tool, traceparent in sent.items():
        span = one(collector.named(f"execute_tool {tool}"))
        assert traceparent.split("-")[:3] == ["00", span.trace, span.id]


async def test_a_collector_that_is_away_disturbs_nobody(
    here: Installation, gemini: GeminiFake
) -> None:
    """Turns are answered, the log says it once, and the process ends as quickly."""
    away = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
    }
    async with here.run(**away) as running:
        gemini.always = lambda asked: said(f"after {len(asked['contents'])} messages")
        for count in range(1, 4):
            await running.say(TALK, "Hello")
            await running.answers(TALK, count)
        await until(lambda: bool(running.log("spans.not_sent")))
        await running.say(TALK, "Hello again")
        await running.answers(TALK, 4)
        assert await running.stop(seconds=10) == 0
    assert len(running.log("spans.not_sent")) == 1
    assert "opentelemetry" not in running.output


async def test_a_collector_that_never_answers_holds_up_no_end(
    here: Installation, gemini: GeminiFake, collector: OtlpFake
) -> None:
    """A process that ends waits for seconds, and not for as long as a request may take."""
    collector.stalls = True
    gemini.say("Hello")
    async with here.run(OTEL_EXPORTER_OTLP_TIMEOUT="60") as running:
        await running.say(TALK, "Hello")
        await running.answers(TALK, 1)
        await until(lambda: collector.asked > 0)
        assert await running.stop(seconds=15) == 0
    assert len(running.log("spans.not_sent")) == 1


async def test_a_collector_that_comes_back_gets_what_follows(
    here: Installation, gemini: GeminiFake, collector: OtlpFake
) -> None:
    """The log says both once; what was refused is lost."""
    collector.refusal = 400
    gemini.always = lambda asked: said(f"after {len(asked['contents'])} messages")
    async with here.run() as running:
        await running.say(TALK, "Hello")
        await until(lambda: bool(running.log("spans.not_sent")))
        await running.answers(TALK, 1)
        await running.idle(seconds=20)
        collector.refusal = 0
        await running.say(TALK, "Hello again")
        await until(lambda: bool(running.log("spans.sent_again")))
        await until(lambda: bool(collector.named(AGENT)))
    assert len(running.log("spans.not_sent")) == 1


async def test_a_number_that_the_sdk_does_not_take_ends_the_start(here: Installation) -> None:
    """With one line that says what is wrong."""
    wrong = {"OTEL_BSP_MAX_QUEUE_SIZE": "10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "20"}
    async with kaiwa(here.folder, "run", ready="OTEL_…", **here.variables, **wrong) as refused:
        assert await refused.process.wait() == 2
    (said_so,) = [line for line in refused.lines if "OTEL_…" in line]
    assert "max_export_batch_size must be less than or equal to max_queue_size" in said_so
    assert "Traceback" not in refused.output


LOADED = """
import atexit, sys
atexit.register(lambda: print("loaded:", [name for name in sys.modules if "opentelemetry" in name]))
from bot.cli.main import main
main()
"""


async def test_without_a_collector_nothing_of_it_is_loaded(
    tmp_path: Path, gemini: GeminiFake
) -> None:
    """Neither at the start nor in a turn."""
    gemini.say("Hello")
    variables = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    async with kaiwa(tmp_path, "run", entry=LOADED, **variables) as running:
        await running.say(TALK, "Hello")
        await running.answers(TALK, 1)
        assert await running.stop() == 0
    assert "loaded: []" in running.lines
