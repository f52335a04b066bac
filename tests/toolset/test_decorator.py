"""``@tool``: a function's types and docstring are its tool, and what cannot be one says what to
change."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import SettingsError
from bot.plugins import open_tools, tool_variables
from bot.settings import load
from tests.project import ROOT
from tests.toolset.contexts import context
from tests.toolset.test_sources import install
from toolset.decorator import schemas_of, tool, tool_of
from toolset.sources import find_tools, folder_tools, installed_tools, tools_in
from toolset.testing import call_tool
from toolset.tool import NoConfig, ToolDefinition, ToolOutcome, ToolSetupError, ValidatedTool

IMPORTS = """
from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import httpx
from pydantic import BaseModel, Field

from toolset.decorator import Config, tool
from toolset.shown import Card, Shown
from toolset.tool import ToolContext, ToolError

"""
BOOK = '''
class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Booking:
    day: date
    size: Size
    rest: dict[str, Any]


@tool(risk="high", name="book_table", timeout_s=3, titles={"en": "Book a table", "ja": "予約"})
async def book(
    day: date,
    guests: Annotated[int, Field(ge=1, le=8)],
    *,
    size: Size = Size.SMALL,
    json: Annotated[str, "What else to say."] = "",
    wishes: list[Literal["window", "quiet"]] | None = None,
    smoking: bool = False,
    budget: float = Field(10, ge=0),
) -> Booking:
    """Books a table. Use it when somebody
    wants to eat.

    Not for groups.

    Args:
        day: The day,
            in the place's zone.
        guests (int): How many come: all of them.
        json: Not this one.

    Returns:
        What was booked.
    """
    rest = {"guests": guests, "note": json, "wishes": wishes, "smoking": smoking, "budget": budget}
    return Booking(day, size, rest)
'''


def write(folder: Path, text: str, name: str = "own") -> Path:
    """A file of the operator's."""
    path = folder / f"{name}.py"
    path.write_text(IMPORTS + text, "utf-8")
    return path


def schemas_in(folder: Path) -> tuple[Any, Any]:
    """Those of the folder's only tool."""
    (found,) = folder_tools(folder)
    return schemas_of(found.tool, found.schemas)


def returning(kind: str, value: str) -> str:
    """A tool that returns something of a type."""
    return f'@tool(risk="low")\ndef give() -> {kind}:\n    """Gives."""\n    return {value}\n'


def test_the_schemas_are_made_of_the_types(tmp_path: Path) -> None:
    """Descriptions are the docstring's where the type has none; what has no limit gets one; no
    property slips through."""
    write(tmp_path, BOOK)
    parameters, response = schemas_in(tmp_path)
    size = {"enum": ["small", "large"], "title": "Size", "type": "string"}
    wishes = {"enum": ["window", "quiet"], "type": "string"}
    assert parameters == {
        "type": "object",
        "additionalProperties": False,
        "$defs": {"Size": size},
        "properties": {
            "day": {
                "type": "string",
                "format": "date",
                "maxLength": 4000,
                "description": "The day, in the place's zone.",
            },
            "guests": {
                "type": "integer",
                "minimum": 1,
                "maximum": 8,
                "description": "How many come: all of them.",
            },
            "size": {"$ref": "#/$defs/Size", "default": "small"},
            "json": {
                "type": "string",
                "maxLength": 4000,
                "default": "",
                "description": "What else to say.",
            },
            "wishes": {
                "anyOf": [{"type": "array", "items": wishes, "maxItems": 100}, {"type": "null"}],
                "default": None,
            },
            "smoking": {"type": "boolean", "default": False},
            "budget": {"type": "number", "minimum": 0, "default": 10},
        },
        "required": ["day", "guests"],
    }
    assert response["required"] == ["day", "size", "rest"]
    assert response["additionalProperties"] is False


