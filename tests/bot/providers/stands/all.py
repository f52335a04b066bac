"""Every vendor of the conformance suite."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from tests.bot.providers.stands.anthropic import anthropic_stand
from tests.bot.providers.stands.gemini import gemini_stand
from tests.bot.providers.stands.json_mode import json_stand
from tests.bot.providers.stands.ollama import ollama_stand
from tests.bot.providers.stands.openai import openai_stand
from tests.bot.providers.stands.stand import Stand
from tests.bot.providers.stands.vertex import vertex_stand

Opening = Callable[..., AbstractAsyncContextManager[Any]]

STANDS: dict[str, Opening] = {
    "gemini": gemini_stand,
    "openai": openai_stand,
    "json": json_stand,
    "anthropic": anthropic_stand,
    "ollama": ollama_stand,
    "vertex": vertex_stand,
}

__all__ = ["STANDS", "Opening", "Stand"]
