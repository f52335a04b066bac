"""Every kind of answer a vendor has really given, with invented values, is understood."""

from __future__ import annotations

from typing import Any

import pytest

from bot.errors import ModelError
from bot.transcript import Message
from tests.bot.providers.asking import Reply, ask, results, user
from tests.bot.providers.subjects.all import SUBJECTS, Subject
from tests.facts.read import Answer, answers
from tests.fakes.anthropic import START, ending, events_of
from tests.fakes.gemini_answers import Answer as GeminiAnswer
from tests.fakes.streams import Outgoing
from toolset.tool import ToolDefinition

TOOLS = [ToolDefinition("look_up", "-", {"type": "object"}, {})]
TYPES = {"sse": "text/event-stream", "json": "application/json", "ndjson": "application/x-ndjson"}
VENDORS = ("gemini", "anthropic", "openai", "ollama")
ANSWERS = {vendor: answers(vendor) for vendor in VENDORS}
EVERY = [(vendor, name) for vendor, given in ANSWERS.items() for name in given]
# Of each vendor whose parts must come back as they were.
OPAQUE = [
    *[("gemini", name) for name in ANSWERS["gemini"]],
    ("anthropic", "01_tool_use_roundtrip"),
    ("anthropic", "04_tool_with_thinking"),
    ("openai", "01_gemini_openai_endpoint_calls_without_id"),
]


def give(vendor: str, fake: Any, answer: Answer) -> None:
    """Have the stand-in send an answer."""
    body, kind = answer.body, TYPES[answer.form]
    if vendor == "gemini":
        fake.answer(GeminiAnswer(body=body, status=answer.status, content_type=kind))
    elif vendor == "openai":
        # A refused system role is asked again.
        for _ in range(1 if answer.status == 200 else 2):
            fake.raw(body, answer.status, kind)
    elif vendor == "anthropic" and answer.status == 200:
        fake.events(*stream_of(answer))
    else:
        fake.answer(Outgoing((body,), status=answer.status, content_type=kind))


def stream_of(answer: Answer) -> list[Any]:
    """An answer of Anthropic's as the events of a stream, whatever form it was recorded in."""
    if answer.form == "sse":
        return answer.events
    [body] = answer.events
    start = {**START, "message": {**body, "content": [], "stop_reason": None}}
    return [start, *events_of(body["content"]), *ending(body["stop_reason"], body["usage"])]


async def meaning(subject: Subject) -> list[Any]:
    """What an answer comes to."""
    try:
        asked = await ask(subject.provider, [user("?")], TOOLS)
    except ModelError as error:
        return [type(error).__name__, error.apology, getattr(error, "after", None)]
    usage = asked.response.usage
    counts = [usage.input, usage.cached, usage.output, usage.thinking]
    return [asked.response.stop_reason, asked.text, list(map(list, asked.calls)), counts]


def own_parts(vendor: str, answer: Answer) -> list[Any]:
    """What the model has said, in its vendor's form."""
    if vendor != "gemini":
        [body] = answer.events
        return list(body["content"]) if vendor == "anthropic" else [body["choices"][0]["message"]]
    parts: list[Any] = []
    for event in answer.events:
        for candidate in event.get("candidates", ()):
            parts += candidate.get("content", {}).get("parts", ())
    return [part for part in parts if part != {"text": ""}]


def sent_back(vendor: str, fake: Any) -> list[Any]:
    """The parts of the model in the newest request."""
    if vendor == "gemini":
        contents = fake.requests[-1].body["contents"]
        return [part for one in contents if one["role"] == "model" for part in one["parts"]]
    requests = fake.messages if vendor == "anthropic" else fake.chats
    [sent] = [one for one in requests[-1]["messages"] if one["role"] == "assistant"]
    return list(sent["content"]) if vendor == "anthropic" else [sent]


def after(asked: Reply) -> list[Message]:
    """An answer, and what follows it: the results of its calls, or the next question."""
    answered = asked.response.message
    nothing: list[dict[str, object]] = [{} for _ in asked.calls]
    return [answered, results(answered, *nothing) if nothing else user("And then?")]


@pytest.mark.parametrize(("vendor", "name"), EVERY)
async def test_an_answer_is_understood(vendor: str, name: str) -> None:
    """Words, calls, tokens and end of each stream; the kind of each error with its delay."""
    model = {"model": "claude-haiku-4-5"} if vendor == "anthropic" else {}
    for answer in ANSWERS[vendor][name]:
        async with SUBJECTS[vendor](**model) as subject:
            give(vendor, subject.fake, answer)
            assert await meaning(subject) == answer.means


@pytest.mark.parametrize(("vendor", "name"), OPAQUE)
async def test_a_vendor_gets_its_own_parts_back(vendor: str, name: str) -> None:
    """The next question holds the parts of the answer, signatures included, unchanged and in
    order; of Gemini's all but bare empty texts."""
    models = {"gemini": "gemini-2.5-flash", "anthropic": "claude-haiku-4-5", "openai": "gpt-5-mini"}
    for answer in ANSWERS[vendor][name]:
        if len(answer.means) == 3:
            continue
        async with SUBJECTS[vendor](model=models[vendor]) as subject:
            subject.fake.models = {models[vendor]}
            subject.fake.extras = True
            give(vendor, subject.fake, answer)
            subject.say("Good.")
            asked = await ask(subject.provider, [user("?")], TOOLS)
            await ask(subject.provider, [user("?"), *after(asked)], TOOLS)
            sent = sent_back(vendor, subject.fake)
        said = own_parts(vendor, answer)
        if vendor == "openai":
            assert sent[0]["extra_content"] == said[0]["extra_content"]
        else:
            assert sent == said
