"""Requests that are too long: what is left out, and that it is sent again without it."""

from __future__ import annotations

import pytest

from bot.errors import TooLong
from bot.providers.fallback import FallbackProvider
from bot.providers.scripted import Scripted, Step
from bot.providers.shared.failures import Failures
from bot.providers.shared.request import estimate_tokens, trim_oldest
from bot.telemetry import Metrics
from bot.transcript import SUMMARY_ID, Media, Message, Text, ToolCall
from tests.bot.providers.asking import ask, model, results, user

LONG = "x" * 3_000  # a thousand tokens
CALLING = model(ToolCall("c1", "echo", {"n": 1}))
TALK = [
    *(user(f"1 {LONG}"), CALLING, results(CALLING, {"n": 1}), model("one")),
    *(user(f"2 {LONG}"), user("and more"), model("two")),
    *(user(f"3 {LONG}"), CALLING, results(CALLING, {"n": 1}), user("joined")),
]
NOTE = Message(SUMMARY_ID, "user", (Text("Notes"),), 1)


@pytest.mark.parametrize(
    ("tokens", "first"),
    [
        (10_000, "1"),
        (estimate_tokens(TALK), "1"),
        (estimate_tokens(TALK) - 1, "2"),
        (2_300, "2"),
        (1_500, "3"),
        (0, "3"),
    ],
)
def test_whole_turns_are_left_out(tokens: int, first: str) -> None:
    """The oldest ones, and never a piece of one; the turn under way stays whatever its length."""
    stored = trim_oldest(TALK, tokens)
    assert stored[0].text.startswith(first)
    assert stored == TALK[-len(stored) :]


def test_the_summary_stays() -> None:
    """It stands for what was left out before."""
    assert [message.text[:5] for message in trim_oldest([NOTE, *TALK], 1_500)] == [
        "Notes",
        "3 xxx",
        "",
        "",
        "joine",
    ]
    assert trim_oldest([NOTE, *TALK], 10_000) == [NOTE, *TALK]
    assert trim_oldest([NOTE], 0) == [NOTE]
    assert trim_oldest([], 0) == []


def test_a_picture_weighs_what_vendors_reckon() -> None:
    """However many bytes it has."""
    picture = Media("1", "image/png", 9, b"x" * 100_000)
    assert 1_000 < estimate_tokens([user(picture)]) < 1_100


def too_much(window: int) -> Step:
    return Step(error=TooLong("too long", window))


def test_a_summary_that_leaves_no_room_for_the_question_goes_last() -> None:
    """Another model wrote it, which reads more: an answer without it is better than none."""
    long = Message(SUMMARY_ID, "user", (Text(LONG),), 1)
    talk = [user("1"), model("one"), user("2")]
    assert trim_oldest([long, *talk], 500) == talk[-1:]
    assert trim_oldest([long, *talk], 1_080) == [long, *talk[-1:]]
    asked = user(LONG)
    assert trim_oldest([NOTE, asked], 500) == [NOTE, asked]


async def test_a_request_that_is_too_long_is_sent_again_without_its_oldest_turns() -> None:
    """And again, until it is taken; what the model reads is remembered, where it says so."""
    small = Scripted([too_much(0), too_much(4_000), Step("ok"), Step("ok")])
    retrying = FallbackProvider([small], Metrics())
    talk = [
        message for number in range(8) for message in (user(f"{number} {LONG}"), model("so it is"))
    ]
    assert retrying.window == 0
    assert (await ask(retrying, talk)).text == "ok"
    assert [request.messages[0].text[:1] for request in small.requests] == ["0", "4", "7"]
    assert retrying.window == 4_000
    assert (await ask(retrying, talk)).text == "ok"
    assert small.requests[-1].messages[0].text[:1] == "7"


async def test_where_nothing_can_be_left_out_the_next_model_is_asked() -> None:
    """It may read more."""
    small, large = Scripted([too_much(4_000)]), Scripted([Step("ok")])
    assert (await ask(FallbackProvider([small, large], Metrics()), [user(LONG)])).text == "ok"
    assert [message.text for message in large.requests[0].messages] == [LONG]


async def test_shorter_requests_leave_the_last_attempt_to_the_next_model() -> None:
    """Which gets the whole conversation: it may read more."""
    small, large = Scripted([too_much(0)] * 3), Scripted([Step("ok")])
    talk = [
        message for number in range(16) for message in (user(f"{number} {LONG}"), model("so it is"))
    ]
    assert (await ask(FallbackProvider([small, large], Metrics()), talk)).text == "ok"
    assert [len(request.messages) for request in small.requests] == [32, 16, 8]
    assert len(large.requests[0].messages) == 32


async def test_where_no_model_reads_so_much_the_user_hears_that() -> None:
    """After one attempt at each."""
    small, other = Scripted([too_much(0)]), Scripted([too_much(0)])
    with pytest.raises(TooLong):
        await ask(FallbackProvider([small, other], Metrics()), [user(LONG)])
    assert (len(small.requests), len(other.requests)) == (1, 1)


@pytest.mark.parametrize(
    ("status", "kind", "words", "window"),
    [
        (
            400,
            "context_length_exceeded",
            "This model's maximum context length is 8192 tokens. However, you",
            8_192,
        ),
        (
            400,
            "BadRequestError",
            "This model's maximum context length is 4096 tokens. However, you requested 5k",
            4_096,
        ),
        (
            400,
            "exceed_context_size_error",
            "request (5130 tokens) exceeds the available context size (4096 tokens)",
            4_096,
        ),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 208310 tokens > 200000 maximum",
            200_000,
        ),
        (
            400,
            "",
            (
                "The input token count (1072330) exceeds the maximum number of tokens allowed "
                "(1048575)."
            ),
            1_048_575,
        ),
        (
            400,
            "",
            (
                "However, the model is loaded with context length of only 4096 tokens, which is "
                "not "
                "enough."
            ),
            4_096,
        ),
        (400, "context_length_exceeded", "Your input exceeds the context window of this model.", 0),
        (413, "request_too_large", "Request exceeds the maximum size", 0),
    ],
)
def test_the_vendors_words_for_it_are_known(
    status: int, kind: str, words: str, window: int
) -> None:
    """With how much the model reads, where they say so."""
    error = Failures("m", "KEY", "").refusal(status, kind, words)
    assert isinstance(error, TooLong)
    assert (error.apology, error.window) == ("too_long", window)


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (400, "invalid_request_error", "messages: too long a word"),
        (500, "context_length_exceeded", ""),
        (429, "", ""),
    ],
)
def test_other_refusals_are_not_for_length(status: int, kind: str, words: str) -> None:
    """They stay what they are."""
    assert not isinstance(Failures("m", "KEY", "").refusal(status, kind, words), TooLong)
