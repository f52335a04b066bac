"""What ``get_weather`` may be asked for, and what an operator may set."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.fakes.wttr import WttrFake
from tests.toolset.contexts import context
from toolset.tool import ToolOutcome, ValidatedTool
from toolset.weather import WeatherConfig


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


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "wttr.in",
        "ftp://wttr.in",
        "https://",
        "https://wttr.in/path",
        "https://a@wttr.in",
        "https://wttr.in?x",
        "https://wttr.in#x",
    ],
)
def test_a_base_url_is_scheme_host_and_port(base_url: str) -> None:
    """Anything else stops start-up."""
    with pytest.raises(ValidationError, match="without a path"):
        WeatherConfig(wttr_base_url=base_url)


def test_a_base_url_may_end_in_a_slash() -> None:
    """By default it is the public service, for three seconds."""
    assert (
        WeatherConfig(wttr_base_url="http://127.0.0.1:8080/").wttr_base_url
        == "http://127.0.0.1:8080"
    )
    assert WeatherConfig() == WeatherConfig(wttr_base_url="https://wttr.in", weather_timeout_s=3)
