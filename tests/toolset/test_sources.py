"""Tools without a fork: an operator's folder, and installed packages."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import pytest

from toolset.clock import GetCurrentTime
from toolset.sources import FoundTool, find_tools, installed_tools, tools_in
from toolset.testing import call_tool
from toolset.tool import ToolOutcome, ToolSetupError

GREET = """
from typing import Any, ClassVar

import httpx
from pydantic import BaseModel

{imports}


class GreetConfig(BaseModel):
    greet_with: str = "Hello"


class Greet:
    name: ClassVar[str] = "{name}"
    description: ClassVar[str] = "Greets somebody. Use it when somebody wants to be greeted."
    risk: ClassVar[str] = "low"
    Config: ClassVar[type[BaseModel]] = GreetConfig

    def __init__(self, word: str) -> None:
        self._word = word

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: GreetConfig) -> "Greet":
        return cls(config.greet_with)

    async def call(self, arguments: dict[str, Any], context: object) -> dict[str, Any]:
        return {{"text": self._word + {mark}}}
"""
ANY_OBJECT = json.dumps({"type": "object"})


def write_tool(folder: Path, name: str = "greet", imports: str = "", mark: str = "'!'") -> Path:
    """A tool with its schemas; the file is named after it."""
    for kind in ("parameters", "response"):
        path = folder / "schemas" / name / f"{kind}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ANY_OBJECT, "utf-8")
    path = folder / f"{name}.py"
    path.write_text(GREET.format(name=name, imports=imports, mark=mark), "utf-8")
    return path


def module(**members: Any) -> ModuleType:
    """A module in which these classes are defined."""
    made = ModuleType("toolset.new")
    for name, member in members.items():
        member.__module__ = made.__name__
        setattr(made, name, member)
    return made


def names(found: list[FoundTool]) -> list[str]:
    return [one.tool.name for one in found]


def test_a_tool_imported_from_elsewhere_is_not_found_twice() -> None:
    """Only classes defined in a module count."""
    made = ModuleType("toolset.new")
    made.Imported = GetCurrentTime  # type: ignore[attr-defined]
    assert tools_in(made, "toolset/new.py") == []


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        (
            {"name": "x", "risk": "low", "create": None},
            "Nearly is no tool yet, it lacks: description, Config",
        ),
        (
            {"name": "x", "risk": "low"},
            "Nearly is no tool yet, it lacks: description, Config, create",
        ),
        ({"call": lambda *_: {}}, r"Nearly\.call must be written with async def"),
        ({"Config": dict}, r"Nearly\.Config must be a pydantic BaseModel"),
        ({"Config": None}, r"Nearly\.Config must be a pydantic BaseModel"),
    ],
)
def test_a_class_that_is_nearly_a_tool_stops_start_up(
    declared: dict[str, Any], complaint: str
) -> None:
    """The error names the missing part."""
    bases = (GetCurrentTime,) if declared.keys() <= {"call", "Config"} else ()
    nearly = type("Nearly", bases, {"call": GetCurrentTime.call, **declared})
    with pytest.raises(ToolSetupError, match=rf"toolset/new\.py: {complaint}"):
        tools_in(module(Nearly=nearly), "toolset/new.py")


def test_a_helper_class_is_no_tool() -> None:
    """With call alone nothing is meant to be offered."""
    assert tools_in(module(Helper=type("Helper", (), {"call": None})), "toolset/new.py") == []


def test_a_protocol_is_no_tool() -> None:
    """Whatever methods it names."""

    class Maker(Protocol):
        def create(self) -> None: ...

        def call(self) -> None: ...

    assert tools_in(module(Maker=Maker), "toolset/new.py") == []


def test_what_tools_share_begins_with_an_underscore() -> None:
    """With a tool's name such a class is a tool all the same."""
    shared = type("_Shared", (), {"create": None, "call": GetCurrentTime.call})
    tool = type("_Tool", (GetCurrentTime,), {})
    assert tools_in(module(_Shared=shared, _Tool=tool), "toolset/new.py") == [tool]


def test_the_operators_tools_join_kaiwas_own(tmp_path: Path) -> None:
    """Found in the order of their names, with their file and the schemas beside it; helpers are not
    looked at."""
    path = write_tool(tmp_path)
    (tmp_path / "_helper.py").write_text("raise RuntimeError", "utf-8")
    (tmp_path / "notes.txt").write_text("no tool", "utf-8")
    found = find_tools(tmp_path)
    assert names(found) == sorted([*names(find_tools()), "greet"])
    (greet,) = (one for one in found if one.tool.name == "greet")
    assert (greet.origin, greet.schemas) == (str(path), tmp_path / "schemas")


