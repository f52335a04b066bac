"""Compares the place that was found with the one asked for, and writes a note for the model where
they may differ.

The service finds a place by name, picks one of several with the same name, and reports the nearest
spot on its map: often a suburb or a neighbouring village. That is enough to notice a wrong
prefecture, a name that several well-known places share, and a name without any similarity. The last
is not always an error, so the note asks the model to judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from toolset.forecast.report import Place, ambiguous_note, dissimilar_note, pieces_of
from toolset.web.text import folded

SIMILARITY = 0.5  # about that of Wien and Vienna, Praha and Prague
AIRPORT = re.compile(r"[a-z]{3}")

# Without 都道府県; 群馬 is missing, as the spelling varies (Gunma, Gumma).
SPELLINGS = (
    "北海 Hokkaido, 青森 Aomori, 岩手 Iwate, 宮城 Miyagi, 秋田 Akita, 山形 Yamagata, "
    "福島 Fukushima, 茨城 Ibaraki, 栃木 Tochigi, 埼玉 Saitama, 千葉 Chiba, 東京 Tokyo, "
    "神奈川 Kanagawa, 新潟 Niigata, 富山 Toyama, 石川 Ishikawa, 福井 Fukui, 山梨 Yamanashi, "
    "長野 Nagano, 岐阜 Gifu, 静岡 Shizuoka, 愛知 Aichi, 三重 Mie, 滋賀 Shiga, 京都 Kyoto, "
    "大阪 Osaka, 兵庫 Hyogo, 奈良 Nara, 和歌山 Wakayama, 鳥取 Tottori, 島根 Shimane, "
    "岡山 Okayama, 広島 Hiroshima, 山口 Yamaguchi, 徳島 Tokushima, 香川 Kagawa, 愛媛 Ehime, "
    "高知 Kochi, 福岡 Fukuoka, 佐賀 Saga, 長崎 Nagasaki, 熊本 Kumamoto, 大分 Oita, "
    "宮崎 Miyazaki, 鹿児島 Kagoshima, 沖縄 Okinawa"
)
PREFECTURES = dict(spelling.split() for spelling in SPELLINGS.split(", "))


@dataclass(frozen=True, slots=True)
class Namesakes:
    """Well-known places of one name.

    Attributes:
        names: the name, in the forms people write.
        regions: the region or country of each, as the service spells it.
        usual: the region that nearly everybody means; empty where there is none.
    """

    names: tuple[str, ...]
    regions: tuple[str, ...]
    usual: str = ""


# Not complete and not meant to be: 府中 and 伊達 are Japan's only pairs of cities (市) of one name;
# the others are the names most often mixed up.
NAMESAKES = (
    Namesakes(("府中", "fuchu"), ("Tokyo", "Hiroshima")),
    Namesakes(("伊達", "date"), ("Hokkaido", "Fukushima")),
    Namesakes(("川崎", "kawasaki"), ("Kanagawa", "Fukuoka", "Miyagi"), usual="Kanagawa"),
    Namesakes(("三島", "mishima"), ("Shizuoka", "Fukushima", "Kagoshima"), usual="Shizuoka"),
    Namesakes(("大和", "yamato"), ("Kanagawa", "Miyagi", "Nara"), usual="Kanagawa"),
    Namesakes(("birmingham",), ("United Kingdom", "Alabama")),
    Namesakes(("cambridge",), ("United Kingdom", "Massachusetts")),
    Namesakes(("cordoba",), ("Spain", "Argentina")),
    Namesakes(("london",), ("United Kingdom", "Ontario"), usual="United Kingdom"),
    Namesakes(("paris",), ("France", "Texas"), usual="France"),
    Namesakes(("portland",), ("Oregon", "Maine")),
    Namesakes(("richmond",), ("Virginia", "California", "British Columbia")),
    Namesakes(("rochester",), ("New York", "Minnesota", "United Kingdom")),
    Namesakes(("san jose",), ("California", "Costa Rica")),
    Namesakes(("springfield",), ("Illinois", "Massachusetts", "Missouri")),
    Namesakes(("vancouver",), ("British Columbia", "Washington"), usual="British Columbia"),
)


def note(asked: str, found: Place) -> str:
    """A note about the place for the model; empty where the place found is clearly the one asked
    for."""
    if not str(found):
        return "The service does not say which place this is for."
    name, regions = _parts(asked)
    where = folded(f"{found.region}, {found.country}")
    namesakes = next((entry for entry in NAMESAKES if name in entry.names), None)
    expected = [region for region in regions if _is_known(region, namesakes)]
    if expected and not any(region in where for region in expected):
        return (
            f"This is for {found}, not for {asked}. Tell the user so, or ask which place is meant."
        )
    if namesakes and not regions and (not namesakes.usual or folded(namesakes.usual) not in where):
        others = ", ".join(namesakes.regions)
        return ambiguous_note(asked, others, found)
    if not namesakes and not expected and not _is_alike(name, found):
        return dissimilar_note(asked, found)
    return ""


def _parts(asked: str) -> tuple[str, list[str]]:
    """The folded name, and the regions or countries written with it."""
    pieces = pieces_of(folded(asked))
    regions: list[str] = []
    names: list[str] = []
    for piece in pieces:
        prefecture, remainder = _prefecture(piece)
        regions += [folded(prefecture)] if prefecture else []
        names += [remainder] if remainder else []
    name, *others = names or [""]
    if len(name) > 2 and name[-1] in "市区町村":
        name = name[:-1]
    return name.removesuffix(" city"), regions + others


def _prefecture(piece: str) -> tuple[str, str]:
    """The prefecture that a Japanese name is or begins with, and the rest of the name."""
    for kanji, spelling in PREFECTURES.items():
        following = piece.removeprefix(kanji)
        if following != piece and (not following or following[0] in "都道府県市"):
            return spelling, following[1:]
    return "", piece


def _is_known(region: str, namesakes: Namesakes | None) -> bool:
    """Whether the service's spelling of a folded region is known: then another spelling is another
    region."""
    return region in map(folded, (*PREFECTURES.values(), *(namesakes.regions if namesakes else ())))


def _is_alike(name: str, found: Place) -> bool:
    """Whether the names are similar, or cannot be compared: another script, a postal or airport
    code."""
    if not name.isascii() or not re.search("[a-z]", name) or AIRPORT.fullmatch(name):
        return True
    there = [folded(part) for part in (found.area, found.region, found.country)]
    candidates = {*there, *" ".join(there).split()}
    return any(
        SequenceMatcher(None, name, candidate).ratio() >= SIMILARITY for candidate in candidates
    )