async def test_it_is_declared_as_a_class_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same options, and their defaults; READ_ONLY leaves out what acts."""
    path = write(tmp_path, BOOK)
    monkeypatch.setenv("TOOLS_DIR", str(tmp_path))
    async with open_tools(load()) as tools:
        made = tools["book_table"]
        declared: ToolDefinition = made.definition
        assert made.origin == str(path)
        assert declared.description == (
            "Books a table. Use it when somebody wants to eat. Not for groups."
        )
        assert (declared.risk, declared.idempotent, declared.own) == ("high", False, False)
        assert (declared.title("ja"), made.per_turn) == ("予約", 0)
        assert [each.name for each in tools.low_risk().definitions] == [
            each.name for each in tools.definitions if each.only_reads
        ]
    monkeypatch.setenv("READ_ONLY", "1")
    async with open_tools(load()) as tools:
        assert "book_table" not in tools


def test_a_call_gets_what_the_types_say(tmp_path: Path) -> None:
    """A date, a member of an Enum; defaults where the model says nothing; the result as JSON."""
    write(tmp_path, BOOK)
    booked = call_tool("book_table", {"day": "2026-02-03", "guests": 2}, tmp_path)
    rest = {"guests": 2, "note": "", "wishes": None, "smoking": False, "budget": 10}
    assert booked == ToolOutcome({"day": "2026-02-03", "size": "small", "rest": rest})
    asked = {"day": "2026-02-03", "guests": 2.0, "size": "large", "wishes": ["quiet"], "json": "x"}
    booked = call_tool("book_table", asked, tmp_path)
    rest |= {"wishes": ["quiet"], "note": "x"}
    assert booked == ToolOutcome({"day": "2026-02-03", "size": "large", "rest": rest})


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"guests": 9}, "guests: 9 is greater than the maximum of 8"),
        ({"guests": "2"}, "guests: '2' is not of type 'integer'"),
        ({"guests": True}, "guests: True is not of type 'integer'"),
        ({"size": "huge"}, "size: 'huge' is not one of ['small', 'large']"),
        ({"colour": "red"}, "Additional properties are not allowed ('colour' was unexpected)"),
        ({"wishes": ["quiet"] * 101}, "wishes: "),
        ({"json": "x" * 4001}, "json: "),
        ({"day": "2026-02-30"}, "day: Input should be a valid date"),
        ({"day": "hush"}, "day: Input should be a valid date"),
    ],
)
def test_what_does_not_fit_never_reaches_it(
    tmp_path: Path, changed: dict[str, Any], complaint: str
) -> None:
    """In the words that a class's tool has; what only pydantic knows is said without the value."""
    write(tmp_path, BOOK)
    arguments = {"day": "2026-02-03", "guests": 2} | changed
    error = call_tool("book_table", arguments, tmp_path).response["error"]
    assert error.startswith(f"invalid parameters: {complaint}")
    assert "hush" not in error


GIVEN = '''
class OwnConfig(Config):
    own_word: str = "Hello"


@tool(risk="low")
async def greet(
    whom: str, config: OwnConfig, http: httpx.AsyncClient, context: ToolContext
) -> dict[str, str]:
    """Greets.

    Args:
        whom: Who it is.
        http: Not for the model.
    """
    return {"text": f"{config.own_word}, {whom}", "http": type(http).__name__, "by": context.user}
'''


def test_some_parameters_are_filled_by_kaiwa(tmp_path: Path) -> None:
    """The shared client, the context, and the tool's own variables, by their types; the model knows
    nothing of them."""
    write(tmp_path, GIVEN)
    assert list(schemas_in(tmp_path)[0]["properties"]) == ["whom"]
    assert "OWN_WORD" in tool_variables(tmp_path)
    greeted = call_tool("greet", {"whom": "Aki"}, tmp_path, own_word="Hi")
    assert greeted.response == {"text": "Hi, Aki", "http": "AsyncClient", "by": "tester"}
    assert call_tool("greet", {"whom": "Aki", "config": {}}, tmp_path).is_error


