"""``create_image``: a picture after a description, or the newest picture of the conversation
changed, by Gemini."""

from __future__ import annotations

import re
from typing import Annotated, Any

import httpx
from pydantic import AfterValidator, BaseModel, Field, SecretStr

from toolset.images.gemini import BASE_URL, MOST_GIVEN, TIMEOUT_S, GeminiImages
from toolset.images.worker import SECONDS, Shrinker
from toolset.shown import ModelUse, Shown, ToolFile
from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError, ToolSetupError
from toolset.web.source import base_url

NAME = "image.jpg"
MODEL = re.compile(r"[a-z0-9.-]{1,64}")
SHOWN = "shown with your answer: say one short sentence, and do not describe it"
NOT_SHOWN = (
    "pictures cannot be shown here, because the operator has not set PUBLIC_URL; none was made"
)
NO_PICTURE = "there is no picture to change; ask the person to send it with their wish, or again"
TOO_LARGE = "the picture is too large to be changed; ask for a smaller one"


def _model(value: str) -> str:
    """As in ``gemini-3.1-flash-image``; a provider's prefix, as MODEL has it, is left out."""
    name = value.removeprefix("gemini:")
    if name and not MODEL.fullmatch(name):
        raise ValueError("write the name of an image model of Gemini, as in gemini-3.1-flash-image")
    return name


class CreateImageConfig(BaseModel):
    """The image model; without one the tool is off, because every picture costs money."""

    image_model: Annotated[str, AfterValidator(_model)] = ""
    daily_user_images: Annotated[int, Field(ge=0)] = 20
    gemini_api_key: SecretStr = SecretStr("")
    google_gemini_base_url: Annotated[str, AfterValidator(lambda url: url and base_url(url))] = (
        BASE_URL
    )


class CreateImage(Tool):
    """A repeated call after a crash makes another picture, which is counted once."""

    name = "create_image"
    description = (
        "Makes a picture after a description, or changes the newest picture of this conversation, "
        "whoever made it. Use it only when somebody asks for a picture, a drawing, a logo or the "
        "like, or for a change of a picture. It takes about twenty seconds and costs money: make "
        "one picture, never several to choose from. The picture is shown below your answer. It is "
        "no means to draw exact charts or long texts."
    )
    risk = "low"
    timeout_s = TIMEOUT_S + SECONDS
    concurrency = 4
    writes = True
    titles = words(en="Create a picture", ja="画像を作る")
    commands = ("draw", "絵")
    foreign = True
    Config = CreateImageConfig

    def __init__(self, images: GeminiImages, model: str, limit: int) -> None:
        self._images = images
        self._model = model
        self.per_day = limit
        self._shrinker = Shrinker()

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: CreateImageConfig) -> CreateImage | None:
        """Make pictures with IMAGE_MODEL; None without it.

        Raises:
            ToolSetupError: there is no key for it.
        """
        if not config.image_model:
            return None
        if not config.gemini_api_key.get_secret_value():
            raise ToolSetupError(
                "create_image: IMAGE_MODEL needs GEMINI_API_KEY; set it, or leave IMAGE_MODEL empty"
            )
        images = GeminiImages(
            http, config.google_gemini_base_url, config.gemini_api_key, config.image_model
        )
        return cls(images, config.image_model, config.daily_user_images)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Shown:
        """A picture of ``prompt``; with ``change`` the newest picture, changed as it says.

        Raises:
            ToolError: it cannot be shown here, or the model fails.
        """
        if not context.shows_pictures:
            raise ToolError(NOT_SHOWN)
        prompt = arguments["prompt"].strip()
        if not prompt:
            raise ToolError("invalid parameters: prompt: describe the picture")
        given = await _given(context) if arguments.get("change") else None
        made = await self._images.make(prompt, arguments.get("shape", ""), given)
        picture = await self._shrinker.shrink(made.data)
        used = ModelUse(self._model, made.input, made.output)
        return Shown({"image": SHOWN}, [ToolFile(NAME, "image/jpeg", picture, prompt)], used=used)


async def _given(context: ToolContext) -> tuple[str, bytes]:
    """Type and content of the picture that is to be changed.

    Raises:
        ToolError: there is none, or it is too large.
    """
    given = await context.newest_picture()
    if given is None:
        raise ToolError(NO_PICTURE)
    if len(given[1]) > MOST_GIVEN:
        raise ToolError(TOO_LARGE)
    return given
