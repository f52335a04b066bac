"""The tools of one's own that pictures and transcripts show."""

from __future__ import annotations

from tests.project import ROOT
from toolset.sources import folder_tools, own_tools


def test_an_example_does_what_no_tool_of_kaiwas_does() -> None:
    """A second ``remind`` beside ``set_reminder`` would only confuse."""
    own = [found.tool.name for found in own_tools()]
    examples = [found.tool.name for found in folder_tools(ROOT / "tests" / "docs" / "tools")]
    assert examples == ["book_room", "invite"]
    for example in examples:
        for word in example.split("_"):
            assert [name for name in own if word in name] == []
