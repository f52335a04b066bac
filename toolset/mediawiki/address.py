"""The address of Wikipedia, one host for each language, and the languages that may stand in it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from toolset.web.source import base_url

LANGUAGE = "{language}"  # its place in the address
ENGLISH = "en"

# Wikipedias with more than 100,000 articles, by https://meta.wikimedia.org/wiki/List_of_Wikipedias:
# a host is made of these codes alone, so that no locale, which a device tells, can name another
# one.
CODES = (
    "af ar arz ast az be bg bn ca ce ceb cs cy da de el en eo es et eu fa fi fr gl he hi hr "
    "hu hy id it ja ka kk ko la lt lv mk ml ms my nl nn no pl pt ro ru sh simple sk sl sr sv "
    "ta te tg th tr tt uk ur uz vi war zh"
)
LANGUAGES = frozenset(CODES.split())
OTHER_CODES = {"nb": "no", "in": "id", "iw": "he"}  # of locales


def _wiki_url(value: str) -> str:
    address = base_url(value.replace(LANGUAGE, ENGLISH, 1))
    if not set("{}").isdisjoint(address):
        raise ValueError(f"{LANGUAGE} may stand in it once, and no other braces")
    return value.rstrip("/")


WikiUrl = Annotated[str, AfterValidator(_wiki_url)]  # with or without a place for the language


def wiki_language(locale: str) -> str:
    """The code of the Wikipedia in the user's language; English where there is none."""
    primary = locale.replace("_", "-").partition("-")[0].lower()
    code = OTHER_CODES.get(primary, primary)
    return code if code in LANGUAGES else ENGLISH
