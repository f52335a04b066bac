"""Menus below LINE's chats: https://developers.line.biz/en/reference/messaging-api/#rich-menu"""

from __future__ import annotations

import io
import secrets
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from tests.fakes.line_refusals import Refused

JSON = dict[str, Any]

MOST_BYTES = 1_000_000


@dataclass(slots=True)
class Menu:
    """A menu; without a picture nobody can see it."""

    body: JSON
    picture: bytes = b""


@dataclass(slots=True)
class Menus:
    """All menus of an account, and the one that everybody sees."""

    by_id: dict[str, Menu] = field(default_factory=dict)
    default: str = ""

    @property
    def shown(self) -> str:
        """The default's id.

        Raises:
            Refused: there is none.
        """
        if not self.default:
            raise Refused(404, "no default richmenu")
        return self.default

    def create(self, body: JSON) -> str:
        """Keep a menu; its id."""
        menu_id = f"richmenu-{secrets.token_hex(16)}"
        self.by_id[menu_id] = Menu({"richMenuId": menu_id, **body})
        return menu_id

    def find(self, menu_id: str) -> Menu:
        """A menu by its id.

        Raises:
            Refused: there is none.
        """
        if menu_id not in self.by_id:
            raise Refused(404, "richmenu not found")
        return self.by_id[menu_id]

    def draw(self, menu_id: str, data: bytes, content_type: str) -> None:
        """Give a menu its picture, once.

        Raises:
            Refused: it has one, or this is no picture of its size.
        """
        menu = self.find(menu_id)
        if menu.picture:
            raise Refused(400, "An image has already been uploaded to the richmenu")
        if content_type not in ("image/png", "image/jpeg"):
            raise Refused(415, "Unsupported Media Type")
        if len(data) > MOST_BYTES:
            raise Refused(413, "Request Entity Too Large")
        with Image.open(io.BytesIO(data)) as picture:
            size, kind = picture.size, picture.format
        wanted = menu.body["size"]
        if (
            size != (wanted["width"], wanted["height"])
            or f"image/{str(kind).lower()}" != content_type
        ):
            raise Refused(400, "Image size must be the same as the size of the richmenu")
        menu.picture = data

    def show(self, menu_id: str) -> None:
        """Make a menu the default.

        Raises:
            Refused: it has no picture.
        """
        if not self.find(menu_id).picture:
            raise Refused(400, "must upload richmenu image before applying it to user")
        self.default = menu_id

    def delete(self, menu_id: str) -> None:
        """Delete a menu; what was shown is shown no more."""
        self.find(menu_id)
        del self.by_id[menu_id]
        self.default = "" if self.default == menu_id else self.default
