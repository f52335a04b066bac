"""The entries of Google: ``gemini:`` by an API key, ``vertex:`` on Vertex AI."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from bot.providers import Provider
from bot.providers.shared.entry import Options, ProviderEntry
from bot.settings import NO_SECRET
from bot.settings.types import BaseURL, Secret


class Config(BaseModel):
    gemini_api_key: Secret = NO_SECRET
    google_gemini_base_url: BaseURL | Literal[""] = ""


class VertexConfig(BaseModel):
    google_cloud_project: str = ""
    google_cloud_location: str = "global"
    google_vertex_base_url: BaseURL | Literal[""] = ""


def open_model(config: Config, model: str, options: Options) -> Provider:
    from bot.providers.gemini.client import Gemini

    return Gemini(
        config.gemini_api_key.get_secret_value(), model, config.google_gemini_base_url, options
    )


def open_vertex_model(config: VertexConfig, model: str, options: Options) -> Provider:
    from bot.providers.gemini.vertex import Vertex

    project, region, base_url = (
        config.google_cloud_project,
        config.google_cloud_location,
        config.google_vertex_base_url,
    )
    return Vertex(project, model, region, base_url, options)


ENTRY = ProviderEntry("gemini", Config, open_model, needs=("GEMINI_API_KEY",))
VERTEX_ENTRY = ProviderEntry(
    "vertex", VertexConfig, open_vertex_model, needs=("GOOGLE_CLOUD_PROJECT",)
)