def test_the_operators_tool_is_called_like_any_other(tmp_path: Path) -> None:
    """With its own variables, and with the helper beside it."""
    (tmp_path / "_helper.py").write_text("MARK = '?'", "utf-8")
    write_tool(tmp_path, imports="from ._helper import MARK", mark="MARK")
    assert call_tool("greet", {}, tmp_path) == ToolOutcome({"text": "Hello?"})
    assert call_tool("greet", {}, tmp_path, greet_with="Hi") == ToolOutcome({"text": "Hi?"})


def test_two_folders_do_not_mix(tmp_path: Path) -> None:
    """Files of the same name are different modules."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_tool(tmp_path / name, mark=f"' {name}'")
    assert [
        call_tool("greet", {}, tmp_path / name).response["text"] for name in ("one", "two")
    ] == [
        "Hello one",
        "Hello two",
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def f(:", r"cannot be loaded: SyntaxError: .*\(broken\.py, line 1\)"),
        ("import json\n\njson.loads('{')", r"cannot be loaded: JSONDecodeError: .*\(line 3\)"),
        ("raise ValueError('two\\nlines')", r"cannot be loaded: ValueError: two lines \(line 1\)"),
        (
            "import no_such_package",
            r"cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'",
        ),
        (
            "from ._no_such_helper import x",
            r"cannot be loaded: ModuleNotFoundError: No module named ",
        ),
        (
            "x = 1",
            r"has no tool: a function below @tool, or a class with name, .*, call\. A helper's "
            "name begins with _",
        ),
    ],
)
def test_a_broken_file_stops_start_up(tmp_path: Path, text: str, complaint: str) -> None:
    """In one line with file, reason and line; never silently."""
    path = tmp_path / "broken.py"
    path.write_text(text, "utf-8")
    with pytest.raises(ToolSetupError, match=f"{path} {complaint}") as stopped:
        find_tools(tmp_path)
    assert "\n" not in str(stopped.value)


def test_two_tools_of_one_name_stop_start_up(tmp_path: Path) -> None:
    """Both places are named."""
    path = write_tool(tmp_path, "get_weather")
    with pytest.raises(ToolSetupError) as stopped:
        find_tools(tmp_path)
    assert str(stopped.value) == (
        f"two tools are named get_weather: in toolset/weather.py and in {path}; rename one"
    )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(site: Path, package: str, value: str) -> Path:
    """A package with an entry point, and its folder for what is in it."""
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8"
    )
    (info / "entry_points.txt").write_text(f"[kaiwa.tools]\nany = {value}\n", "utf-8")
    folder = site / package
    folder.mkdir()
    (folder / "__init__.py").write_text("", "utf-8")
    return folder


@pytest.mark.parametrize("named", ["", ":Greet"], ids=["a module", "a class"])
def test_installed_packages_offer_tools(site: Path, named: str) -> None:
    """As an entry point; the schemas are in the same package."""
    package = f"pack_{'class' if named else 'module'}"
    folder = install(site, package, f"{package}.greet{named}")
    write_tool(folder)
    (found,) = installed_tools()
    assert (found.tool.name, found.origin) == ("greet", f"{package} ({package}.greet{named})")
    assert call_tool("greet", {}) == ToolOutcome({"text": "Hello!"})


def test_a_class_brings_no_other_tool_of_its_module(site: Path) -> None:
    """Who names one tool wants one."""
    folder = install(site, "pack_two", "pack_two.greet:Greet")
    path = write_tool(folder)
    path.write_text(
        path.read_text("utf-8") + "\n\nclass Second(Greet):\n    name = 'second'\n", "utf-8"
    )
    assert names(list(installed_tools())) == ["greet"]


@pytest.mark.parametrize(
    ("package", "value", "complaint"),
    [
        (
            "pack_gone",
            "pack_gone.nothing",
            r"cannot be loaded: ModuleNotFoundError: No module named 'pack_gone\.noth",
        ),
        ("pack_typo", "pack_typo:Greet", "cannot be loaded: AttributeError: .*Greet"),
        (
            "pack_empty",
            "pack_empty",
            "is no tool, nor a module with tools; see its entry point in kaiwa.tools",
        ),
        ("pack_value", "pack_value:__path__", "is no tool, nor a module with tools"),
    ],
)
def test_a_broken_entry_point_stops_start_up(
    site: Path, package: str, value: str, complaint: str
) -> None:
    """The package is named, and what it promised."""
    install(site, package, value)
    with pytest.raises(ToolSetupError, match=rf"{package} \({value}\) {complaint}"):
        list(installed_tools())


def test_a_module_without_a_package_has_no_place_for_schemas(site: Path) -> None:
    """Schemas lie in the package of their tool."""
    install(site, "pack_single", "single_greet")
    write_tool(site, "single_greet")
    with pytest.raises(
        ToolSetupError, match="single_greet must be in a package, with its schemas/ beside it"
    ):
        list(installed_tools())


def test_a_tool_that_is_switched_off_cannot_be_called_in_a_test() -> None:
    """The test of such a tool gets the reason."""
    with pytest.raises(ToolSetupError, match="read_file is switched off by its settings"):
        call_tool("read_file", {})
