"""Units that pint lacks: Japan's traditional ones, and Japanese names of common units.

Sizes are those of the Weights and Measures Act of 1891 (1 尺 = 10/33 m, 1 貫 = 3.75 kg, 1 升 =
2401/1331 L). A 畳 has no fixed size; here it is the smallest that the rules of fair competition for
real estate advertising allow, 1.62 m².
"""

from __future__ import annotations

# One unit a line, in pint's notation: name = size = symbol (_ for none) = further names.
DEFINITIONS = (
    "尺 = 10/33 * meter = _ = shaku",
    "寸 = 1/10 * 尺 = _",
    "間 = 6 * 尺 = _",
    "町 = 60 * 間 = _ = 丁",
    "里 = 36 * 町 = _ = ri",
    "坪 = 間 ** 2 = _ = tsubo = 歩",
    "畳 = 1.62 * meter ** 2 = _ = 帖 = tatami = jo",
    "畝 = 30 * 坪 = _",
    "反 = 10 * 畝 = _",
    "町歩 = 10 * 反 = _ = chobu",
    "升 = 2401/1331 * liter = _ = sho",
    "合 = 1/10 * 升 = _ = go",
    "斗 = 10 * 升 = _",
    "石 = 10 * 斗 = _ = koku",
    "貫 = 3.75 * kilogram = _ = kan",
    "匁 = 1/1000 * 貫 = _ = momme",
    "斤 = 160 * 匁 = _",
)

# pint's name of a unit, and what people write for it; pint's ton is the American one of 2000
# pounds.
WRITTEN = """\
degC 摂氏 摂氏度
degF 華氏 華氏度
millimeter ミリメートル
centimeter センチ センチメートル
meter メートル
kilometer キロメートル
inch インチ
foot フィート
yard ヤード
mile マイル
nautical_mile 海里
knot ノット
are アール
hectare ヘクタール
acre エーカー
milligram ミリグラム
gram グラム
kilogram キログラム
metric_ton トン ton tons
pound ポンド
ounce オンス
milliliter ミリリットル
deciliter デシリットル
liter リットル
gallon ガロン
second 秒
minute 分
hour 時 時間
day 日
week 週間
calorie カロリー
kilocalorie キロカロリー
km KM Km
cm CM
mm MM
kg KG Kg
mL ML
kB KB
fluid_ounce fl_oz
"""
NAMES: dict[str, str] = {}
for _row in WRITTEN.splitlines():
    _unit, *_names = _row.split()
    NAMES |= dict.fromkeys(_names, _unit)

# Words before a unit, and the power they mean.
POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
JAPANESE_POWERS = {"平方": 2, "立方": 3}
AREAS_AND_VOLUMES = {"平米": ("meter", 2), "立米": ("meter", 3)}

# What a person should know about a unit, by pint's name.
NOTES = {
    "畳": "a 畳 has no fixed size; this is with 1.62 m², as in real estate advertisements",
    "gallon": "gallon is the US one of 3.785 L; imperial_gallon is the British one",
    "pint": "pint is the US one of 473 mL; imperial_pint is the British one",
    "cup": "cup is the US one of 237 mL; a Japanese cup has 200 mL",
    "fluid_ounce": "fluid_ounce is the US one of 29.6 mL; imperial_fluid_ounce is the British one",
}
