"""Google's own tools beside ours, against the strict stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from google.oauth2.credentials import Credentials
from structlog.testing import capture_logs

from bot.errors import ModelError, TryAgain
from bot.providers import AUTO, NONE, ToolChoice
from bot.providers.gemini.client import Gemini
from bot.providers.gemini.request import own_tools
from bot.providers.gemini.vertex import Vertex
from bot.providers.shared.entry import AUTO_TOOLS, Options
from bot.providers.shared.request import LONGEST_WORDS, MOST_FOUND
from bot.providers.shared.streaming import LONGEST_OPAQUE
from bot.transcript import NOT_GROUNDED, Grounding, Message, Opaque, Source, Text, Usage, encode
from tests.bot.providers.asking import Reply, ask, model, results, user
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.gemini_answers import grounded, searched, signed
from tests.fakes.gemini_rules import NOT_COMBINED
from tests.fakes.vertex import LOCATION, PROJECT, TOKEN, vertex_fake
from tests.waiting import until_true
from toolset.tool import ToolDefinition

JSON = dict[str, Any]

TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)
LARGE = (ToolDefinition("get_weather", "Tells the weather. " * 1000, {"type": "object"}, {}),)
PAGE = {
    "uri": "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AUZ_x-1",
    "title": "example.com",
}
FREE_TIER = "You exceeded your current quota, please check your plan and billing details."


@pytest.fixture
async def searching(fake: GeminiFake) -> AsyncIterator[Gemini]:
    """A Gemini 3 with its own search."""
    with_search = Gemini(KEY, "gemini-3.5-flash", fake.base_url, Options(server_tools=AUTO_TOOLS))
    yield with_search
    await with_search.aclose()


def bodies(fake: GeminiFake) -> list[JSON]:
    """The requests for an answer."""
    return [request.body for request in fake.requests if request.action == "streamGenerateContent"]


def googles(body: JSON) -> set[str]:
    """Google's own tools in a request."""
    return {name for tool in body.get("tools", ()) for name in tool} - {"functionDeclarations"}


async def test_the_search_goes_beside_our_functions(fake: GeminiFake, searching: Gemini) -> None:
    """In one Tool with them, with the switch that Google asks for, in the mode that it takes."""
    fake.say("ok")
    await ask(searching, [user("hello")], TOOLS)
    [body] = bodies(fake)
    assert [tool.keys() for tool in body["tools"]] == [{"functionDeclarations", "googleSearch"}]
    assert body["toolConfig"] == {
        "functionCallingConfig": {"mode": "VALIDATED"},
        "includeServerSideToolInvocations": True,
    }


@pytest.mark.parametrize(
    ("choice", "mode"),
    [(NONE, "NONE"), (ToolChoice("required"), "ANY"), (ToolChoice("one", "get_weather"), "ANY")],
)
async def test_other_choices_keep_their_mode(
    fake: GeminiFake, searching: Gemini, choice: ToolChoice, mode: str
) -> None:
    """The switch stays on, as the history may hold calls of Google's tools."""
    fake.say("ok")
    await ask(searching, [user("hello")], TOOLS, choice)
    config = bodies(fake)[0]["toolConfig"]
    assert (
        config["functionCallingConfig"]["mode"],
        config["includeServerSideToolInvocations"],
    ) == (mode, True)


async def test_a_request_without_our_tools_has_none_of_googles(
    fake: GeminiFake, searching: Gemini
) -> None:
    """A summary is written from what was said."""
    fake.say("ok")
    await ask(searching, [user("hello")])
    assert bodies(fake)[0].keys() & {"tools", "toolConfig"} == set()


@pytest.mark.parametrize(
    ("chosen", "name", "names"),
    [
        (AUTO_TOOLS, "gemini-3.5-flash", ("google_search",)),
        (AUTO_TOOLS, "gemini-flash-latest", ("google_search",)),
        (AUTO_TOOLS, "gemini-2.5-flash", ()),
        (AUTO_TOOLS, "gemini-3.1-flash-image", ()),
        (AUTO_TOOLS, "somebody-elses", ()),
        (("url_context", "code_execution"), "gemini-2.5-flash", ("url_context", "code_execution")),
        ((), "gemini-3.5-flash", ()),
    ],
)
def test_auto_is_search_where_the_model_is_known_to_take_it(
    chosen: tuple[str, ...], name: str, names: tuple[str, ...]
) -> None:
    """Named tools are tried with every model."""
    assert own_tools(chosen, name) == names