async def test_a_wrong_variable_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, as any other."""
    write(tmp_path, GIVEN.replace('own_word: str = "Hello"', "own_word: int = 1"))
    monkeypatch.setenv("TOOLS_DIR", str(tmp_path))
    monkeypatch.setenv("OWN_WORD", "many")
    with pytest.raises(SettingsError, match="OWN_WORD"):
        async with open_tools(load()):
            pass


@pytest.mark.parametrize(
    ("kind", "value", "response"),
    [
        ("str", "'a'", {"result": "a"}),
        ("list[date]", "[date(2026, 1, 2)]", {"result": ["2026-01-02"]}),
        ("int | None", "None", {"result": None}),
        ("dict[str, Any]", "{'a': 1}", {"a": 1}),
        ("Shown", "Shown({'a': 1}, choices=('yes', 'no'))", {"a": 1}),
        ("str", "3", {"error": "invalid response: result: 3 is not of type 'string'"}),
        ("Any", "{'a': 1}", {"result": {"a": 1}}),
    ],
)
def test_a_result_is_an_object(
    tmp_path: Path, kind: str, value: str, response: dict[str, Any]
) -> None:
    """What is none stands in one; what is not of the type is an error, as of a class."""
    write(tmp_path, returning(kind, value))
    outcome = call_tool("give", {}, tmp_path)
    assert outcome.response == response
    assert outcome.choices == (("yes", "no") if kind == "Shown" else ())


def test_models_inside_a_result_have_a_schema(tmp_path: Path) -> None:
    """Which stands where references look for it."""
    model = "class Pair(BaseModel):\n    left: int\n\n\n"
    write(tmp_path, model + returning("list[Pair]", "[Pair(left=1), {'left': 'x'}]"))
    response = schemas_in(tmp_path)[1]
    assert response["properties"]["result"]["items"] == {"$ref": "#/$defs/Pair"}
    error = call_tool("give", {}, tmp_path).response["error"]
    assert error == "invalid response: result[1].left: 'x' is not of type 'integer'"


def complaint_of(folder: Path, text: str) -> str:
    """The line that stops the start, behind the path of the file."""
    path = write(folder, text)
    with pytest.raises(ToolSetupError) as stopped:
        find_tools(folder)
    at, complaint = str(stopped.value).split(str(path), 1)
    assert (at, "\n" in complaint) == ("", False)
    return complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("@tool\ndef f() -> str:\n    'F.'", 'it has no risk; write @tool(risk="low") if '),
        ("@tool()\ndef f() -> str:\n    'F.'", "it has no risk; write"),
        (
            "@tool(risk='low', timeout=3)\ndef f() -> str:\n    'F.'",
            "@tool has no timeout; it has risk, name, idempotent, timeout_s, ",
        ),
        ("@tool(risk='low')\ndef f() -> str: ...", "it has no docstring; write what it does and"),
        (
            "@tool(risk='low')\ndef f(a) -> str:\n    'F.'",
            "a has no type; write one, such as a: str",
        ),
        (
            "@tool(risk='low')\ndef f(*a: int) -> str:\n    'F.'",
            "the model cannot name *a: 'int'; write each parameter by itself",
        ),
        (
            "@tool(risk='low')\ndef f(**a: int) -> str:\n    'F.'",
            "the model cannot name **a: 'int'; write",
        ),
        (
            "@tool(risk='low')\ndef f(a: int, /) -> str:\n    'F.'",
            "the model cannot name a: 'int'; write",
        ),
        ("@tool(risk='low')\ndef f(a: int):\n    'F.'", "it has no type of what it returns; write"),
        ("@tool(risk='low')\ndef f(a: int) -> None:\n    'F.'", "it has no type of what it return"),
        (
            "@tool(risk='low')\ndef f(a: int, b: object) -> str:\n    'F.'",
            "b: object has no JSON Schema; write str, int, ",
        ),
        ("@tool(risk='low')\ndef f(a: Any) -> str:\n    'F.'", "a: Any has no JSON Schema; write"),
        (
            "@tool(risk='low')\ndef f(a: dict) -> str:\n    'F.'",
            "a: dict has no JSON Schema; write",
        ),
        (
            "@tool(risk='low')\ndef f() -> ToolContext:\n    'F.'",
            "what it returns: toolset.tool.ToolContext has no JSON Schema; write",
        ),
        (
            "@tool(risk='low')\ndef f(a: Missing) -> str:\n    'F.'",
            "name 'Missing' is not defined; its",
        ),
        (
            "@tool(risk='low')\ndef f(_a: int) -> str:\n    'F.'",
            "pydantic has no field named _a;",
        ),
        (
            '@tool(risk=\'low\')\ndef f(day: str) -> str:\n    """F.\n\n    Args:\n        dya: x\n'
            '    """',
            "Args: describes dya, which is no parameter; rename one of them",
        ),
        (
            "class A(Config):\n    a: int = 1\n\nclass B(Config):\n    b: int = 1\n\n"
            "@tool(risk='low')\ndef f(a: A, b: B) -> str:\n    'F.'",
            "it has two types of Config; put their variables into one",
        ),
    ],
)
def test_what_cannot_be_a_tool_stops_the_start(tmp_path: Path, text: str, complaint: str) -> None:
    """One line with the file, the function, and what to change."""
    assert complaint_of(tmp_path, text).startswith(f": f: {complaint}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("@tool(risk='low')\nclass F: ...", "TypeError: @tool stands above a function, and <class"),
        (
            "@tool(risk='low')\ndef f(a: Annotated[str, Field(pattern='(')]) -> str:\n    'F.'",
            "SchemaError: ",
        ),
    ],
)
def test_what_else_goes_wrong_is_one_line_too(tmp_path: Path, text: str, complaint: str) -> None:
    """With the file."""
    assert complaint_of(tmp_path, text).startswith(f" cannot be loaded: {complaint}")


