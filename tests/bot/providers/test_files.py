"""Files in requests: the form each vendor wants, and the attempt without them after a refusal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.errors import RequestRefused, TooLong
from bot.file_types import MIB, Kind
from bot.providers import Provider, Request
from bot.providers.anthropic.client import Anthropic
from bot.providers.demo.client import Demo
from bot.providers.fallback import FallbackProvider
from bot.providers.gemini.client import Gemini
from bot.providers.gemini.vertex import Vertex
from bot.providers.json_mode.client import JsonMode
from bot.providers.ollama.client import Ollama
from bot.providers.openai.capabilities import Capabilities
from bot.providers.openai.client import OpenAI
from bot.providers.openai.request import chat
from bot.providers.scripted import Scripted, Step
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import Media, Message, Text
from tests.bot.providers.asking import ask, user
from tests.fakes import anthropic as anthropics
from tests.fakes import openai_rules
from tests.fakes.gemini import GeminiFake

PDF = b"%PDF-1.7 x"
BASE64 = "JVBERi0xLjcgeA=="
REPORT = Media("1", "application/pdf", len(PDF), PDF, "report.pdf")
VOICE = Media("2", "audio/mp4", 5, b"sound")
ASKED = user("Read", REPORT, VOICE)
DEAF = "[audio: not available]"


async def test_gemini_gets_files_inline(fake: GeminiFake, gemini: Gemini) -> None:
    """PDF and sound alike."""
    fake.say("ok")
    await ask(gemini, [ASKED])
    inline = [part["inlineData"] for part in fake.requests[0].body["contents"][0]["parts"][1:]]
    assert inline == [
        {"mimeType": "application/pdf", "data": BASE64},
        {"mimeType": "audio/mp4", "data": "c291bmQ="},
    ]


async def test_anthropic_gets_a_pdf_as_a_document() -> None:
    """With its name; it cannot hear."""
    with anthropics.anthropic_fake() as fake:
        provider = Anthropic(anthropics.KEY, "claude-sonnet-5", fake.base_url)
        fake.say("ok")
        fake.say("ok")
        await ask(provider, [ASKED])
        await ask(provider, [user(Media("1", "application/pdf", 9, PDF))])
        await provider.aclose()
    source = {"type": "base64", "media_type": "application/pdf", "data": BASE64}
    document = {"type": "document", "source": source}
    assert fake.messages[0]["messages"][0]["content"] == [
        {"type": "text", "text": "Read"},
        document | {"title": "report.pdf"},
        {"type": "text", "text": DEAF},
    ]
    assert fake.messages[1]["messages"][0]["content"] == [document]


async def test_openai_gets_a_pdf_as_a_file() -> None:
    """Its own models do; of servers with its API few read one."""
    own = Capabilities(is_openai=True)
    turns = chat(Request("", [ASKED]), "gpt-5", own, lambda _: BASE64)
    openai_rules.check({"model": "gpt-5", "messages": turns}, extras=False)
    file = {"filename": "report.pdf", "file_data": f"data:application/pdf;base64,{BASE64}"}
    words = {"type": "text", "text": "Read"}
    assert turns == [
        {
            "role": "user",
            "content": [words, {"type": "file", "file": file}, {"type": "text", "text": DEAF}],
        }
    ]
    [elsewhere] = chat(Request("", [ASKED]), "any", Capabilities(is_openai=False), str)
    assert elsewhere["content"] == f"Read\n\n[file report.pdf: not available]\n\n{DEAF}"


DOCUMENT = (Path(__file__).parents[3] / "docs" / "providers.md").read_text("utf-8").splitlines()
COLUMNS: tuple[Kind, ...] = ("image", "audio", "video", "pdf")
READERS: dict[str, Callable[[], Provider]] = {
    "`gemini:gemini-3.5-flash`": lambda: Gemini("key", "gemini-3.5-flash"),
    "`gemini:gemma-4-27b-it`": lambda: Gemini("key", "gemma-4-27b-it"),
    "`vertex:gemini-3.5-flash`": lambda: Vertex("project", "gemini-3.5-flash"),
    "`openai:gpt-5`": lambda: OpenAI("key", "gpt-5"),
    "`openai:any` on another server": lambda: OpenAI("key", "any", "http://127.0.0.1:9"),
    "`anthropic:claude-sonnet-5`": lambda: Anthropic("key", "claude-sonnet-5"),
    "`ollama:gemma4`": lambda: Ollama("gemma4"),
    "`demo`": lambda: Demo(load()),
}


@pytest.mark.parametrize("name", READERS)
async def test_the_document_says_what_each_model_reads(name: str) -> None:
    """One row for each; the demo model is given no texts either."""
    provider = READERS[name]()
    media = provider.media
    marks = [
        "✓" if able else "–" for able in (*(kind in media.kinds for kind in COLUMNS), media.uploads)
    ]
    assert f"| {' | '.join((name, *marks))} |" in DOCUMENT
    assert media.reads_texts is (name != "`demo`")
    await provider.aclose()


async def test_a_model_that_writes_json_reads_what_its_server_does() -> None:
    """It is the same model."""
    server = OpenAI("key", "any", "http://127.0.0.1:9")
    assert JsonMode(server).media == server.media
    await server.aclose()


def shown(message: Message) -> list[str]:
    """The words of a message, and ``-`` for each file."""
    return [part.text if isinstance(part, Text) else "-" for part in message.parts]


REFUSALS = [RequestRefused("request_refused", "the PDF is damaged"), TooLong("a thousand pages")]


@pytest.mark.parametrize("error", REFUSALS, ids=str)
async def test_a_refused_request_is_sent_again_without_its_files(error: RequestRefused) -> None:
    """The model is told of them, and the person hears it from the model."""
    model = Scripted([Step(error=error), Step("I could not read it")])
    gone = Media("3", "image/png")
    asked = user("Read", REPORT, gone, Media("4", "video/mp4", uri="files/1"))
    assert (await ask(FallbackProvider([model], Metrics()), [asked])).text == "I could not read it"
    first, second = (shown(request.messages[0]) for request in model.requests)
    assert first == ["Read", "-", "-", "-"]
    refused = "the model's service did not take it; say so"
    assert second == ["Read", f"[file report.pdf: {refused}]", "-", f"[video: {refused}]"]


async def test_a_refusal_for_another_reason_is_passed_on() -> None:
    """A request without files, or one that was blocked, is not sent again."""
    refused, blocked = RequestRefused("request_refused", "no"), RequestRefused("blocked", "no")
    for error, asked in ((refused, user("Hello")), (blocked, ASKED)):
        model = Scripted([Step(error=error)])
        with pytest.raises(RequestRefused):
            await ask(FallbackProvider([model], Metrics()), [asked])
        assert len(model.requests) == 1


async def test_another_model_is_given_the_files_again() -> None:
    """It may read what the first one refused twice."""
    first = Scripted([Step(error=REFUSALS[0])] * 2)
    second = Scripted([Step("A report")])
    chain = FallbackProvider([first, second], Metrics())
    assert (await ask(chain, [user(REPORT)])).text == "A report"
    assert shown(second.requests[0].messages[0]) == ["-"]
    assert chain.media is first.media


@pytest.mark.parametrize(
    ("part", "seconds"),
    [
        (Media("1", "video/mp4", 30 * MIB, uri="files/1"), 50),
        (Media("1", "audio/mp4", 2 * MIB, b"x"), 22),
        (Media("1", "video/mp4", 30 * MIB), 20),
        (Media("1", "image/png", 2 * MIB, b"x"), 20),
    ],
)
async def test_a_model_has_longer_for_what_takes_longer(part: Media, seconds: float) -> None:
    """A second for each MiB it is sent, besides pictures."""
    model = Scripted([Step("ok")])
    await ask(FallbackProvider([model], Metrics(), clock=lambda: 0.0), [user(part)])
    assert model.requests[0].first_token_timeout_s == seconds
