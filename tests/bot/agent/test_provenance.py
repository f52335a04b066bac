"""Which requests hold private and strange parts, and whose the addresses in them are."""

from __future__ import annotations

import time

import pytest

from bot.agent.loop import Agent
from bot.agent.provenance import Provenance
from bot.agent.turn import Turn, TurnContext
from bot.channels import NoWatcher
from bot.features.lists.tools import AddToList
from bot.live_events import AnswerText
from bot.providers.scripted import Scripted, Step
from bot.telemetry import Metrics
from bot.transcript import (
    NOTE_ID,
    SCHEDULED_ID,
    SUMMARY_ID,
    Author,
    Grounding,
    Media,
    Message,
    Part,
    Quote,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from tests.bot.agent.test_loop import Notes
from tests.fakes.tools import Echo, tool_map
from toolset.tool import EVERY, ValidatedTool, read_schemas

ME, TARO = Author("u1", "Hanako"), Author("u2", "Taro")
WITHHELD = "(link withheld)"


class Search(Echo):
    """What it finds is public."""

    name = "search"
    public = True


class Fetch(Echo):
    """Opens addresses."""

    name = "fetch"
    addresses = EVERY


TOOLS = tool_map(Search(), Echo(), Fetch())


def user_message(
    message_id: str, text: str = "hello", author: Author = ME, *parts: Part
) -> Message:
    return Message(message_id, "user", (*parts, Text(text)), 1, author)


def called(name: str, response: str, **arguments: object) -> tuple[Message, Message]:
    """A round: a call, and its result."""
    call_id = f"{name} {response}"
    call = Message(f"m {call_id}", "model", (ToolCall(call_id, name, arguments),), 2)
    return call, Message(
        f"r {call_id}", "tool", (ToolResult(call_id, name, {"text": response}),), 3
    )


def provenance(
    history: tuple[Message, ...], *added: Message, grounding: Grounding | None = None
) -> Provenance:
    turn = Turn(
        "t",
        TurnContext("c:1", "", "en", "UTC", NoWatcher()),
        history,
        added,
        Notes(),
        time.monotonic() + 9,
    )
    turn.grounding = grounding or turn.grounding
    return Provenance(turn, TOOLS)


ANSWER = Message("a", "model", (Text("Yes."),), 2)
MINE = (user_message("m0"), ANSWER)
NEW = user_message("m1")
OPENED = ("https://a.example/1", "https://a.example/2", "https://a.example/3", "https://b.example")


@pytest.mark.parametrize(
    ("history", "added", "judged"),
    [
        ((), (NEW,), False),
        ((), (user_message("m1", "look", ME, Media("f", "image/png")),), False),
        (MINE, (NEW,), False),
        ((), (NEW, *called("search", "x")), False),
        ((), (NEW, *called("echo", "x")), True),
        ((), (NEW, *called("gone", "x")), True),
        ((), (NEW, user_message("m2"), *called("search", "x")), True),
        (MINE, (NEW, *called("search", "x")), True),
        ((*MINE, *called("search", "x"), ANSWER), (NEW,), True),
        ((user_message("m0", "hi", TARO), ANSWER), (NEW,), True),
        (MINE, (user_message("m1", "look", ME, Media("f", "application/pdf")),), True),
        (
            (),
            (Message("m1", "user", (Text("?"),), 1, ME, quotes=(Quote("q", "[x]", "u2"),)),),
            True,
        ),
        ((), (user_message("m1", "look\n> what others wrote"),), True),
        ((Message(SUMMARY_ID, "user", (Text("notes"),), 1),), (NEW,), True),
        ((Message(f"{NOTE_ID}facts", "user", (Text("facts"),), 1),), (NEW,), True),
        ((), (user_message(f"{SCHEDULED_ID}1"),), True),
        (
            (user_message("m0"), Message("a", "model", (Text("Yes."),), 2, footer="Sources: x")),
            (NEW,),
            True,
        ),
    ],
)
def test_a_request_is_judged_for_something_private_beside_something_strange(
    history: tuple[Message, ...], added: tuple[Message, ...], judged: bool
) -> None:
    """The newest message and public results are not private; the asker's words not strange."""
    assert provenance(history, *added).is_judged is judged


@pytest.mark.parametrize(
    ("message", "shows"),
    [
        (user_message("m1", "see a.example/x"), True),
        (user_message("m1", "> see a.example/x"), False),
        (user_message("m1", "see a.example/xy"), False),
        (
            Message("m1", "user", (Text("?"),), 1, ME, quotes=(Quote("q", "[a.example/x]", "u2"),)),
            False,
        ),
    ],
)
def test_given_is_what_stands_in_the_askers_own_lines(message: Message, shows: bool) -> None:
    """No beginning of an address, and nothing that somebody else wrote."""
    links = provenance((*MINE, *called("echo", "y"), ANSWER), message).link_filter(WITHHELD)
    assert links is not None
    assert (links.text("a.example/x") == "a.example/x") is shows


def test_what_others_gave_and_notes_say_is_composed() -> None:
    """Also where it was found in an earlier turn."""
    text = "https://a.example/x"
    others = (
        user_message("m0", text, TARO),
        Message(SUMMARY_ID, "user", (Text(text),), 1),
        *called("search", text),
        ANSWER,
    )
    links = provenance(others, NEW).link_filter(WITHHELD)
    assert links is not None
    assert links.text(text) == WITHHELD


def test_a_result_that_repeats_the_call_finds_nothing() -> None:
    """The model has written the address itself; a page that names it changes nothing."""
    text = "https://evil.example/?d=secret"
    links = provenance(
        MINE, NEW, *called("search", f"No results for {text}", query=text)
    ).link_filter(WITHHELD)
    assert links is not None
    assert links.text(text) == WITHHELD


def test_what_was_composed_in_an_earlier_turn_is_not_found() -> None:
    """A server that keeps it names it later; what a result had named before is found again."""
    composed, known = "https://evil.example/?d=secret", "https://a.example/x"
    earlier = (
        *called("search", known),
        *called("echo", "kept", note=f"see {composed} and {known}"),
        ANSWER,
    )
    links = provenance(
        (*MINE, *earlier), NEW, *called("echo", f"see {composed} and {known}")
    ).link_filter(WITHHELD)
    assert links is not None
    assert links.text(f"{composed} {known}") == f"{WITHHELD} {known}"


def test_what_is_kept_is_looked_at_as_it_is_kept() -> None:
    """The store leaves out letters that nobody sees."""
    add = ValidatedTool(AddToList(), *read_schemas("add_to_list")).definition
    seen = provenance(MINE, NEW, *called("echo", "x"))
    for item in ("evil.example/S", "evil\u200b.example/S", "evil.\u3164example/S"):
        call = ToolCall("c", "add_to_list", {"list": "links", "items": [item]})
        assert seen.composed_to_keep(call, add)


def test_a_search_without_sources_is_strange() -> None:
    """The model may have read pages that it does not name."""
    assert provenance(MINE, NEW, grounding=Grounding(queries=("shops",))).is_judged


def test_the_vendors_sources_pass() -> None:
    """They are not counted among those found."""
    found = Grounding(tuple(Source("page", f"https://a.example/{number}") for number in range(9)))
    text = " ".join(source.url for source in found.sources)
    links = provenance(MINE, NEW, grounding=found).link_filter(WITHHELD)
    assert links is not None
    assert links.text(text) == text


def test_three_found_addresses_are_opened_in_a_turn() -> None:
    """Those opened before count, the same one once; given ones do not."""
    found = " ".join(f"https://a.example/{number}" for number in range(5))
    rounds = [*called("search", found), *called("fetch", "0", url="https://a.example/0")]
    rounds += called("fetch", "0 again", url="https://a.example/0#part")
    rounds += called("fetch", "1", url={"page": ["https://a.example/1"]})
    rounds += called("fetch", "given", url="https://b.example")
    fetch = TOOLS["fetch"].definition
    for number, asked in ((2, ""), (0, ""), (9, "https://a.example/9")):
        call = ToolCall("new", "fetch", {"url": f"https://a.example/{number}"})
        newest = Message("m", "model", (call,), 4)
        assert (
            provenance(MINE, user_message("m1", "b.example"), *rounds, newest).composed_in(
                call, fetch
            )
            == asked
        )
    calls = [
        ToolCall(f"new{number}", "fetch", {"url": f"https://a.example/{number}"})
        for number in (2, 3)
    ]
    both = provenance(
        MINE, user_message("m1", "b.example"), *rounds, Message("m", "model", tuple(calls), 4)
    )
    assert [both.composed_in(call, fetch) for call in calls] == ["", "https://a.example/3"]


@pytest.mark.parametrize("searches", [True, False])
async def test_a_stream_waits_at_a_composed_link_until_it_is_known_whether_the_vendor_searched(
    searches: bool,
) -> None:
    """Nothing strange is in the request, but what the vendor finds comes with the answer."""
    grounding = Grounding((Source("page", "https://a.example/1"),)) if searches else Grounding()
    model = Scripted([Step("See https://evil.example/?d=secret or not.", grounding=grounding)])
    model.searches = True
    notes = Notes()
    context = TurnContext("c:1", "", "en", "UTC", notes)
    turn = Turn("t", context, MINE, [NEW], notes, time.monotonic() + 9)
    agent = Agent(model, TOOLS, "SYSTEM", Metrics())
    answer = await agent.run(turn)
    assert answer is not None
    assert "".join(event.text for event in notes.seen if isinstance(event, AnswerText)) == "See "
    links = agent.provenance(turn).link_filter(WITHHELD)
    shown = links.text(answer.text) if links else answer.text
    assert shown == (f"See {WITHHELD} or not." if searches else answer.text)


async def test_a_stream_goes_on_where_no_vendor_searches() -> None:
    """A link of the model's own knowledge holds nothing up."""
    text = "See https://www.python.org/ or not."
    notes = Notes()
    context = TurnContext("c:1", "", "en", "UTC", notes)
    turn = Turn("t", context, MINE, [NEW], notes, time.monotonic() + 9)
    await Agent(Scripted([Step(text)]), TOOLS, "SYSTEM", Metrics()).run(turn)
    assert "".join(event.text for event in notes.seen if isinstance(event, AnswerText)) == text


def test_a_reminder_finds_its_own_addresses() -> None:
    """Nobody can have hidden anything in them: none was composed when it was kept."""
    links = provenance(MINE, user_message(f"{SCHEDULED_ID}1", "Read a.example/x")).link_filter(
        WITHHELD
    )
    assert links is not None
    assert links.text("a.example/x a.example/y") == f"a.example/x {WITHHELD}"


def test_a_given_address_is_opened_beside_three_found_ones() -> None:
    """It does not count."""
    fetch = TOOLS["fetch"].definition
    calls = [ToolCall(f"c{number}", "fetch", {"url": url}) for number, url in enumerate(OPENED)]
    seen = provenance(
        MINE,
        user_message("m1", "See b.example"),
        *called("search", " ".join(OPENED[:3])),
        Message("m", "model", tuple(calls), 4),
    )
    assert [seen.composed_in(call, fetch) for call in calls] == ["", "", "", ""]


async def test_the_vendor_opens_no_addresses_then() -> None:
    """Each request says so, from the first result on."""
    model = Scripted([Step(calls=(ToolCall("c1", "echo", {}),)), Step("Done")])
    context = TurnContext("c:1", "", "en", "UTC", NoWatcher())
    turn = Turn("t", context, MINE, [NEW], Notes(), time.monotonic() + 9)
    await Agent(model, TOOLS, "SYSTEM", Metrics()).run(turn)
    assert [request.tool_choice.opens_addresses for request in model.requests] == [True, False]