async def test_a_value_of_an_option_is_checked_as_a_classs_attribute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A risk that does not exist would slip past approval."""
    path = write(tmp_path, returning("str", "'a'").replace('"low"', '"none"'))
    monkeypatch.setenv("TOOLS_DIR", str(tmp_path))
    with pytest.raises(SettingsError) as stopped:
        async with open_tools(load()):
            pass
    assert str(stopped.value) == f"tools: {path}: tool give: risk must be one of low, high"


def test_two_functions_of_one_name_stop_the_start(tmp_path: Path) -> None:
    """A second name of the same function is none; both places are named."""
    path = write(tmp_path, f"{returning('str', repr('a'))}\nsame = give\n")
    assert [found.tool.name for found in folder_tools(tmp_path)] == ["give"]
    other = write(tmp_path, returning("str", "'b'").replace("def give", "def get_weather"), "two")
    with pytest.raises(ToolSetupError) as stopped:
        find_tools(tmp_path)
    twice = f"two tools are named get_weather: in toolset/weather.py and in {other}; rename one"
    assert str(stopped.value) == twice
    assert path.is_file()


@pytest.mark.parametrize("named", ["", ":give"], ids=["a module", "a function"])
def test_installed_packages_offer_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Also a module without a package: there are no schemas to stand beside it."""
    monkeypatch.syspath_prepend(tmp_path)
    module = f"single_{'function' if named else 'module'}"
    install(tmp_path, f"{module}_pack", f"{module}{named}")
    text = returning("str", "'a'")
    write(tmp_path, text if not named else text + text.replace("give", "other"), module)
    (found,) = installed_tools()
    assert (found.tool.name, found.origin) == ("give", f"{module}_pack ({module}{named})")
    assert call_tool("give", {}) == ToolOutcome({"result": "a"})


@tool(risk="low")
def where() -> str:
    """Says where it runs."""
    return threading.current_thread().name


def made(function: Any) -> ValidatedTool:
    """A function's tool, between its schemas."""
    kind = tool_of(function, "here")
    http: Any = httpx.AsyncClient()
    built: Any = kind.create(http, NoConfig())
    return ValidatedTool(built, *schemas_of(kind))


async def test_what_is_not_async_runs_in_a_thread() -> None:
    """It can be called as before; its module is the tool's once."""
    assert where() == threading.current_thread().name
    outcome = await made(where).call({}, context())
    assert outcome.response["result"] != threading.current_thread().name
    assert tool_of(where, "here") is tool_of(where, "here")


async def test_it_keeps_to_its_deadline_and_delays_no_other() -> None:
    """Whether it is async or not; a thread that goes on is its own."""
    released = threading.Event()

    @tool(risk="low", timeout_s=0.05)
    def hang() -> str:
        """Waits."""
        released.wait()
        return "late"

    @tool(risk="low", timeout_s=0.05)
    async def hang_too() -> str:
        """Waits."""
        await asyncio.Event().wait()
        return "never"

    stuck = made(hang)
    try:
        for each in (stuck, stuck, made(hang_too)):
            outcome = await each.call({}, context())
            assert outcome == ToolOutcome.error("timed out after 0.05 s")
        assert not (await made(where).call({}, context())).is_error
    finally:
        released.set()


@tool(risk="low")
async def echo(
    text: str, number: int, part: float, flag: bool, texts: list[str], maybe: int | None = None
) -> list[Any]:
    """Gives everything back."""
    return [text, number, part, flag, texts, maybe]


@given(
    text=st.text(max_size=20),
    number=st.integers(-(2**53), 2**53),
    part=st.floats(allow_nan=False, allow_infinity=False),
    flag=st.booleans(),
    texts=st.lists(st.text(max_size=5), max_size=4),
    maybe=st.none() | st.integers(-9, 9),
)
def test_plain_values_arrive_as_they_are(**values: Any) -> None:
    """And come back."""
    outcome = asyncio.run(made(echo).call(values, context()))
    assert outcome == ToolOutcome({"result": list(values.values())})


def test_the_example_of_the_documents_works_as_printed(tmp_path: Path) -> None:
    """A file, and the command below it."""
    text = (ROOT / "docs" / "tools.md").read_text("utf-8")
    example = text.split("```python\n")[1].split("```")[0]
    (tmp_path / "dice.py").write_text(example, "utf-8")
    rolled = call_tool("roll_dice", {"count": 3}, tmp_path).response["result"]
    assert len(rolled) == 3
    assert set(rolled) <= set(range(1, 7))
    error = call_tool("roll_dice", {"count": 30}, tmp_path).response["error"]
    assert error == "invalid parameters: count: 30 is greater than the maximum of 20"
    assert len([line for line in example.splitlines() if line]) <= 12
    assert "kaiwa tools call roll_dice '{\"count\": 2}'" in text


def test_a_function_imported_from_elsewhere_is_not_found_twice() -> None:
    """As a class is not."""
    module: Any = type(asyncio)("toolset.new")
    module.where = where
    assert tools_in(module, "toolset/new.py") == []