async def test_calls_of_googles_tools_go_back_unchanged(
    fake: GeminiFake, searching: Gemini
) -> None:
    """Ids and signatures with them, also where one of our functions is called after a search."""
    call = {"functionCall": {"id": "1", "name": "get_weather", "args": {}}} | signed()
    fake.parts([*searched("capital of Iceland"), call])
    first = await ask(searching, [user("weather in Iceland's capital?")], TOOLS)
    assert first.calls == [("get_weather", {})]
    assert first.response.grounding == Grounding(queries=("capital of Iceland",))
    assert first.response.searches == 1
    spoken = first.response.message
    fake.say("Rain.")
    messages = [user("?"), spoken, results(spoken, {"condition": "Rain"})]
    await ask(searching, messages, TOOLS)
    assert bodies(fake)[-1]["contents"][1]["parts"][-1] == call
    assert [
        set(part) - {"thoughtSignature"} for part in bodies(fake)[-1]["contents"][1]["parts"]
    ] == [
        {"toolCall"},
        {"toolResponse"},
        {"functionCall"},
    ]


async def test_a_request_without_them_leaves_their_calls_out(
    fake: GeminiFake, searching: Gemini
) -> None:
    """An older model, or one with the tools switched off, gets the text, and a signature where one
    is missing."""
    call = {"functionCall": {"id": "1", "name": "get_weather", "args": {}}}
    fake.parts([*searched("capital of Iceland"), call])
    spoken = (await ask(searching, [user("?")], TOOLS)).response.message
    fake.say("Rain.")
    other = Gemini(KEY, "gemini-3.5-flash", fake.base_url)
    await ask(other, [user("?"), spoken, results(spoken, {"condition": "Rain"})], TOOLS)
    await other.aclose()
    [part] = bodies(fake)[-1]["contents"][1]["parts"]
    assert part == call | {"thoughtSignature": "skip_thought_signature_validator"}


