"""The names of the tools that come with Kaiwa, in order: a list of its own, so that a lost or new
one is noticed."""

from __future__ import annotations

ALWAYS_ON = [
    "add_to_list",
    "calculate",
    "cancel_reminder",
    "convert_currency",
    "convert_units",
    "forget_fact",
    "get_current_time",
    "get_earthquakes",
    "get_holidays",
    "get_news",
    "get_warnings",
    "get_weather",
    "list_reminders",
    "offer_choices",
    "read_web_page",
    "remember",
    "set_reminder",
    "show_list",
    "start_poll",
    "tick",
    "wikipedia",
]
WITH_A_KEY = ["create_image", "web_search"]
WORKSPACE = ["delete_file", "list_files", "read_file", "run_command", "search_files", "write_file"]
