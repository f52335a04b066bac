"""The code stays readable: short files, short functions, tests that say what they show."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.project import files, name_of

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60

# What may be longer: "path" or "path::function", each with its reason.
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parsed() -> dict[Path, ast.Module]:
    """Every file of ours."""
    return {path: ast.parse(path.read_text("utf-8")) for path in files("*.py")}


@cache
def functions() -> list[tuple[str, Function]]:
    """Every function with its name in the form of LONG_FUNCTIONS."""
    walked = ((name_of(path), statements(module)) for path, module in parsed().items())
    return [
        (f"{name}::{node.name}", node)
        for name, nodes in walked
        for node in nodes
        if isinstance(node, Function)
    ]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements below a node; no expression holds a function with a name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from statements(child)


def test_files_are_short() -> None:
    """A file holds one idea, in 500 lines at most, or stands in the list with a reason."""
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in files("*.py")}
    long = {name: length for name, length in lengths.items() if length > MAX_FILE_LINES}
    assert long.keys() == LONG_FILES.keys(), long


def test_functions_are_short() -> None:
    """A function has a step a line, in 60 lines at most, or stands in the list with a reason."""
    lengths = {
        name: (node.end_lineno or node.lineno) - node.lineno + 1 for name, node in functions()
    }
    long = {name: length for name, length in lengths.items() if length > MAX_FUNCTION_LINES}
    assert long.keys() == LONG_FUNCTIONS.keys(), long


def test_every_test_says_what_it_shows() -> None:
    """A test without a docstring leaves its reader guessing."""
    tests = [(name, node) for name, node in functions() if node.name.startswith("test_")]
    assert tests
    assert [name for name, node in tests if not ast.get_docstring(node)] == []


def test_every_module_states_its_duty() -> None:
    """The docstring of a module is the one place that says what it is there for."""
    assert [
        name_of(path) for path, module in parsed().items() if not ast.get_docstring(module)
    ] == []