async def test_a_message_of_a_search_alone_disappears_without_them(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """Gemini refuses a content without parts."""
    opaque = Opaque(
        "gemini", "gemini-3.5-flash", b'[{"toolCall":{"id":"1"}},{"toolResponse":{"id":"1"}}]'
    )
    spoken = Message("m", "model", (Text("…"),), 0, opaque=opaque)
    fake.say("ok")
    await ask(gemini, [user("a"), spoken, user("b")])
    assert [content["role"] for content in bodies(fake)[0]["contents"]] == ["user"]


CALL, RESPONSE = (
    {kind: {"id": "1", "toolType": "GOOGLE_SEARCH_WEB"}} for kind in ("toolCall", "toolResponse")
)


@pytest.mark.parametrize(
    "lies",
    [
        [CALL],
        [RESPONSE],
        [CALL, CALL, RESPONSE, RESPONSE],
        [CALL, RESPONSE, RESPONSE],
        [{"toolCall": {}}, {"toolResponse": {}}],
        [{"toolCall": {"id": ["1"]}}, {"toolResponse": {"id": ["1"]}}],
        [{"toolCall": None}, {"toolResponse": "1"}],
    ],
)
async def test_parts_that_google_would_refuse_are_not_sent_back(
    fake: GeminiFake, searching: Gemini, lies: list[JSON]
) -> None:
    """An answer that broke off in a search, or lied: it stops no later request, and switches
    nobody's search off."""
    call = {"functionCall": {"id": "2", "name": "get_weather", "args": {}}}
    fake.parts([*lies, call])
    spoken = (await ask(searching, [user("?")], TOOLS)).response.message
    fake.say("Rain.")
    reply = await ask(searching, [user("?"), spoken, results(spoken, {"condition": "Rain"})], TOOLS)
    assert (reply.text, reply.response.refusal, len(bodies(fake))) == ("Rain.", "", 2)
    assert bodies(fake)[-1]["contents"][1]["parts"] == [
        call | {"thoughtSignature": "skip_thought_signature_validator"}
    ]
    assert googles(bodies(fake)[-1]) == {"googleSearch"}


@pytest.mark.parametrize("kind", ["toolCall", "toolResponse"])
@pytest.mark.parametrize(
    "with_", [{"text": "Hello."}, {"functionCall": {"name": "get_weather", "args": {}}}]
)
async def test_a_part_of_two_kinds_is_no_answer(
    fake: GeminiFake, searching: Gemini, kind: str, with_: JSON
) -> None:
    """Without Google's tools its half would be missing."""
    fake.parts([{kind: {"id": "1"}} | with_])
    with pytest.raises(TryAgain):
        await ask(searching, [user("?")], TOOLS)


async def test_endless_findings_are_bounded(fake: GeminiFake, searching: Gemini) -> None:
    """In number and in length, however many events name them; the answer stays."""
    pages = [
        {"uri": f"https://a.example/{'x' * size}", "title": "t" * 50_000} for size in (1, 10_000)
    ]
    answer = grounded("q" * 50_000, pages, "So.")
    [event] = [event for event in answer.events if "groundingMetadata" in event["candidates"][0]]
    more = []
    for number in range(200):
        chunks = [
            {"web": {"uri": f"https://b.example/{number}/{place}", "title": "b"}}
            for place in range(60)
        ]
        found = {"groundingChunks": chunks, "webSearchQueries": [f"{number}"]}
        more.append(
            {**event, "candidates": [{**event["candidates"][0], "groundingMetadata": found}]}
        )
    fake.answer(replace(answer, events=(*answer.events[:-1], *more, event)))
    grounding = (await ask(searching, [user("?")], TOOLS)).response.grounding
    assert (len(grounding.sources), len(grounding.queries)) == (MOST_FOUND, MOST_FOUND)
    assert max(len(page.title) for page in grounding.sources) <= LONGEST_WORDS
    assert len(encode(grounding)) < 20_000


async def test_huge_parts_of_googles_tools_are_not_kept(
    fake: GeminiFake, searching: Gemini
) -> None:
    """Nothing could store them: the message goes back like another vendor's."""
    call = {"functionCall": {"id": "1", "name": "get_weather", "args": {}}}
    large = RESPONSE["toolResponse"] | {"response": {"page": "x" * LONGEST_OPAQUE}}
    fake.parts([CALL, {"toolResponse": large}, call])
    spoken = (await ask(searching, [user("?")], TOOLS)).response.message
    assert (spoken.opaque, len(spoken.calls)) == (None, 1)
    fake.say("Rain.")
    assert (
        await ask(searching, [user("?"), spoken, results(spoken, {"condition": "Rain"})], TOOLS)
    ).text == "Rain."


async def test_an_answer_names_its_sources(fake: GeminiFake, searching: Gemini) -> None:
    """Pages and searches, each once; tokens of what was read count as input."""
    answer = grounded("news", [PAGE, PAGE, {"title": "no address"}], "So it is.")
    answer.events[-1]["usageMetadata"]["toolUsePromptTokenCount"] = 7
    fake.answer(answer)
    response = (await ask(searching, [user("news?")], TOOLS)).response
    assert response.grounding == Grounding((Source("example.com", PAGE["uri"]),), ("news",))
    assert response.message.text == "So it is."
    assert response.usage == Usage(107, 40, 10, 5)


async def test_pages_that_were_read_are_sources(fake: GeminiFake, searching: Gemini) -> None:
    """Only those that could be read."""
    answer = grounded("q", [], "So.")
    del answer.events[-1]["candidates"][0]["groundingMetadata"]
    answer.events[-1]["candidates"][0]["urlContextMetadata"] = {
        "urlMetadata": [
            {
                "retrievedUrl": "https://a.example/",
                "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS",
            },
            {
                "retrievedUrl": "https://b.example/",
                "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_ERROR",
            },
        ]
    }
    fake.answer(answer)
    found = (await ask(searching, [user("?")], TOOLS)).response.grounding
    assert found.sources == (Source("", "https://a.example/"),)


@pytest.mark.parametrize(
    "metadata", ["odd", {"webSearchQueries": [None]}, {"groundingChunks": [{"web": 1}]}]
)
async def test_odd_metadata_cost_no_answer(
    fake: GeminiFake, searching: Gemini, metadata: Any
) -> None:
    """They are beside it; the search itself is known by its call."""
    answer = grounded("q", [], "So.")
    answer.events[-1]["candidates"][0]["groundingMetadata"] = metadata
    fake.answer(answer)
    response = (await ask(searching, [user("?")], TOOLS)).response
    assert (response.message.text, response.grounding) == ("So.", Grounding(queries=("q",)))


@pytest.mark.parametrize("args", [None, {"queries": "q"}, {"queries": [1]}, "q"])
async def test_a_search_with_odd_arguments_is_kept_and_names_no_query(
    fake: GeminiFake, searching: Gemini, args: Any
) -> None:
    """What a tool of Google's is called with is Google's own."""
    call = {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "args": args}
    fake.parts([{"toolCall": call}, {"toolResponse": {"id": "1"}}, {"text": "So."}])
    response = (await ask(searching, [user("?")], TOOLS)).response
    assert response.grounding == NOT_GROUNDED
    assert response.message.opaque is not None
    assert b"toolCall" in response.message.opaque.data


async def refused(
    fake: GeminiFake, provider: Gemini, *, status: int = 400, message: str = NOT_COMBINED
) -> Reply:
    """An answer after a refusal."""
    fake.fail(status, message)
    fake.say("ok")
    return await ask(provider, [user("?")], TOOLS)


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, NOT_COMBINED), (400, "Request contains an invalid argument."), (429, FREE_TIER)],
    ids=["named", "unnamed", "no quota of searches"],
)
async def test_a_refusal_is_answered_without_them(
    fake: GeminiFake, searching: Gemini, status: int, message: str
) -> None:
    """The same request at once; the operator is told, and the next request does without."""
    with capture_logs() as logs:
        reply = await refused(fake, searching, status=status, message=message)
    assert reply.text == "ok"
    assert reply.response.refusal == f"gemini-3.5-flash, google_search: {status} {message}"
    assert [googles(body) for body in bodies(fake)] == [{"googleSearch"}, set()]
    assert bodies(fake)[1]["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}
    assert [entry["event"] for entry in logs] == ["model.server_tools_refused"]
    fake.say("ok")
    again = await ask(searching, [user("?")], TOOLS)
    assert (googles(bodies(fake)[-1]), again.response.refusal) == (set(), "")


async def test_a_bad_key_is_refused_once(fake: GeminiFake) -> None:
    """A 400 too, but not for the tools."""
    provider = Gemini("wrong", "gemini-3.5-flash", fake.base_url, Options(server_tools=AUTO_TOOLS))
    with pytest.raises(ModelError):
        await ask(provider, [user("?")], TOOLS)
    await provider.aclose()
    assert len(bodies(fake)) == 1


@pytest.mark.parametrize(
    ("details", "after"),
    [
        ({"retry_delay": "1s"}, 1.0),
        (
            {
                "quota": "generativelanguage.googleapis.com/"
                "generate_content_paid_tier_input_token_count"
            },
            None,
        ),
        (
            {"quota": "generativelanguage.googleapis.com/input_token_count", "retry_delay": "48s"},
            48.0,
        ),
    ],
    ids=["a delay", "a quota", "both"],
)
async def test_a_429_that_names_a_limit_is_none_of_the_search(
    fake: GeminiFake, searching: Gemini, details: dict[str, str], after: float | None
) -> None:
    """It is waited for, or the next model is asked: there is no second request at once, and the
    search stays on."""
    fake.fail(429, FREE_TIER, **details)
    with pytest.raises(TryAgain) as caught:
        await ask(searching, [user("?")], TOOLS)
    assert (caught.value.apology, caught.value.after) == ("rate_limited", after)
    assert len(bodies(fake)) == 1
    fake.say("ok")
    await ask(searching, [user("?")], TOOLS)
    assert googles(bodies(fake)[-1]) == {"googleSearch"}


async def test_a_429_that_names_nothing_is_tried_once_without_the_search(
    fake: GeminiFake, searching: Gemini
) -> None:
    """If that is refused too, the search was not the cause and stays on."""
    for _ in range(2):
        fake.fail(429, FREE_TIER)
    with pytest.raises(TryAgain):
        await ask(searching, [user("?")], TOOLS)
    assert [googles(body) for body in bodies(fake)] == [{"googleSearch"}, set()]
    fake.say("ok")
    await ask(searching, [user("?")], TOOLS)
    assert googles(bodies(fake)[-1]) == {"googleSearch"}


@pytest.mark.parametrize(
    ("status", "message", "requests"),
    [
        (400, "bad picture", 2),
        (
            429,
            (
                "Quota exceeded for metric: "
                "generativelanguage.googleapis.com/generate_content_free_tier_requests"
            ),
            1,
        ),
        (503, "overloaded", 1),
    ],
)
async def test_a_refusal_of_something_else_pauses_nothing(
    fake: GeminiFake, searching: Gemini, status: int, message: str, requests: int
) -> None:
    """Refused without them too, or not for them: they go out with the next request."""
    for _ in range(requests):
        fake.fail(status, message)
    with pytest.raises(ModelError):
        await ask(searching, [user("?")], TOOLS)
    assert len(bodies(fake)) == requests
    fake.say("ok")
    await ask(searching, [user("?")], TOOLS)
    assert googles(bodies(fake)[-1]) == {"googleSearch"}


async def test_the_prefix_is_cached_with_them(fake: GeminiFake, searching: Gemini) -> None:
    """Calls of Google's tools go out beside the name of the cached content."""
    spoken = model("ok")

    async def is_cached() -> bool:
        nonlocal spoken
        fake.answer(grounded("q", [], "ok"))
        spoken = (await ask(searching, [user("?"), spoken, user("?")], LARGE)).response.message
        return "cachedContent" in bodies(fake)[-1]

    await until_true(is_cached)
    [content] = fake.caches.stored.values()
    assert content.prefix["tools"][0].keys() == {"functionDeclarations", "googleSearch"}
    assert content.prefix["toolConfig"]["includeServerSideToolInvocations"] is True
    assert "toolCall" in bodies(fake)[-1]["contents"][1]["parts"][0]


async def test_vertex_ai_gets_none() -> None:
    """Its API does not combine them with functions."""
    with vertex_fake() as fake:
        options = Options(server_tools=("google_search",))
        # google-auth has no types here
        signed_in = Credentials(token=TOKEN)  # type: ignore[no-untyped-call]
        vertex = Vertex(
            PROJECT, "gemini-3.5-flash", LOCATION, fake.base_url, options, credentials=signed_in
        )
        fake.say("ok")
        await ask(vertex, [user("?")], TOOLS, AUTO)
        await vertex.aclose()
        assert googles(bodies(fake)[0]) == set()


async def test_the_check_names_them(searching: Gemini) -> None:
    """For kaiwa doctor."""
    assert await searching.check() == "Gemini 3.5 Flash answers, with google_search"


async def test_where_addresses_are_judged_google_opens_none(fake: GeminiFake) -> None:
    """Its search stays, unless none of its tools is wanted; the model may choose addresses for it
    again in another request."""
    provider = Gemini(
        KEY,
        "gemini-3.5-flash",
        fake.base_url,
        Options(server_tools=("google_search", "url_context")),
    )
    none = ToolChoice(server_tools=False)
    for choice in (AUTO, ToolChoice(opens_addresses=False), none, AUTO):
        fake.say("ok")
        await ask(provider, [user("hello")], TOOLS, choice)
    assert [googles(body) for body in bodies(fake)] == [
        {"googleSearch", "urlContext"},
        {"googleSearch"},
        set(),
        {"googleSearch", "urlContext"},
    ]
    await provider.aclose()
