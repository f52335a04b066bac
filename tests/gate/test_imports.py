"""A module imports few of ours, and within a package no long chain of them."""

from __future__ import annotations

import grimp
import pytest

MOST, LONGEST = 15, 6


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Who imports whom, for more than its types."""
    return grimp.build_graph("bot", "toolset", exclude_type_checking_imports=True, cache_dir=None)


def test_a_module_imports_few_others(graph: grimp.ImportGraph) -> None:
    """Whoever changes it need know no more."""
    imported = {one: graph.find_modules_directly_imported_by(one) for one in graph.modules}
    assert [one for one, others in imported.items() if len(others) > MOST] == []


def test_chains_of_imports_within_a_package_are_short(graph: grimp.ImportGraph) -> None:
    """Whoever reads a package need go down no further."""
    chains = [longest_chain(graph, [one]) for one in graph.modules]
    assert [chain for chain in chains if len(chain) > LONGEST] == []


def longest_chain(graph: grimp.ImportGraph, chain: list[str]) -> list[str]:
    """The longest one that begins so, within one package."""
    package = package_of(graph, chain[-1])
    others = graph.find_modules_directly_imported_by(chain[-1])
    inside = [one for one in sorted(others) if package_of(graph, one) == package]
    longer = [longest_chain(graph, [*chain, one]) for one in inside if one not in chain]
    return max(longer, key=len, default=chain)


def package_of(graph: grimp.ImportGraph, module: str) -> str:
    """The package that a module stands in; a package stands in itself."""
    return module if graph.find_children(module) else module.rpartition(".")[0]
