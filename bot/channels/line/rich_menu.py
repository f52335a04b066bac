"""The menu below a chat: help, weather, reset and usage, one tap each. ``kaiwa doctor --fix`` sets
it.

A menu that another program has set stays. A menu of LINE Official Account Manager is hidden:
programs cannot see it, and any default menu of the API comes before it.
https://developers.line.biz/en/docs/messaging-api/using-rich-menus/

Its picture is a file for each language, with the buttons' labels in it.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

from bot.channels.line.client import Failure
from bot.channels.line.sdk import Sdk
from bot.channels.line.types import Button, RichMenu
from bot.checks import CheckResult
from bot.texts import Texts

CHECK = "LINE menu"
OURS = "kaiwa menu "  # a name begins so; a digest of the content follows
ITEMS = {"help": "suggestion", "weather": "suggestion", "reset": "line", "usage": "line"}  # texts
WIDTH, HEIGHT = 1_200, 405  # pixels; one of the sizes that LINE names


def menu_of(texts: Texts, language: str) -> RichMenu:
    """Our menu in a language."""
    buttons = tuple(
        Button(
            texts.get(f"{table}.label_{item}", language), texts.get(f"{table}.say_{item}", language)
        )
        for item, table in ITEMS.items()
    )
    title = texts.get("line.menu", language)
    content = repr((title, buttons)).encode() + picture_of(language)
    digest = hashlib.sha256(content).hexdigest()[:16]
    return RichMenu("", f"{OURS}{digest}", title, buttons=buttons, width=WIDTH, height=HEIGHT)


def picture_of(language: str) -> bytes:
    """The picture of our menu, a PNG."""
    return files("bot.channels.line").joinpath(f"menu_{language}.png").read_bytes()


async def set_menu(sdk: Sdk, texts: Texts, language: str) -> CheckResult:
    """Set our menu where there is none, or an older one of ours."""
    wanted = menu_of(texts, language)
    try:
        present = await sdk.get_default_menu()
        if present is not None and not present.name.startswith(OURS):
            return CheckResult("ok", CHECK, "one that is not Kaiwa's is set, and stays")
        if present is None or present.name != wanted.name:
            await _replace(sdk, wanted, present, picture_of(language))
    except Failure as failure:
        return CheckResult("warning", CHECK, f"not set: {failure}", "run kaiwa doctor --fix again")
    return CheckResult("ok", CHECK, ", ".join(button.label for button in wanted.buttons))


async def _replace(sdk: Sdk, wanted: RichMenu, present: RichMenu | None, picture: bytes) -> None:
    """Make the new menu whole before the old one goes."""
    made = await sdk.create_menu(wanted)
    try:
        await sdk.upload_menu_picture(made, picture)
        await sdk.set_default_menu(made)
    except Failure:
        await sdk.delete_menu(made)
        raise
    if present is not None:
        await sdk.delete_menu(present.id)
