"""Anthropic's own search beside our tools, against the strict stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from bot.errors import ModelError
from bot.providers import ToolChoice
from bot.providers.anthropic.client import Anthropic
from bot.providers.shared.entry import AUTO_TOOLS, Options
from bot.transcript import Grounding, Source
from tests.bot.providers.asking import ask, results, user
from tests.fakes.anthropic import (
    AT_END,
    KEY,
    START,
    AnthropicFake,
    anthropic_fake,
    arguments_delta,
    block_start,
    call,
    ending,
    events_of,
    searched,
)
from tests.fakes.anthropic_rules import NO_SEARCH
from toolset.tool import ToolDefinition

JSON = dict[str, Any]

TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)
OURS = (*TOOLS, ToolDefinition("web_search", "Searches.", {"type": "object"}, {}))
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
PAGE = {"url": "https://a.example/x", "title": "A page"}
CITATION = {
    "type": "web_search_result_location",
    "encrypted_index": "x",
    "cited_text": "So it is.",
    **PAGE,
}


@pytest.fixture
def fake() -> Iterator[AnthropicFake]:
    """The service."""
    with anthropic_fake() as fake:
        yield fake


@pytest.fixture
async def searching(fake: AnthropicFake) -> AsyncIterator[Anthropic]:
    """A model with its own search."""
    provider = Anthropic(
        KEY, "claude-sonnet-5", fake.base_url, Options(server_tools=("google_search", "web_search"))
    )
    yield provider
    await provider.aclose()


def tool_names(body: JSON) -> list[str]:
    """All tools of a request, in their order."""
    return [tool["name"] for tool in body.get("tools", ())]


async def test_the_search_goes_beside_our_functions(
    fake: AnthropicFake, searching: Anthropic
) -> None:
    """With fewer searches than make Anthropic pause an answer."""
    fake.say("ok")
    await ask(searching, [user("hello")], TOOLS)
    assert fake.messages[0]["tools"][1] == SEARCH


async def test_a_request_may_do_without_its_tools(
    fake: AnthropicFake, searching: Anthropic
) -> None:
    """Ours are declared all the same."""
    fake.say("ok")
    await ask(searching, [user("hello")], TOOLS, ToolChoice(server_tools=False))
    assert tool_names(fake.messages[0]) == ["get_weather"]


async def test_a_search_of_ours_takes_its_place(fake: AnthropicFake, searching: Anthropic) -> None:
    """Both have the same name. A request without tools, such as for a summary, has no search
    either."""
    for tools in (OURS, ()):
        fake.say("ok")
        await ask(searching, [user("hello")], tools)
    assert [tool_names(body) for body in fake.messages] == [["get_weather", "web_search"], []]
    assert "type" not in fake.messages[0]["tools"][1]


async def test_auto_is_no_search(fake: AnthropicFake) -> None:
    """It costs extra, and only Google's is part of auto."""
    provider = Anthropic(KEY, "claude-sonnet-5", fake.base_url, Options(server_tools=AUTO_TOOLS))
    fake.say("ok")
    await ask(provider, [user("hello")], TOOLS)
    await provider.aclose()
    assert tool_names(fake.messages[0]) == ["get_weather"]


async def test_an_answer_names_the_pages_it_cites(
    fake: AnthropicFake, searching: Anthropic
) -> None:
    """Each once; later turns get the words alone, and searches are counted."""
    spoken: JSON = {
        "type": "text",
        "text": "So it is.",
        "citations": [CITATION, CITATION, {"type": "page_location"}],
    }
    usage = {**AT_END, "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0}}
    fake.events(START, *events_of([*searched("news", PAGE), spoken]), *ending("end_turn", usage))
    response = (await ask(searching, [user("news?")], TOOLS)).response
    assert response.grounding == Grounding((Source("A page", "https://a.example/x"),))
    assert (response.searches, response.message.text, response.message.opaque) == (
        2,
        "So it is.",
        None,
    )
    fake.say("ok")
    await ask(searching, [user("news?"), response.message, user("thanks")], TOOLS)
    assert fake.messages[-1]["messages"][1]["content"] == [{"type": "text", "text": "So it is."}]


@pytest.mark.parametrize("pending", [False, True], ids=["searched", "still to search"])
async def test_a_search_before_a_call_goes_back_with_it(
    fake: AnthropicFake, searching: Anthropic, pending: bool
) -> None:
    """Unchanged, to the model that made it; beside a call of ours a search may wait for the next
    request."""
    blocks = searched("Iceland", PAGE)[: 1 if pending else 2]
    asking = call("get_weather", {"location": "Reykjavik"})
    fake.blocks(*blocks, asking, stop="tool_use")
    spoken = (await ask(searching, [user("?")], TOOLS)).response.message
    assert [one.name for one in spoken.calls] == ["get_weather"]
    messages = [user("?"), spoken, results(spoken, {"condition": "Rain"})]
    fake.say("Rain.")
    await ask(searching, messages, TOOLS)
    assert fake.messages[-1]["messages"][1]["content"] == [*blocks, asking]
    without = Anthropic(KEY, "claude-sonnet-5", fake.base_url)
    fake.say("Rain.")
    await ask(without, messages, TOOLS)
    await without.aclose()
    assert fake.messages[-1]["messages"][1]["content"] == [asking]


@pytest.mark.parametrize("pieces", [(), ('{"que',), ("[]",)])
async def test_an_unreadable_search_is_an_empty_one(
    fake: AnthropicFake, searching: Anthropic, pieces: tuple[str, ...]
) -> None:
    """Nothing of ours runs with it."""
    [search, found] = searched("Iceland", PAGE)
    start = block_start(0, {**search, "input": {}})
    deltas = [arguments_delta(0, piece) for piece in pieces]
    asking = call("get_weather", {})
    rest = [block_start(1, found), block_start(2, asking)]
    fake.events(START, start, *deltas, *rest, *ending("tool_use"))
    spoken = (await ask(searching, [user("?")], TOOLS)).response.message
    assert spoken.opaque is not None
    assert msgspec.json.decode(spoken.opaque.data)[0] == {**search, "input": {}}


async def test_a_refusal_is_answered_without_it(fake: AnthropicFake) -> None:
    """The same request at once; the operator is told, and the next request does without."""
    model = "claude-3-haiku-20240307"
    older = Anthropic(KEY, model, fake.base_url, Options(server_tools=("web_search",)))
    for _ in range(2):
        fake.say("ok")
    with capture_logs() as logs:
        reported = (await ask(older, [user("?")], TOOLS)).response.refusal
    again = (await ask(older, [user("?")], TOOLS)).response.refusal
    await older.aclose()
    assert (reported, again) == (f"{model}, web_search: 400 {NO_SEARCH.format(model)}", "")
    assert [entry["event"] for entry in logs] == ["model.server_tools_refused"]
    sent = [tool_names(body) for body in fake.messages]
    assert sent == [["get_weather", "web_search"], ["get_weather"], ["get_weather"]]


async def test_a_refusal_of_something_else_pauses_nothing(
    fake: AnthropicFake, searching: Anthropic
) -> None:
    """Refused without it too: it goes out with the next request."""
    for _ in range(2):
        fake.fail(400, "bad picture")
    with pytest.raises(ModelError):
        await ask(searching, [user("?")], TOOLS)
    fake.say("ok")
    await ask(searching, [user("?")], TOOLS)
    assert tool_names(fake.messages[-1]) == ["get_weather", "web_search"]


async def test_the_check_names_it(searching: Anthropic) -> None:
    """For kaiwa doctor."""
    assert await searching.check() == "Claude Sonnet 5 answers, with web_search"
