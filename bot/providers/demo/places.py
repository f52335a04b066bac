"""The names of places in a piece of a sentence, English or Japanese, and the time zones of cities
and countries."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from bot.providers.demo.vocabulary import LEAD, NO_PLACE, NO_PLACE_PART, NO_PLACE_WORDS, PARTICLES

LONGEST = 60  # characters of a place
MOST_WORDS = 4

JAPANESE = re.compile(r"[぀-ヿ㐀-䶿一-鿿]")
LATIN = r"[A-Za-zÀ-ɏ]+(?:(?:\.? |['-])[A-Za-zÀ-ɏ]+)*"
RUN = re.compile(rf"さいたま|つくば|いわき|{LATIN}|[㐀-䶿一-鿿々ァ-ヴヶー・]+")
NAME = re.compile(rf"{LATIN}\.?(?:, {LATIN}\.?)?|{RUN.pattern}")
SUFFIX = re.compile(r"(?<=東京)都$|(?<=大阪|京都)府$|(?<=..)(?:周辺|付近)$")
OF_PREFECTURE = re.compile(r"(?<=..[都道府県])の(?=[一-鿿])")
ENDING = re.compile(
    "[いうえおかきくけこさしすせそたちっつなぬねまみむめらりるれろわ]"
)  # of a verb or an adjective
AFTER = tuple(
    re.compile(
        rf"\b(?:{words})\s+(?:the\s+)?(?P<place>\S.*?)(?=\s+(?:in|near|around|at|for)\b|$)",
        re.IGNORECASE,
    )
    for words in ("in", "near|around", "at", "for|of")
)
TAIL = re.compile(
    r"\s+(?:on|with|when|while|if|because|so|please|right|now|like|be|is|this|next|during|as|to|i|we|you)\b.*",
    re.IGNORECASE,
)
GOING_TO = re.compile(
    r"\b(?i:to|in|near|visiting)\s+(?P<place>[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)*)"
)


def places_in(piece: str) -> list[str]:
    """The places of a piece about a topic; the words of the topic have been removed."""
    return [name for name, _ in _japanese(piece)] if JAPANESE.search(piece) else _english(piece)


def places_alone(piece: str, expected: bool) -> list[str]:
    """The places of a piece that holds nothing else: ``and Osaka``, ``じゃあ大阪は``.

    Args:
        expected: a place is likely here, so that unlisted names count too.
    """
    if JAPANESE.search(piece):
        named = list(_japanese(piece))
        rest = piece
        for _, written in named:
            rest = rest.replace(written, " ")
        found = [name for name, _ in named] if PARTICLES.fullmatch(rest) else []
    else:
        name = LEAD.sub("", piece, count=1).strip(" .!?")
        found = [name] if _is_name(name) else []
    return [name for name in found if expected or zone_of(name)]


def places_mentioned(sentence: str) -> list[str]:
    """The places where the user is or goes: ``I'm off to Nara``, ``奈良に行く``."""
    if JAPANESE.search(sentence):
        return [
            name
            for name, written in _japanese(sentence)
            if re.search(rf"{re.escape(written)}(?:に|へ|で)", sentence)
        ]
    return [name for name in GOING_TO.findall(sentence) if _is_name(name)]


def is_filler(piece: str) -> bool:
    """Whether a piece holds only words like ``how about`` or ``は``."""
    return PARTICLES.fullmatch(LEAD.sub("", piece)) is not None


def _japanese(piece: str) -> Iterator[tuple[str, str]]:
    """Each place with the form it was written in."""
    piece = OF_PREFECTURE.sub("", NO_PLACE_PART.sub(" ", piece))
    for run in RUN.finditer(piece):
        name = SUFFIX.sub("", run[0])
        inflected = len(name) == 1 and ENDING.match(piece, run.end())
        if not inflected and not NO_PLACE.fullmatch(name) and _is_name(name):
            yield name, run[0]


def _english(piece: str) -> list[str]:
    for preposition in AFTER:
        for after in preposition.finditer(piece):
            name = TAIL.sub("", after["place"]).strip(" .!?-")
            if _is_name(name, strict=False):
                return [name]
        piece = preposition.sub(" ", piece)
    words = re.findall(r"[^\s?!]+", piece)
    left = [word for word in words if word.lower().strip(".") not in NO_PLACE_WORDS]
    known = [" ".join(left), *left]
    named = " ".join(word for word in left if word[0].isupper())
    short = " ".join(left) if len(words) <= MOST_WORDS else ""
    guesses = [name for name in known if zone_of(name)] + [
        name for name in (named, short) if _is_name(name)
    ]
    return guesses[:1]


def _is_name(name: str, strict: bool = True) -> bool:
    """Whether a name can be a place; strict without a preposition before a capital letter."""
    words = name.lower().split()
    if not 1 <= len(words) <= MOST_WORDS or len(name) > LONGEST:
        return False
    doubtful = words if strict else words[: name[0].islower()]
    return NAME.fullmatch(name) is not None and NO_PLACE_WORDS.isdisjoint(doubtful)


