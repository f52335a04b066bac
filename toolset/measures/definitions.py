"""Units that pint lacks: Japan's traditional ones, and Japanese names of common units.

Sizes are those of the Weights and Measures Act of 1891 (1 尺 = 10/33 m, 1 貫 = 3.75 kg, 1 升 = 2401/1331 L). A 畳 has no
fixed size; here it is the smallest that the rules of fair competition for real estate advertising allow, 1.62 m².
"""

from __future__ import annotations

# One unit a line, in pint's notation: name = size = symbol = further names.
DEFINITIONS = (
    "shaku = 10/33 * meter = 尺",
    "sun_length = 1/10 * shaku = 寸",
    "ken_length = 6 * shaku = 間",
    "cho_length = 60 * ken_length = 町 = 丁",
    "ri = 36 * cho_length = 里",
    "tsubo = ken_length ** 2 = 坪 = 歩",
    "tatami = 1.62 * meter ** 2 = 畳 = 帖 = jo",
    "se_area = 30 * tsubo = 畝",
    "tan_area = 10 * se_area = 反",
    "chobu = 10 * tan_area = 町歩 = 町步",
    "sho_volume = 2401/1331 * liter = 升 = sho = shō",
    "go_volume = 1/10 * sho_volume = 合 = go = gō",
    "to_volume = 10 * sho_volume = 斗",
    "koku = 10 * to_volume = 石",
    "kan_mass = 3.75 * kilogram = 貫 = kanme",
    "momme = 1/1000 * kan_mass = 匁",
    "kin_mass = 160 * momme = 斤",
)

# What people write and pint has under another name.
NAMES = {
    "℃": "degC",
    "摂氏": "degC",
    "摂氏度": "degC",
    "℉": "degF",
    "華氏": "degF",
    "華氏度": "degF",
    "ミリ": "millimeter",
    "ミリメートル": "millimeter",
    "センチ": "centimeter",
    "センチメートル": "centimeter",
    "メートル": "meter",
    "キロメートル": "kilometer",
    "インチ": "inch",
    "フィート": "foot",
    "ヤード": "yard",
    "マイル": "mile",
    "海里": "nautical_mile",
    "ノット": "knot",
    "アール": "are",
    "ヘクタール": "hectare",
    "エーカー": "acre",
    "ミリグラム": "milligram",
    "グラム": "gram",
    "キログラム": "kilogram",
    "トン": "metric_ton",
    "ポンド": "pound",
    "オンス": "ounce",
    "ミリリットル": "milliliter",
    "デシリットル": "deciliter",
    "リットル": "liter",
    "ガロン": "gallon",
    "秒": "second",
    "分": "minute",
    "時": "hour",
    "時間": "hour",
    "日": "day",
    "週間": "week",
    "カロリー": "calorie",
    "キロカロリー": "kilocalorie",
    "KM": "km",
    "Km": "km",
    "CM": "cm",
    "MM": "mm",
    "KG": "kg",
    "Kg": "kg",
    "ML": "mL",
    "KB": "kB",
    "sqm": "square_meter",
    "sqft": "square_foot",
}

# Words before or after a unit, and the power they mean.
POWERS = {"square": 2, "sq": 2, "平方": 2, "cubic": 3, "cu": 3, "立方": 3}
SPECIAL = {"平米": ("meter", 2), "立米": ("meter", 3), "square_meter": ("meter", 2), "square_foot": ("foot", 2)}
