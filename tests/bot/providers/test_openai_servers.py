"""What is particular about the many servers that speak nearly like OpenAI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from bot.errors import ModelUnusable, RequestRefused, TryAgain
from bot.providers import AUTO, NONE
from bot.providers.json_mode.request import schema_of
from bot.providers.openai.capabilities import Capabilities
from bot.providers.openai.client import OpenAI
from bot.providers.openai.request import COMPATIBLE, OPENAIS, declarations, response_format
from bot.transcript import Media, Opaque, Usage, encode
from tests.bot.providers.asking import ask, declared, model, user
from tests.fakes.openai import DONE, KEY, OpenAIFake, chunk, openai_fake
from toolset.tool import ToolDefinition

MODEL = "gpt-4o-mini"
TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)


@pytest.fixture
def fake() -> Iterator[OpenAIFake]:
    """The service."""
    with openai_fake() as fake:
        yield fake


@pytest.fixture
async def openai(fake: OpenAIFake) -> AsyncIterator[OpenAI]:
    """A provider that asks the stand-in."""
    provider = OpenAI(KEY, MODEL, fake.base_url)
    yield provider
    await provider.aclose()


REFUSALS = [
    (
        "max_tokens",
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "max_completion_tokens",
    ),
    ("stream_options", "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options')}]", ""),
    ("strict", "property 'strict' is unsupported", ""),
]


@pytest.mark.parametrize(
    ("field", "words", "instead"), REFUSALS, ids=[field for field, _, _ in REFUSALS]
)
async def test_what_a_server_does_not_take_is_left_out_from_then_on(
    fake: OpenAIFake, openai: OpenAI, field: str, words: str, instead: str
) -> None:
    """The refused request is sent again at once, and no later one holds the field."""
    fake.unknown = {field: words}
    fake.say("ok")
    fake.say("ok")
    tool = ToolDefinition("f", "d", {"type": "object", "properties": {}}, {}, strict=True)
    for _ in range(2):
        assert (await ask(openai, [user("?")], [tool])).text == "ok"
    assert len(fake.chats) == 3
    assert field in str(fake.chats[0])
    assert all(
        f"'{field}'" not in str(chat) and (not instead or instead in chat)
        for chat in fake.chats[1:]
    )


async def test_a_model_without_a_system_role_reads_it_as_the_users_words(
    fake: OpenAIFake, openai: OpenAI
) -> None:
    """As OpenAI's o1-mini says it, and the templates of some open models."""
    fake.fail(
        400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."
    )
    fake.say("ok")
    await ask(openai, [user("Hello")])
    assert fake.chats[1]["messages"] == [{"role": "user", "content": "Be kind.\n\nHello"}]


async def test_a_server_cannot_keep_us_guessing(fake: OpenAIFake, openai: OpenAI) -> None:
    """Whatever it says, each thing is given up once."""
    for _ in range(9):
        fake.fail(400, "max_tokens, max_completion_tokens, stream_options")
    with pytest.raises(RequestRefused):
        await ask(openai, [user("?")])
    assert len(fake.chats) == 3


async def test_a_refusal_for_another_reason_is_one(fake: OpenAIFake, openai: OpenAI) -> None:
    """One request, and the words for the operator."""
    fake.fail(400, "your prompt is too long")
    with pytest.raises(RequestRefused) as raised:
        await ask(openai, [user("?")])
    assert raised.value.cause == f"{MODEL} refused the request (400): your prompt is too long"
    assert len(fake.chats) == 1


@pytest.mark.parametrize(
    ("is_openai", "field"), [(True, "max_completion_tokens"), (False, "max_tokens")]
)
def test_the_output_limit_has_two_names(is_openai: bool, field: str) -> None:
    """OpenAI's own models take the newer one, other servers know the older."""
    assert Capabilities(is_openai=is_openai).adapted({"max_tokens": 5}) == {field: 5}


async def test_a_local_server_needs_no_key(fake: OpenAIFake) -> None:
    """And a base URL with a path is taken as it is."""
    fake.wants_key = False
    fake.say("ok")
    provider = OpenAI("", MODEL, f"{fake.base_url}/v1/")
    assert (await ask(provider, [user("?")])).text == "ok"
    await provider.aclose()
    assert fake.requests[0].path == "/v1/chat/completions"


async def test_the_list_of_models_is_enough_for_a_check(fake: OpenAIFake) -> None:
    """llama.cpp knows no other way; where the model is missing, those that are there are named."""
    fake.lists_only = True
    lines = []
    for name in (MODEL, "other"):
        provider = OpenAI(KEY, name, fake.base_url)
        try:
            lines.append(await provider.check())
        except ModelUnusable as error:
            lines.append(error.cause)
        await provider.aclose()
    assert lines == [
        f"{MODEL} answers",
        "MODEL: other is not known there; there is gpt-4o-mini, gpt-5-mini, small-local-model",
    ]


async def test_an_answer_that_is_not_streamed_is_read(fake: OpenAIFake, openai: OpenAI) -> None:
    """Some servers ignore the wish."""
    message = {"role": "assistant", "content": "ok"}
    body = {"object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"}]}
    fake.raw(msgspec.json.encode(body), content_type="application/json")
    asked = await ask(openai, [user("?")])
    assert (asked.text, asked.response.stop_reason, asked.response.usage) == (
        "ok",
        "end_turn",
        Usage(),
    )


async def test_the_end_is_known_by_its_mark_too(fake: OpenAIFake, openai: OpenAI) -> None:
    """A server may leave the finish reason out, but then it must say that it is done."""
    fake.events(chunk({"content": "ok"}), DONE)
    assert (await ask(openai, [user("?")])).response.stop_reason == "end_turn"
    fake.events(chunk({"content": "ok"}))
    with pytest.raises(TryAgain) as raised:
        await ask(openai, [user("?")])
    assert raised.value.cause == f"{MODEL}'s answer broke off before its end"


