"""What the services' APIs know by name, by service."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

NAMES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("known_names.toml").read_text("utf-8")
)
