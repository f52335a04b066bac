"""The same models on Vertex AI: a project and a region in the place of a key, signed in with Google's credentials."""

from __future__ import annotations

from functools import partial

from google import genai
from google.auth.credentials import Credentials
from google.genai import types

from bot.providers.gemini.client import GenerateContent
from bot.providers.gemini.failures import Access
from bot.providers.shared.entry import USUAL, Options

API_VERSION = "v1beta1"
GLOBAL = "global"


class Vertex(GenerateContent):
    """A Gemini model of a Google Cloud project.

    Args:
        location: a region, or the endpoint that chooses one.
        base_url: empty for Google's own.
        credentials: empty for the application default credentials, which are looked for with the first request.
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
        refused = f"GOOGLE_CLOUD_PROJECT: {project} let nobody in ({{}}): {fix}"
        access = Access(model, refused, asker=options.asker)
        connected = partial(_signed_in, project, location, credentials)
        super().__init__(connected, access, API_VERSION, base_url, options)


def _signed_in(
    project: str, location: str, credentials: Credentials | None, options: types.HttpOptions
) -> genai.Client:
    return genai.Client(
        vertexai=True, project=project, location=location, credentials=credentials, http_options=options
    )
