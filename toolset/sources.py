"""Where tools come from: the files of this folder, those of features, an operator's folder, and
installed packages."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import blake2s
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from inspect import getmembers, isclass, iscoroutinefunction
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from toolset.decorator import is_declared, is_function, tool_of
from toolset.tool import Tool, ToolSetupError

GROUP = "kaiwa.tools"  # of entry points
HERE = Path(__file__).parent
FEATURES = HERE.parent / "bot" / "features"  # whose tools are in ``tools.py`` of their folder
PARTS = ("name", "description", "risk", "Config", "create", "call")


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A tool class.

    Attributes:
        origin: the file or package it comes from, for people.
        schemas: the folder that holds ``<name>/parameters.json``, of a tool that is no function.
        own: one of Kaiwa's.
    """

    tool: type[Tool]
    origin: str
    schemas: Traversable | None
    own: bool = False


def find_tools(folder: Path | None = None) -> list[FoundTool]:
    """Every tool there is, in the order of their names.

    Args:
        folder: the operator's; its files are imported, so they are trusted like Kaiwa's own.

    Raises:
        ToolSetupError: a file that cannot be loaded, a class that is nearly a tool, two tools of
            one name.
    """
    found = sorted(
        [*own_tools(), *(folder_tools(folder) if folder else ()), *installed_tools()],
        key=lambda one: one.tool.name,
    )
    for one, other in pairwise(found):
        if one.tool.name == other.tool.name:
            raise ToolSetupError(
                f"two tools are named {one.tool.name}: in {one.origin} and in {other.origin}; "
                "rename one"
            )
    return found


def own_tools() -> Iterator[FoundTool]:
    """The tools of this folder and of features; helper modules without tools are skipped."""
    for path in [*_modules(HERE), *sorted(FEATURES.glob("*/tools.py"))]:
        origin = path.relative_to(HERE.parent)
        beside = path.parent / "schemas"
        schemas = beside if beside.is_dir() else files("schemas")
        module = importlib.import_module(".".join(origin.with_suffix("").parts))
        for tool in tools_in(module, origin.as_posix()):
            yield FoundTool(tool, origin.as_posix(), schemas, own=True)


def folder_tools(folder: Path) -> Iterator[FoundTool]:
    """The tools of an operator's folder; helper modules begin with an underscore."""
    for path in _modules(folder):
        tools = tools_in(import_file(path), str(path))
        if not tools:
            either = f"a function below @tool, or a class with {', '.join(PARTS)}"
            raise ToolSetupError(f"{path} has no tool: {either}. A helper's name begins with _")
        for tool in tools:
            yield FoundTool(tool, str(path), folder / "schemas")


def installed_tools() -> Iterator[FoundTool]:
    """The tools of installed packages: entry points that name a module, a function, or a class
    with ``schemas/`` beside it."""
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.value):
        origin = f"{entry.dist.name if entry.dist else 'a package'} ({entry.value})"
        loaded: Any = call_guarded(entry.load, origin)
        module = (
            loaded
            if isinstance(loaded, ModuleType)
            else sys.modules.get(getattr(loaded, "__module__", ""))
        )
        tools = tools_in(module, origin) if module else []
        if loaded is not module:
            named = tool_of(loaded, origin) if is_declared(loaded) else loaded
            tools = [tool for tool in tools if tool is named]
        if module is None or not tools:
            raise ToolSetupError(
                f"{origin} is no tool, nor a module with tools; see its entry point in {GROUP}"
            )
        for tool in tools:
            beside = None if is_function(tool) else _schemas_beside(module, entry, origin)
            yield FoundTool(tool, origin, beside)


def tools_in(module: ModuleType, origin: str) -> list[type[Tool]]:
    """The tool classes defined in one module, those of functions last.

    Raises:
        ToolSetupError: a class or a function that lacks a part of a tool.
    """
    found: list[type[Any]] = [member for _, member in getmembers(module, isclass)]
    tools = [
        member for member in found if member.__module__ == module.__name__ and _is_meant(member)
    ]
    for tool in tools:
        if missing := [part for part in PARTS if not hasattr(tool, part)]:
            raise ToolSetupError(
                f"{origin}: {tool.__name__} is no tool yet, it lacks: {', '.join(missing)}"
            )
        if not iscoroutinefunction(tool.call):
            raise ToolSetupError(f"{origin}: {tool.__name__}.call must be written with async def")
        if not (isclass(tool.Config) and issubclass(tool.Config, BaseModel)):
            raise ToolSetupError(f"{origin}: {tool.__name__}.Config must be a pydantic BaseModel")
    functions = dict.fromkeys(member for _, member in getmembers(module, is_declared))
    for function in functions:
        if function.__module__ == module.__name__:
            tools.append(call_guarded(partial(tool_of, function, origin), origin))
    return tools


def import_file(path: Path) -> ModuleType:
    """Import a file of an operator's folder as a module of a package, so that ``from ._helper
    import x`` works.

    Raises:
        ToolSetupError: it cannot be loaded.
    """
    folder = path.parent.resolve()
    package = f"tools_dir_{blake2s(str(folder).encode(), digest_size=4).hexdigest()}"
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [str(folder)]
    module: ModuleType = call_guarded(
        lambda: importlib.import_module(f"{package}.{path.stem}"), str(path)
    )
    return module


def call_guarded(action: Callable[[], Any], origin: str) -> Any:
    """Run start-up code of somebody else.

    Raises:
        ToolSetupError: for any exception, in one line that says where.
    """
    try:
        return action()
    except ToolSetupError:
        raise
    except Exception as error:  # foreign code may raise anything; start-up ends with one line
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.endswith(origin)
        ]
        where = f" (line {frames[-1].lineno})" if frames else ""
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ToolSetupError(f"{origin} cannot be loaded: {reason}{where}") from error


def _modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))


def _is_meant(member: type[Any]) -> bool:
    """Whether a class is to be a tool. Protocols such as ``Tool`` are not, nor is what tools have
    in common: it begins with _ and has no tool's name."""
    if getattr(member, "_is_protocol", False):
        return False
    if member.__name__.startswith("_") and not hasattr(member, "name"):
        return False
    return hasattr(member, "call") and (hasattr(member, "create") or hasattr(member, "risk"))


def _schemas_beside(module: ModuleType, entry: EntryPoint, origin: str) -> Traversable:
    if not module.__package__:
        raise ToolSetupError(
            f"{origin}: {entry.module} must be in a package, with its schemas/ beside it"
        )
    return files(module.__package__) / "schemas"
