"""The manifest of Slack's app, filled in. ``manifest.yaml`` is a link to the one people read."""

from __future__ import annotations

import json
from importlib.resources import files

EXAMPLE, MARK = "https://example.com", "# your address"
LONGEST_NAME = 35  # characters of an app's name, by Slack's limit


def manifest(bot_name: str, address: str = "") -> str:
    """The manifest, without its comments.

    Args:
        address: where Kaiwa is, https://host; empty: events come by Socket Mode.
    """
    text = files("bot.channels.slack").joinpath("manifest.yaml").read_text("utf-8")
    name = json.dumps(bot_name[:LONGEST_NAME], ensure_ascii=False)
    lines = []
    for line in text.splitlines():
        if line.lstrip().startswith("#") or (MARK in line and not address):
            continue
        line = line.replace(EXAMPLE, address).partition(MARK)[0].rstrip()
        if line.strip() in ("name: Kaiwa", "display_name: Kaiwa"):
            line = line.replace("Kaiwa", name)
        if not address:
            line = line.replace("socket_mode_enabled: false", "socket_mode_enabled: true")
        lines.append(line)
    return "\n".join(lines)