AREAS = ("Asia", "Europe", "America", "Australia", "Africa", "Pacific", "Atlantic")

# Cities and countries that do not give their zone its name.
CITIES = {
    "Asia/Tokyo": "japan osaka kyoto sapporo fukuoka nagoya yokohama kobe sendai "
    "hiroshima nara okinawa naha jst "
    "日本 東京 大阪 京都 札幌 福岡 名古屋 横浜 神戸 仙台 広島 奈良 沖縄 那覇 北海道 埼玉 千葉 "
    "金沢 新潟 熊本 鹿児島",
    "Asia/Seoul": "korea busan 韓国 ソウル 釜山 プサン",
    "Asia/Shanghai": "china beijing shenzhen 中国 北京 上海 深圳",
    "Asia/Hong_Kong": "香港",
    "Asia/Taipei": "taiwan 台湾 台北",
    "Asia/Singapore": "シンガポール",
    "Asia/Bangkok": "thailand タイ バンコク",
    "Asia/Ho_Chi_Minh": "vietnam hanoi saigon ベトナム ハノイ ホーチミン",
    "Asia/Manila": "philippines フィリピン マニラ",
    "Asia/Jakarta": "インドネシア ジャカルタ",
    "Asia/Kolkata": "india delhi new_delhi mumbai bangalore インド デリー ニューデリー ムンバイ",
    "Asia/Dubai": "ドバイ",
    "Australia/Sydney": "canberra シドニー",
    "Australia/Melbourne": "メルボルン",
    "Pacific/Auckland": "new_zealand wellington ニュージーランド オークランド",
    "Pacific/Honolulu": "hawaii ハワイ ホノルル",
    "America/New_York": "est edt nyc boston washington miami atlanta philadelphia "
    "ニューヨーク ボストン ワシントン マイアミ アトランタ",
    "America/Chicago": "dallas houston シカゴ ヒューストン",
    "America/Denver": "デンバー",
    "America/Los_Angeles": "pst pdt san_francisco seattle las_vegas san_diego portland california "
    "ロサンゼルス サンフランシスコ シアトル ラスベガス",
    "America/Vancouver": "バンクーバー",
    "America/Toronto": "ottawa montreal トロント モントリオール",
    "America/Mexico_City": "mexico メキシコ メキシコシティ",
    "America/Argentina/Buenos_Aires": "argentina buenos_aires ブエノスアイレス",
    "America/Sao_Paulo": "rio rio_de_janeiro サンパウロ リオデジャネイロ",
    "Europe/London": "bst uk england edinburgh manchester イギリス 英国 ロンドン",
    "Europe/Dublin": "ireland アイルランド ダブリン",
    "Europe/Lisbon": "ポルトガル リスボン",
    "Europe/Paris": "france lyon marseille フランス パリ",
    "Europe/Berlin": (
        "cet cest germany munich hamburg frankfurt cologne ドイツ ベルリン ミュンヘン "
        "フランクフルト"
    ),
    "Europe/Madrid": "spain barcelona スペイン マドリード バルセロナ",
    "Europe/Rome": "italy milan naples venice florence イタリア ローマ ミラノ ヴェネツィア",
    "Europe/Zurich": "switzerland geneva bern スイス チューリッヒ ジュネーブ",
    "Europe/Vienna": "オーストリア ウィーン",
    "Europe/Amsterdam": "netherlands オランダ アムステルダム",
    "Europe/Stockholm": "sweden スウェーデン ストックホルム",
    "Europe/Helsinki": "finland フィンランド ヘルシンキ",
    "Europe/Istanbul": "turkey トルコ イスタンブール",
    "Europe/Moscow": "モスクワ",
    "Africa/Cairo": "egypt エジプト カイロ",
    "Africa/Johannesburg": "cape_town ヨハネスブルグ ケープタウン",
    "UTC": "utc gmt 世界標準時",
}
ZONE_OF = {
    city.replace("_", " "): zone for zone, cities in CITIES.items() for city in cities.split()
}

PREFECTURE = re.compile(r"(?<=..)(?:[都府県区]|(?<!日)市)$")


def zone_of(place: str) -> str:
    """The IANA name of a place's time zone; empty for an unknown place."""
    plain = PREFECTURE.sub("", _without_accents(place).strip().lower())
    if plain in ZONE_OF:
        return ZONE_OF[plain]
    if not re.fullmatch(r"[a-z/_ -]{3,40}", plain):
        return ""
    name = plain.title().replace(" ", "_")
    return next(
        (zone for zone in (name, *(f"{area}/{name}" for area in AREAS)) if _exists(zone)), ""
    )


def _exists(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError):  # not a name, a folder, unknown
        return False
    return True


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return plain if plain.isascii() else text  # kana lose their voicing marks this way
