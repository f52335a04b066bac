"""What ``get_weather`` may be asked for, and what an operator may set."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.wttr import WttrFake
from tests.toolset.contexts import context
from toolset.tool import ToolOutcome, ValidatedTool


@pytest.mark.parametrize(
    "location",
    [
        "~Eiffel Tower",
        "..",
        "a..b",
        "a?b",
        "a#b",
        "a\\b",
        "50%",
        "…",
        "．．",
        "／etc",
        "：help",
        "＠example",
        "～x",
        "、",
        "()",
    ],
)
async def test_what_could_be_more_than_a_place_is_refused(
    wttr: WttrFake, get_weather: ValidatedTool, location: str
) -> None:
    """Also where it only becomes so by normalising; nothing is sent."""
    assert await get_weather.call({"location": location}, context()) == ToolOutcome.error(
        "invalid parameters: location: write the name of a place, such as Tokyo or Portland, Oregon"
    )
    assert wttr.requests == []


@pytest.mark.parametrize("location", ["LA", "uk", "Page", "moon", "v2", "Å"])
async def test_words_the_service_takes_for_something_else_are_refused(
    wttr: WttrFake, get_weather: ValidatedTool, location: str
) -> None:
    """Two letters are a language to it, and then it reports the weather of its caller's own
    address."""
    assert await get_weather.call({"location": location}, context()) == ToolOutcome.error(
        f"location not found (write the full name of {location}, with its region or country)"
    )
    assert wttr.requests == []


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    location=st.text(max_size=110)
    | st.text(alphabet="ab./:@~?#%\\&=+;,\r\n\t\0é東．／", max_size=20)
)
async def test_no_place_reaches_another_path_or_host(
    wttr: WttrFake, get_weather: ValidatedTool, location: str
) -> None:
    """Whatever is asked for, what goes out is one path component and our own query."""
    outcome = await get_weather.call({"location": location}, context())
    assert outcome.is_error
    for request in wttr.requests:
        path, _, query = request.target.partition("?")
        assert path.isascii()
        assert path.startswith("/")
        assert not set("/@:?#~").intersection(unquote(path[1:]))
        assert unquote(path[1:]).isprintable()
        assert query == "format=j1"
