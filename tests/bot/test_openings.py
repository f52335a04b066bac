"""What the page offers to begin with goes with the tools that are on."""

from __future__ import annotations

from bot import texts
from bot.app.openings import FOR_ANY, commands, starters
from bot.web.page import PageCommand
from toolset.calculate import Calculate
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap
from toolset.units import ConvertUnits

CATALOGUE = texts.load()


def on(*tools: Calculate | ConvertUnits) -> ToolMap:
    """These tools, and no others."""
    return ToolMap(ValidatedTool(tool, *read_schemas(tool.name)) for tool in tools)


def test_starters_are_for_the_tools_that_are_on() -> None:
    """And those that need none; the demo is asked for what it understands."""
    tools = on(Calculate(), ConvertUnits())
    for language in texts.LANGUAGES:
        table = CATALOGUE.table("starter", language)
        general = [text for name, text in table.items() if name.startswith(FOR_ANY)]
        offered = starters(tools, CATALOGUE, demo=False)[language]
        assert set(offered) == {table["calculate"], table["convert_units"], *general}
        assert starters(tools, CATALOGUE, demo=True)[language] == (table["calculate"],)


def test_commands_are_told_in_both_languages() -> None:
    """Those of tools too, behind which words follow; those that work nowhere here are left out."""
    found = commands(on(Calculate()), CATALOGUE)
    assert found[-1] == PageCommand(
        {"en": ("/calculate",), "ja": ("/計算",)}, {"en": "Calculator", "ja": "計算"}, more=True
    )
    assert (
        PageCommand(
            {"en": ("/help",), "ja": ("/ヘルプ",)},
            {"en": "What I can do", "ja": "できることの一覧"},
        )
        in found
    )
    assert not any("interpret" in str(command) for command in found)
