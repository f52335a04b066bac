"""Gemini on Vertex AI: a project, a region and Google's credentials in place of a key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from bot.providers.gemini.client import GenerateContent
from bot.providers.gemini.failures import GeminiFailures
from bot.providers.shared.entry import USUAL, Options

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

API_VERSION = "v1beta1"
GLOBAL = "global"
MULTI_REGIONS = ("us", "eu")


class Vertex(GenerateContent):
    """A Gemini model of a Google Cloud project.

    Args:
        location: a region, or the endpoint that chooses one.
        base_url: empty for Google's own.
        credentials: None for the application default credentials, which the first request looks up.
    """

    name = "vertex"

    def __init__(
        self,
        project: str,
        model: str,
        location: str = GLOBAL,
        base_url: str = "",
        options: Options = USUAL,
        *,
        credentials: Credentials | None = None,
    ) -> None:
        fix = "run gcloud auth application-default login, and let that account use Vertex AI there"
        refused = f"GOOGLE_CLOUD_PROJECT: {project} refused access ({{cause}}): {fix}"
        super().__init__(
            base_url or _host(location),
            API_VERSION,
            _resource(project, location, model),
            GeminiFailures(model, "GOOGLE_CLOUD_PROJECT", "", options.asker, refused),
            # Vertex AI does not combine Google's own tools with functions.
            replace(options, server_tools=()),
            vertexai=True,
            project=project,
            location=location,
            credentials=credentials,
        )
        self._credentials = credentials
        self._renewing = asyncio.Lock()

    async def _authorization(self) -> Mapping[str, str]:
        """The headers that Google's credentials give."""
        async with self._renewing:
            if self._credentials is None or not self._credentials.valid:
                sign_in = await asyncio.to_thread(import_module, "bot.providers.gemini.sign_in")
                self._credentials = await asyncio.to_thread(sign_in.renewed, self._credentials)
        headers: dict[str, str] = {}
        self._credentials.apply(headers)  # type: ignore[union-attr]
        return headers


def _host(location: str) -> str:
    """Where the models of a location are: https://cloud.google.com/vertex-ai/docs/reference/rest."""
    if location in MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    region = "" if location == GLOBAL else f"{location}-"
    return f"https://{region}aiplatform.googleapis.com"


def _resource(project: str, location: str, model: str) -> str:
    """The path of a model; that of an endpoint names its project itself."""
    if model.startswith("projects/"):
        return model
    if not model.startswith(("models/", "publishers/")):
        publisher, name = model.split("/", 1) if "/" in model else ("google", model)
        model = f"publishers/{publisher}/models/{name}"
    return f"projects/{project}/locations/{location}/{model}"
