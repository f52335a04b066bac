"""Gemini on Vertex AI: a project, a region and Google's credentials in place of a key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from bot.providers.gemini.access import Access
from bot.providers.gemini.client import GenerateContent
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.failures import Failures

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

    from bot.providers.gemini.sign_in import SignIn

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
        failures = Failures(model, "GOOGLE_CLOUD_PROJECT", "", options.asker, refused)
        self._credentials = credentials
        self._sign_in: SignIn | None = None
        access = Access(
            base_url or _host(location),
            API_VERSION,
            _resource(project, location, model),
            {
                "vertexai": True,
                "project": project,
                "location": location,
                "credentials": credentials,
            },
            self._headers,
        )
        # Vertex AI does not combine Google's own tools with functions.
        super().__init__(access, failures, replace(options, server_tools=()))

    async def _headers(self) -> Mapping[str, str]:
        """The headers that Google's credentials give."""
        if self._sign_in is None:
            module = await asyncio.to_thread(import_module, "bot.providers.gemini.sign_in")
            self._sign_in = self._sign_in or module.SignIn(self._credentials)
        return await self._sign_in.headers()


def _host(location: str) -> str:
    """Where the models of a location are: https://cloud.google.com/vertex-ai/docs/reference/rest."""
    if location == GLOBAL:
        return "https://aiplatform.googleapis.com"
    if location in MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _resource(project: str, location: str, model: str) -> str:
    """The path of a model; that of an endpoint names its project itself."""
    if model.startswith("projects/"):
        return model
    if not model.startswith(("models/", "publishers/")):
        publisher, slash, name = model.partition("/")
        if not slash:
            publisher, name = "google", model
        model = f"publishers/{publisher}/models/{name}"
    return f"projects/{project}/locations/{location}/{model}"