@pytest.mark.parametrize(
    ("body", "apology"),
    [
        (b"data: <html>\n\n", "malformed"),
        (b'data: {"choices": 5}\n\n', "malformed"),
        (b'data: {"object": "error", "message": "overloaded", "code": 503}\n\n', "model_down"),
        (b'{"error": {"message": "slow down", "type": "rate_limit_error"}}', "rate_limited"),
        (b'data: {"error": "boom"}\n\n', "model_down"),
        (b"", "model_down"),
    ],
)
async def test_nonsense_and_errors_inside_a_stream(
    fake: OpenAIFake, openai: OpenAI, body: bytes, apology: str
) -> None:
    """In every form that servers give them."""
    fake.raw(body)
    with pytest.raises(TryAgain) as raised:
        await ask(openai, [user("?")])
    assert raised.value.apology == apology


async def test_calls_that_were_not_allowed_are_dropped(fake: OpenAIFake, openai: OpenAI) -> None:
    """Small servers do not heed the tool choice."""
    fake.calls(("get_weather", {}), text="It is sunny.")
    asked = await ask(openai, [user("?")], declared(), NONE)
    assert (asked.text, asked.calls, asked.response.stop_reason) == ("It is sunny.", [], "end_turn")


async def test_reasoning_is_not_sent_to_a_server_that_refuses_it(
    fake: OpenAIFake, openai: OpenAI
) -> None:
    """Groq takes none of its own back."""
    fake.extras = True
    fake.unknown = {"reasoning_content": "property 'reasoning_content' is unsupported"}
    fake.say("ok")
    thought = Opaque("openai", MODEL, b'{"message":{"reasoning_content":"hm"}}')
    spoken = msgspec.structs.replace(model("Hi."), opaque=thought)
    assert (await ask(openai, [user("?"), spoken, user("?")])).text == "ok"
    assert [len(chat["messages"][2]) for chat in fake.chats] == [3, 2]


async def test_what_follows_the_end_is_not_waited_for(fake: OpenAIFake, openai: OpenAI) -> None:
    """A server that keeps the connection open has nothing more to say."""
    fake.events(chunk({"content": "ok"}, "stop"), DONE, end="stalled")
    assert (await ask(openai, [user("?")])).text == "ok"


async def test_a_connection_that_was_closed_from_the_other_end_is_made_anew(
    fake: OpenAIFake, openai: OpenAI
) -> None:
    """llama.cpp promises to keep each and closes it once a stream is over; nobody notices."""
    fake.hangs_up = True
    for _ in range(3):
        fake.say("ok")
    assert [(await ask(openai, [user("?")])).text for _ in range(3)] == ["ok"] * 3
    assert len(fake.chats) == 3


NO_PICTURES = [
    (
        500,
        (
            "image input is not supported - hint: if this is unexpected, you may need to provide "
            "the "
            "mmproj"
        ),
    ),
    (400, "At most 0 image(s) may be provided in one request."),
    (400, "some-model is not a multimodal model"),
    (404, "No endpoints found that support image input"),
    (400, "Invalid content type. image_url is only supported by certain models."),
]


@pytest.mark.parametrize(
    ("status", "words"), NO_PICTURES, ids=[words[:20] for _, words in NO_PICTURES]
)
async def test_a_model_that_sees_no_pictures_is_told_of_them(
    fake: OpenAIFake, openai: OpenAI, status: int, words: str
) -> None:
    """The server is asked again at once with a word in the picture's place, and sent no other
    one."""
    fake.fail(status, words)
    fake.say("ok")
    fake.say("ok")
    for _ in range(2):
        assert (
            await ask(openai, [user("What is this?", Media("r", "image/png", 3, data=b"png"))])
        ).text == "ok"
    reported = {"role": "user", "content": "What is this?\n\n[image: not available]"}
    assert [chat["messages"][1] == reported for chat in fake.chats] == [False, True, True]


@pytest.mark.parametrize("status", [429, 500])
async def test_an_outage_teaches_nothing(fake: OpenAIFake, openai: OpenAI, status: int) -> None:
    """Its words may name a field by chance."""
    fake.fail(status, "stream_options: strict limits are in force")
    fake.say("ok")
    with pytest.raises(TryAgain):
        await ask(openai, [user("?")])
    await ask(openai, [user("?")])
    assert fake.chats[0] == fake.chats[1]


ILL_WRITTEN = "The model produced output that does not match the expected peg-native format"


async def test_a_call_that_its_server_cannot_read_is_asked_for_again(
    fake: OpenAIFake, openai: OpenAI
) -> None:
    """As llama.cpp says it, inside a stream: the model is at fault, the server is there."""
    error = {"error": {"code": 500, "message": ILL_WRITTEN, "type": "server_error"}}
    fake.events(chunk({"role": "assistant", "content": None}), error)
    with pytest.raises(TryAgain) as raised:
        await ask(openai, [user("?")], TOOLS)
    assert raised.value.apology == "malformed"


def test_only_openai_itself_is_sent_patterns() -> None:
    """llama.cpp lets a model write quotes for ``[^@:/]``, and the JSON breaks."""
    sent = {
        is_ours: encode(declarations(declared(), dialects))
        for is_ours, dialects in ((0, OPENAIS), (1, COMPATIBLE))
    }
    assert [b'"pattern"' in tools for tools in sent.values()] == [True, False]
    assert b'"pattern"' not in encode(response_format(schema_of(declared(), AUTO), COMPATIBLE))
