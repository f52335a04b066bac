"""What a first request to the model costs, measured through a whole process."""

from __future__ import annotations

from benchmarks.tokens import (
    PREFIX,
    declarations_of,
    estimate,
    requests_of_a_new_person,
    rows_of_money,
    rows_of_parts,
    written,
)

MOST_CHARACTERS = 13_000
LEAST_TOOLS = 15
# Characters of a response schema, unless a tool asks for more; none of Kaiwa's does.
MOST_OF_RESPONSE = 150


async def test_a_first_request_is_small_and_its_beginning_stays_the_same() -> None:
    """A new person's hello in LINE with all defaults; the next request repeats prompt and tools
    byte for byte."""
    first, second = await requests_of_a_new_person()
    declared = declarations_of(first)
    assert len(written(first)) <= MOST_CHARACTERS
    assert len(declared) >= LEAST_TOOLS
    responses = [written(one.get("responseJsonSchema", "")) for one in declared]
    assert max(len(response) for response in responses) <= MOST_OF_RESPONSE
    assert "find_tools" in [one["name"] for one in declared]
    before, after = ({name: body[name] for name in PREFIX} for body in (first, second))
    assert written(before) == written(after)
    parts = list(rows_of_parts(first, estimate))
    assert parts[-1][1] == f"{len(written(first)):,}"
    assert {one["name"] for one in declared} <= {row[0] for row in parts}
    assert len(next(rows_of_money([first, second], estimate))) == 5
