"""The English and Japanese words of the demo model: topics, days, courtesies, and words that are no
places."""

from __future__ import annotations

import re

WEATHER = (
    r"\b(?:weather|forecast|temp(?:erature)?|umbrella|raincoat|jacket|coat|rain(?:y|ing)?|snow(?:y|ing)?|sunny|cloudy|windy|"
    r"stormy?|humid(?:ity)?|how many degrees)\b|(?<!\ba )\b(?:hot|cold|warm|chilly)\b(?! "
    r"(?:dog|coffee|tea|water))|"
    r"天気|天候|気温|温度|何度(?!も)|予報|[雨雪傘]|かさ(?=[いはがを])|晴れ|曇り|くもり|暑[いく]|寒[いく]|涼し|暖か|降[りる]"
)
TIME = (
    r"\bwhat time (?:is|it)\b(?: it)?|\bwhat time(?= (?:in|at)\b)|\btime (?:is it|now|zone)\b|"
    r"\btime(?= (?:in|there)\b)|(?<!all )(?<!by )\b(?:the|current|local) time\b(?! "
    r"difference)|^\W*time\W*$|"
    r"\bday of the week\b|\b(?:what|which) (?:day|date)\b(?: of the week)?|\b(?:today's|the) "
    r"date\b(?! of)|"
    r"何時(?![間にかま頃ご])|なんじ|時刻|時間(?=は|を教|\?|$)|何?曜日|なんようび|日付|何日(?![間に])|何月"
)
TOPIC = re.compile(rf"(?P<weather>{WEATHER})|(?P<time>{TIME})", re.IGNORECASE)
DAYS = (
    (2, re.compile(r"\b(?:the )?day after tomorrow\b|明後日|あさって", re.IGNORECASE)),
    (1, re.compile(r"\btomorrow(?:'s)?\b|明日|あした|あす", re.IGNORECASE)),
    (
        0,
        re.compile(
            r"\b(?:today(?:'s)?|tonight|this "
            r"(?:morning|afternoon|evening))\b|今日|きょう|本日|今夜|今晩",
            re.IGNORECASE,
        ),
    ),
)
SPANS = {
    **dict.fromkeys(("second", "秒"), "PT{}S"),
    **dict.fromkeys(("minute", "分"), "PT{}M"),
    **dict.fromkeys(("hour", "時間"), "PT{}H"),
    **dict.fromkeys(("day", "日"), "P{}D"),
}
SPAN = r"\bin (?P<number>[1-9]\d{0,2}) (?P<unit>second|minute|hour|day)s?"
REMINDERS = (
    re.compile(
        rf"\bremind me {SPAN}\b,?(?: to| that| about| of)? (?P<text>.+?)[\s.!]*$", re.IGNORECASE
    ),
    re.compile(
        rf"\bremind me (?:to |that |about |of )?(?P<text>.+?) {SPAN}[\s.!]*$", re.IGNORECASE
    ),
    re.compile(
        r"(?P<number>[1-9]\d{0,2})(?P<unit>秒|分|時間|日)後に[、 ]?(?P<text>.+?)"
        r"(?:よう|のこと|こと|って|と|を|に)*(?:リマインド|思い出させ|知らせ|お知らせ|通知)"
    ),
)
POLL = re.compile(
    r"\W*(?:(?:can|could) you )?(?:please )?(?:(?:start|make|open) )?(?:a "
    r")?\bpoll\b[\s:,-]+(?P<english>\S.*)|"
    r"\W*(?:投票|アンケート)(?:を(?:始め|し|作っ|取っ|とっ)て(?:ください)?)?[\s:、。,-]+(?P<japanese>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
QUESTION = re.compile(
    r"(?P<question>[^?。\n]*[?。\n])(?P<options>\s*[^\s?。].*)|(?P<short>[^,、]*)[,、](?P<rest>.*)",
    re.DOTALL,
)
BETWEEN_OPTIONS = re.compile(r"[,、/・\n]|\bor\b|それとも|または", re.IGNORECASE)
CHART = re.compile(
    r"\b(?:(?:a|the) )?(?:chart|graph)\b(?: "
    r"(?:of|for)\b)?|(?:を|の|も)?(?:グラフ|チャート)(?:に|で|を|も)?",
    re.IGNORECASE,
)
UMBRELLA = re.compile(r"umbrella|raincoat|傘|かさ", re.IGNORECASE)
MENTION = re.compile(r"<@[^>]*>|(?<!\S)@\S+")  # of the bot itself, in a group
TIME_COMMAND = re.compile(
    r"^\s*/time\s+(?!in\b)(?=\S)", re.IGNORECASE
)  # the rest alone would not ask for a time
SENTENCE = re.compile(r"(?:[^?!;。.\n]|\.(?!\s|$)|(?<=\bSt)\.|(?<=\bMt)\.)+\??")
REGION = (
    "France|Germany|Italy|Spain|England|Scotland|Ireland|UK|USA|US|Canada|Mexico|Australia|Japan|China|India|Brazil|"
    "Oregon|Maine|Texas|California|Ontario|[A-Z]{2}"
)
PIECES = re.compile(
    rf",(?!\s*(?:{REGION})\b)|、|[+&]|\b(?i:and|or|also|then)\b|(?<=[A-Za-z㐀-䶿一-鿿々ァ-ヴー])[とや]"
)
SAID_WHERE = re.compile(r"\b(?:in|at|for|near)\s+\S", re.IGNORECASE)
THERE = re.compile(r"\bthere\b|そこ|現地|あちら", re.IGNORECASE)
ASKS_ON = re.compile(
    r"\?\W*$|^\W*(?:and|how about|what "
    r"about|in)\b|(?:は|なら|も|だと|だったら|って|の方|の場合)\W*$",
    re.IGNORECASE,
)
SOCIAL = (
    (
        "who",
        r"\b(?:who|what) are you\b|\bare you "
        r"(?:an?|the|really|gemini|chat\w*|gpt|claude|human|real)\b|\byour name\b|"
        r"gemini|(?:what|which) model|(?:あなた|君|きみ)は(?:誰|だれ|何|なに)|名前|人間|ジェミニ",
    ),
    (
        "help",
        r"\bhelp\b|what can you|how (?:do|does) (?:you|this|it) work|"
        r"何ができ|なにができ|できること|使い方|ヘルプ|助けて",
    ),
    ("thanks", r"\b(?:thanks?|thank you|thx|cheers)\b|ありがと|有難|サンキュー|助かり"),
    (
        "greeting",
        r"^\W*(?:hi|hello|hey|good "
        r"(?:morning|afternoon|evening))\b|こんにち[はわ]|こんばん[はわ]|おはよう|"
        r"はじめまして|初めまして|よろしく|もしもし|^\W*(?:やあ|どうも)",
    ),
)
COURTESIES = tuple((name, re.compile(words, re.IGNORECASE)) for name, words in SOCIAL)

# Words around a place in a sentence without a topic.
LEAD = re.compile(
    r"(?:\s*\b(?:okay|ok|so|and|now|then|also|how about|what about|in|for|at|the|near)\b[\s,]*)+",
    re.IGNORECASE,
)
PARTICLES = re.compile(
    r"(?:では?|じゃあ?|それなら|なら|の場合|の方|は|も|だと|だったら|って|どう|です|でしょう|か|と|や|に|あと|教えて|"
    r"ください|知りたい|お願いします|[\W_])*"
)

# Words that look like places to the rules.
ENGLISH = """
a about afternoon again all am an and any anything are at autumn awesome bad be bring but can
celsius chance
check cool could day days degrees did do does else evening ever fahrenheit find fine for forecast
from get give
going gonna good great have hello help here hey hi high hmm home how huh i i'm if in info is it
it's its know
later let like local look lot low me moment morning my need nice night no noon not now of oh ok
okay on or our
outside perfect please really right see seriously should show so some sorry spring summer sure take
talk tell
thank thanks that that's the their then there there's these they think this to today up us want was
we wear week
weekend well were what what's when where whether which who why will winter with work would wow yes
you you're
your yours
"""
NO_PLACE_WORDS = frozenset(ENGLISH.split())
NO_PLACE_PART = re.compile(
    r"今週末?|来週末?|週末|現在|午[前後]|夕方|最高|最低|降水確率|現地|今(?![㐀-䶿一-鿿々])"
)
NO_PLACE = re.compile(
    r"確率|予報|予想|週間|本日|昨日|日中|早朝|深夜|大丈夫|必要|予定|出張|旅行|散歩|仕事|洗濯物?|花見|運動会|会社|学校|自宅|"
    r"屋外|場所|地域|本当|了解|素敵|残念|願|教|知|確認|調|質問|情報|世界|場合|感|状況|様子|次|行|持|出|着|見|思|言|気|"
    r"レインコート|ジャケット|コート|サングラス|ピクニック|ドライブ|キャンプ|デモ|モデル|ボット|ヘルプ|サンキュー|オッケー|"
    r".*[雨雪傘降晴曇].*|[今外夜朝昼風空服私僕俺君何度方時家駅街山海体人日市県区府都暑寒暖涼]|[ァ-ヴヶー・]"
)
