"""Every vendor of the conformance suite."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from tests.bot.providers.subjects.anthropic import anthropic_subject
from tests.bot.providers.subjects.gemini import gemini_subject
from tests.bot.providers.subjects.json_mode import json_subject
from tests.bot.providers.subjects.ollama import ollama_subject
from tests.bot.providers.subjects.openai import openai_subject
from tests.bot.providers.subjects.subject import Subject
from tests.bot.providers.subjects.vertex import vertex_subject

Opening = Callable[..., AbstractAsyncContextManager[Any]]

SUBJECTS: dict[str, Opening] = {
    "gemini": gemini_subject,
    "openai": openai_subject,
    "json": json_subject,
    "anthropic": anthropic_subject,
    "ollama": ollama_subject,
    "vertex": vertex_subject,
}

__all__ = ["SUBJECTS", "Opening", "Subject"]
