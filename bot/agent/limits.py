"""The limits of a turn: its calls, what all of them may read, and the size of a request where the
day has little left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from bot.transcript import Message, Part, Text, ToolCall, ToolResult, encode

TOKEN_CHARACTERS = 3  # about; the vendor counts exactly, but only afterwards
TOLERANCE = 1.2
LEAST_CHARACTERS = 4_000  # of all results: enough to answer with
CUT = "[cut: the limit of today leaves no room for more]"


def room_for_results(messages: Sequence[Message], tokens_left: int | None) -> int | None:
    """The characters that all results of a request may have; None if the request costs no more than
    the day has left.

    Only what a conversation can make grow is estimated. The system prompt and the tools are the
    same in each request, and a file costs what it holds, which its size does not tell.

    Args:
        tokens_left: None without a limit.
    """
    if tokens_left is None:
        return None
    of_results = sum(_characters(part) for message in messages for part in message.results)
    of_others = sum(_characters_of_others(message) for message in messages)
    if of_results + of_others <= tokens_left * TOKEN_CHARACTERS * TOLERANCE:
        return None
    return max(LEAST_CHARACTERS, tokens_left * TOKEN_CHARACTERS - of_others)


def with_results_cut(messages: Iterable[Message], characters: int) -> list[Message]:
    """The messages with so many characters of results, those of the newest round first."""
    shorter: list[Message] = []
    for message in reversed(list(messages)):
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                size = _characters(part)
                part = _cut(part, characters) if size > characters else part
                characters = max(0, characters - size)
            parts.append(part)
        shorter.append(replace(message, parts=tuple(parts)) if message.results else message)
    shorter.reverse()
    return shorter


def _cut(result: ToolResult, characters: int) -> ToolResult:
    beginning = encode(result.response).decode()[:characters]
    return replace(result, response={"output": f"{beginning}{CUT}"})


def _characters_of_others(message: Message) -> int:
    if message.opaque:  # is sent in place of the parts
        return len(message.opaque.data)
    quoted = sum(len(quote.line) for quote in message.quotes)
    parts = sum(_characters(part) for part in message.parts if not isinstance(part, ToolResult))
    return len(message.context) + quoted + parts


def _characters(part: Part) -> int:
    match part:
        case Text(text):
            return len(text)
        case ToolCall():
            return len(encode(part.arguments).decode())
        case ToolResult():
            return len(encode(part.response).decode())
    return 0


MOST_CALLS = 24  # of one response
MOST_CALLS_OF_TURN = 64
MOST_READ = 512 * 1024  # bytes of all results of a turn
TOO_MANY_CALLS = (
    f"not called: a response may have {MOST_CALLS} calls, and a turn {MOST_CALLS_OF_TURN}. Answer "
    "with what you have."
)
TOO_MUCH_READ = (
    "too much was read in this turn: this result is left out. Answer with what you have."
)


def calls_beyond(calls: Sequence[ToolCall], before: Sequence[Message]) -> Sequence[ToolCall]:
    """The calls of a response that are not made.

    Args:
        before: the turn's messages before the response.
    """
    earlier = sum(min(len(message.calls), MOST_CALLS) for message in before)
    return calls[max(0, min(MOST_CALLS, MOST_CALLS_OF_TURN - earlier)) :]


def not_made(call: ToolCall) -> ToolResult:
    """The result of a call that is not made."""
    return ToolResult(call.id, call.name, {"error": TOO_MANY_CALLS}, is_error=True)


def left_out(result: ToolResult) -> ToolResult:
    """What takes the place of a result that is too much. The call was made, so its files stay."""
    return ToolResult(
        result.call_id, result.name, {"error": TOO_MUCH_READ}, is_error=True, files=result.files
    )
