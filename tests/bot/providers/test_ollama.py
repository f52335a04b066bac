"""What is particular about Ollama: no ids, no tool choice, models that are not there or know
nothing of tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from bot.errors import ModelError, ModelUnusable, TryAgain
from bot.providers import AUTO, NONE, TextDelta, ToolChoice
from bot.providers.ollama.client import Ollama, address_of
from bot.providers.shared.entry import Options
from bot.transcript import Media, Message, ToolCall, Usage, encode
from tests.bot.providers.asking import ask, model, results, user
from tests.fakes.ollama import OllamaFake, call, line, ollama_fake
from tests.fakes.streams import Outgoing
from toolset.tool import ToolDefinition

JSON = dict[str, Any]
MODEL = "qwen3"
SCHEMA = {
    "type": "object",
    "properties": {"location": {"type": "string", "maxLength": 9, "const": "x"}},
}
TOOLS = (ToolDefinition("get_weather", "Tells the weather.", SCHEMA, {}),)
WEATHER: tuple[str, JSON] = ("get_weather", {"location": "東京"})


@pytest.fixture
def fake() -> Iterator[OllamaFake]:
    """The server."""
    with ollama_fake() as fake:
        yield fake


@pytest.fixture
async def ollama(fake: OllamaFake) -> AsyncIterator[Ollama]:
    """A provider that asks the stand-in."""
    provider = Ollama(MODEL, fake.base_url)
    yield provider
    await provider.aclose()


async def sent(fake: OllamaFake, provider: Ollama, *messages: Message) -> list[JSON]:
    """The messages of a request, without the system prompt."""
    fake.say("ok")
    await ask(provider, messages, TOOLS)
    spoken: list[JSON] = fake.chats[-1]["messages"]
    return spoken[1:]


async def failure(provider: Ollama, *tools: ToolDefinition) -> ModelError:
    """How an answer fails."""
    try:
        await ask(provider, [user("?")], tools)
    except ModelError as error:
        return error
    finally:
        await provider.aclose()
    raise AssertionError("the request did not fail")


async def test_a_request_whole(fake: OllamaFake) -> None:
    """Every field of it, as it goes over the wire: arguments are an object, and only names tell
    whose a result is."""
    provider = Ollama(MODEL, fake.base_url, Options(1000, "high"), 16_384)
    asked = model("Let me look.", ToolCall("call_1", *WEATHER))
    fake.say("晴れです。")
    reported = [user("Hello"), user("東京は?"), asked, results(asked, {"temp": 18}), user("早く")]
    await ask(provider, reported, TOOLS)
    await provider.aclose()
    parameters = {"type": "object", "properties": {"location": {"type": "string", "enum": ["x"]}}}
    function = {
        "name": "get_weather",
        "description": "Tells the weather.",
        "parameters": parameters,
    }
    assert fake.chats == [
        {
            "model": MODEL,
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Hello\n\n東京は?"},
                {
                    "role": "assistant",
                    "content": "Let me look.",
                    "tool_calls": [
                        {"function": {"name": "get_weather", "arguments": {"location": "東京"}}}
                    ],
                },
                {"role": "tool", "content": '{"output":{"temp":18}}', "tool_name": "get_weather"},
                {"role": "user", "content": "早く"},
            ],
            "tools": [{"type": "function", "function": function}],
            "think": True,
            "options": {"num_predict": 1000, "num_ctx": 16_384},
        }
    ]
    assert "Authorization" not in fake.requests[0].headers


async def test_pictures_stand_beside_the_words(fake: OllamaFake, ollama: Ollama) -> None:
    """Those of messages that are joined together; what is gone is a word."""
    first, second = Media("1", "image/png", 1, b"x"), Media("2", "image/png", 1, b"y")
    spoken = await sent(
        fake, ollama, user(first), user("Look", Media("3", "image/png")), user(second)
    )
    assert spoken == [
        {"role": "user", "content": "Look\n\n[image: not available]", "images": ["eA==", "eQ=="]}
    ]


async def test_messages_with_nothing_in_them_are_left_out(fake: OllamaFake, ollama: Ollama) -> None:
    """Of users and of models."""
    spoken = await sent(fake, ollama, user("a"), model(""), user(""), user("b"))
    assert spoken == [{"role": "user", "content": "a\n\nb"}]


@pytest.mark.parametrize(
    ("choice", "shown"),
    [
        (AUTO, ["get_weather", "other"]),
        (ToolChoice("required"), ["get_weather", "other"]),
        (ToolChoice("one", "get_weather"), ["get_weather"]),
        (NONE, None),
    ],
)
async def test_what_must_not_be_called_is_not_shown(
    fake: OllamaFake, ollama: Ollama, choice: ToolChoice, shown: list[str] | None
) -> None:
    """There is no tool choice; and a call that comes all the same is dropped where none may."""
    fake.calls(WEATHER, text="Let me look.")
    asked = await ask(
        ollama, [user("?")], (*TOOLS, ToolDefinition("other", "", {"type": "object"}, {})), choice
    )
    tools = fake.chats[0].get("tools")
    assert (tools and [tool["function"]["name"] for tool in tools]) == shown
    assert asked.calls == ([WEATHER] if shown else [])


@pytest.mark.parametrize(
    ("name", "level", "think"),
    [
        ("qwen3", "minimal", False),
        ("qwen3", "low", False),
        ("qwen3", "medium", True),
        ("gpt-oss:20b", "minimal", "low"),
        ("gpt-oss:20b", "high", "high"),
        ("llama3.2", "low", False),
    ],
)
async def test_thinking(fake: OllamaFake, name: str, level: str, think: bool | str) -> None:
    """On or off, and by levels where a model knows them."""
    provider = Ollama(name, fake.base_url, Options(thinking_level=level))
    fake.say("ok")
    await ask(provider, [user("?")])
    await provider.aclose()
    assert fake.chats[0]["think"] == think


async def test_a_model_that_cannot_think_is_told_so_once(fake: OllamaFake) -> None:
    """Its refusal is no failure, and not met again."""
    provider = Ollama("llama3.2", fake.base_url, Options(thinking_level="high"))
    for _ in range(2):
        fake.say("ok")
        assert (await ask(provider, [user("?")])).text == "ok"
    await provider.aclose()
    assert [body.get("think") for body in fake.chats] == [True, None, None]


async def test_thoughts_go_back_to_the_model_that_had_them(
    fake: OllamaFake, ollama: Ollama
) -> None:
    """With the calls they led to, and to nobody else."""
    fake.calls(WEATHER, thinking="Tokyo, then.")
    asked = (await ask(ollama, [user("?")], TOOLS)).response.message
    reported = [user("?"), asked, results(asked, {})]
    assert (await sent(fake, ollama, *reported))[1]["thinking"] == "Tokyo, then."
    other = Ollama("llama3.2", fake.base_url)
    assert "thinking" not in (await sent(fake, other, *reported))[1]
    await other.aclose()


async def test_thoughts_are_not_shown(fake: OllamaFake, ollama: Ollama) -> None:
    """Nor kept once the answer is there."""
    fake.messages({"content": "", "thinking": "Hm."}, {"content": "Hello."})
    asked = await ask(ollama, [user("?")])
    assert asked.events[:-1] == (TextDelta("Hello."),)
    assert asked.response.message.opaque is None


async def test_an_older_server_names_no_reason(fake: OllamaFake, ollama: Ollama) -> None:
    """And counts nothing it had in its cache."""
    fake.lines(line({"content": "Hello."}), {"done": True, "eval_count": 3})
    response = (await ask(ollama, [user("?")])).response
    assert (response.stop_reason, response.usage) == ("end_turn", Usage(output=3))


async def test_odd_calls(fake: OllamaFake, ollama: Ollama) -> None:
    """With ids as newer servers give them, arguments as text, or none."""
    fake.messages(
        {"tool_calls": [{"id": "call_9", **call(*WEATHER)}, call("get_weather", {})]},
        {"tool_calls": None},
    )
    assert (await ask(ollama, [user("?")], TOOLS)).calls == [WEATHER, ("get_weather", {})]
    fake.messages(
        {"tool_calls": [{"function": {"name": "get_weather", "arguments": '{"location": "東京"}'}}]}
    )
    assert (await ask(ollama, [user("?")], TOOLS)).calls == [WEATHER]
    fake.messages({"content": "Hm", "tool_calls": [{}]})
    asked = await ask(ollama, [user("?")], TOOLS)
    assert (asked.response.stop_reason, asked.calls) == ("malformed", [])


async def test_a_line_may_come_in_pieces(fake: OllamaFake, ollama: Ollama) -> None:
    """And the last one without an end."""
    whole = b"\n".join([encode(one) for one in (line({"content": "晴れ"}), line({}, done=True))])
    fake.answer(Outgoing(tuple(whole[place : place + 7] for place in range(0, len(whole), 7))))
    assert (await ask(ollama, [user("?")])).text == "晴れ"


async def test_a_model_that_was_not_pulled(fake: OllamaFake) -> None:
    """The operator hears what to run."""
    error = await failure(Ollama("mistral", fake.base_url))
    assert (type(error), error.apology) == (ModelUnusable, "model_unknown")
    assert error.cause == f"MODEL: mistral is not at {fake.base_url}: run ollama pull mistral"


async def test_a_model_that_knows_no_tools(fake: OllamaFake) -> None:
    """It can still be talked to in JSON mode, and the check finds out before a user does."""
    fix = f"name another, or ask it as json:gemma:2b with OPENAI_BASE_URL={fake.base_url}/v1"
    cause = f"MODEL: gemma:2b knows no tools: {fix}"
    error = await failure(Ollama("gemma:2b", fake.base_url), *TOOLS)
    assert (type(error), error.apology, error.cause) == (ModelUnusable, "model_unfit", cause)
    provider = Ollama("gemma:2b", fake.base_url)
    with pytest.raises(ModelUnusable, match="knows no tools"):
        await provider.check()
    await provider.aclose()


@pytest.mark.parametrize(
    ("status", "words", "expected"),
    [
        (500, "error parsing tool call: raw='{', err=unexpected end", (TryAgain, "malformed")),
        (
            500,
            "model requires more system memory (9 GiB) than is available",
            (TryAgain, "model_down"),
        ),
        (
            503,
            "server busy, please try again.  maximum pending requests exceeded",
            (TryAgain, "model_down"),
        ),
    ],
)
async def test_failures_in_ollamas_words(
    fake: OllamaFake, status: int, words: str, expected: object
) -> None:
    """In the place of an answer, and after its beginning."""
    fake.fail(status, words)
    error = await failure(Ollama(MODEL, fake.base_url))
    assert (type(error), error.apology) == expected
    fake.lines(line({"content": "It"}), {"error": words})
    error = await failure(Ollama(MODEL, fake.base_url))
    assert (type(error), error.apology) == expected


@pytest.mark.parametrize(
    ("answer", "apology"),
    [
        (Outgoing((b"{broken\n",)), "malformed"),
        (Outgoing((b"<html>\n",), status=502, content_type="text/html"), "model_down"),
        (Outgoing(status=302, headers={"Location": "/elsewhere"}), "request_refused"),
    ],
)
async def test_something_else_stands_there(
    fake: OllamaFake, answer: Outgoing, apology: str
) -> None:
    """A proxy, or another server."""
    fake.answer(answer)
    assert (await failure(Ollama(MODEL, fake.base_url))).apology == apology
    assert len(fake.requests) == 1


async def test_check_looks_the_model_up(fake: OllamaFake, ollama: Ollama) -> None:
    """Without loading it; older servers do not tell what a model is able to."""
    assert await ollama.check() == "qwen3 answers"
    assert [(request.path, request.body) for request in fake.requests] == [
        ("/api/show", {"model": MODEL})
    ]


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        (":56789", "http://127.0.0.1:56789"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        ("example.com:56789", "http://example.com:56789"),
        ("http://example.com", "http://example.com:80"),
        ("https://example.com", "https://example.com:443"),
        ("https://example.com:56789/path/", "https://example.com:56789/path"),
        ("example.com/path", "http://example.com:11434/path"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:56789", "http://[::1]:56789"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 -- no socket is bound
        ("[::]:1", "http://[::1]:1"),
    ],
)
def test_the_address_is_read_as_ollamas_own_clients_read_it(host: str, address: str) -> None:
    """What a server listens on is no address, but its operator has one variable for both."""
    assert address_of(host) == address
