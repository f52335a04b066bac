"""The names of the tools that come with Kaiwa, in order: a list of its own, so that a lost or new
one is noticed."""

from __future__ import annotations

import re

from tests.project import files

# Those of features, whose own tests need them.
OF_FEATURES = re.findall(
    r'^    name = "(\w+)"',
    "".join(file.read_text("utf-8") for file in files("bot/features/*/tools.py")),
    re.MULTILINE,
)
ALWAYS_ON = [
    "calculate",
    "convert_currency",
    "convert_units",
    "get_current_time",
    "get_earthquakes",
    "get_holidays",
    "get_news",
    "get_warnings",
    "get_weather",
    "read_web_page",
    "wikipedia",
    *OF_FEATURES,
]
ALWAYS_ON.sort()
WITH_A_KEY = ["create_image", "web_search"]
WORKSPACE = ["delete_file", "list_files", "read_file", "run_command", "search_files", "write_file"]
