"""The time zones of large cities and of some countries, by their English and Japanese names."""

from __future__ import annotations

import re
import unicodedata
from zoneinfo import ZoneInfo

AREAS = ("Asia", "Europe", "America", "Australia", "Africa", "Pacific", "Atlantic")

# Cities and countries that do not give their zone its name.
CITIES = {
    "Asia/Tokyo": "japan osaka kyoto sapporo fukuoka nagoya yokohama kobe sendai hiroshima nara okinawa naha jst "
    "日本 東京 大阪 京都 札幌 福岡 名古屋 横浜 神戸 仙台 広島 奈良 沖縄 那覇 北海道 埼玉 千葉 金沢 新潟 熊本 鹿児島",
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
    "Europe/Berlin": "cet cest germany munich hamburg frankfurt cologne ドイツ ベルリン ミュンヘン フランクフルト",
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
ZONE_OF = {city.replace("_", " "): zone for zone, cities in CITIES.items() for city in cities.split()}

SUFFIX = re.compile(r"(?<=..)(?:[都府県区]|(?<!日)市)$")


def zone_of(place: str) -> str:
    """The IANA name of a place's time zone; empty where it is not known."""
    plain = SUFFIX.sub("", _without_accents(place).strip().lower())
    if plain in ZONE_OF:
        return ZONE_OF[plain]
    if not re.fullmatch(r"[a-z/_ -]{3,40}", plain):
        return ""
    name = plain.title().replace(" ", "_")
    return next((zone for zone in (name, *(f"{area}/{name}" for area in AREAS)) if _exists(zone)), "")


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
