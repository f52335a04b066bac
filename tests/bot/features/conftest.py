"""Features are tested where people meet them: in LINE."""

from __future__ import annotations

from tests.bot.channels.line.conftest import fake, rig

__all__ = ["fake", "rig"]
