"""The names of the tools that come with Kaiwa, in order: a list of its own, so that a lost or new one is noticed."""

from __future__ import annotations

ALWAYS_ON = sorted(
    [
        "calculate",
        "convert_currency",
        "convert_units",
        "get_current_time",
        "get_holidays",
        "get_weather",
        "wikipedia",
    ]
)
WORKSPACE = ["delete_file", "list_files", "read_file", "run_command", "search_files", "write_file"]
