"""Gemini on Vertex AI: a project, a region and Google's credentials in place of a key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.providers.gemini.client import GenerateContent
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.failures import Failures

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

API_VERSION = "v1beta1"
GLOBAL = "global"


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
        account = {
            "vertexai": True,
            "project": project,
            "location": location,
            "credentials": credentials,
        }
        without = replace(
            options, server_tools=()
        )  # Vertex AI does not combine them with functions
        super().__init__(account, failures, API_VERSION, base_url, without)
