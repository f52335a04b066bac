"""What the doctor says of LINE, and what it fixes."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngImageFile
from pydantic import SecretStr

from bot import texts
from bot.channels.line.doctor import menu_of, picture_of, run_checks, set_up
from bot.checks import CheckResult
from bot.errors import BadInput
from tests.bot.channels.line.rig import NOW, Rig, line_config
from tests.fakes.kv import LocalKeyValue
from tests.fakes.line import LineFake
from tests.fakes.line_events import TOKEN, event, text_message, webhook

HERE = "https://kaiwa.example/webhooks/line"
HOUR = 3_600_000
SWITCH = "switch on “Webhook redelivery” in LINE's console"
FIX = "kaiwa doctor --fix --url https://…"


@pytest.fixture
def in_use(fake: LineFake) -> LineFake:
    """LINE, posting to where Kaiwa answers."""
    fake.webhook = {"endpoint": HERE, "active": True}
    return fake


async def set_webhook(fake: LineFake, url: str, language: str = "en") -> list[CheckResult]:
    """What the doctor says of setting the channel up."""
    return await set_up(line_config(fake.base_url), url, texts.load(), language)


async def found(
    fake: LineFake, notes: LocalKeyValue | None = None, token: str = TOKEN
) -> list[CheckResult]:
    """The whole report."""
    config = line_config(fake.base_url, line_channel_access_token=SecretStr(token))
    return await run_checks(config, notes or LocalKeyValue(), lambda: NOW)


async def one(fake: LineFake, name: str, notes: LocalKeyValue | None = None) -> CheckResult:
    """One line of the report."""
    return next(finding for finding in await found(fake, notes) if finding.name == name)


async def test_a_channel_in_order(in_use: LineFake) -> None:
    """Nothing to fix, but what LINE does not tell."""
    in_use.limit, in_use.used = 200, 12
    assert await found(in_use) == [
        CheckResult("ok", "LINE token", "works for Kaiwa test (@216test)"),
        CheckResult("ok", "LINE chat", "off: the bot answers alone"),
        CheckResult("ok", "LINE webhook", f"{HERE}, in use"),
        CheckResult("ok", "LINE test", "LINE reaches the webhook"),
        CheckResult("ok", "LINE messages", "12 of 200 pushed this month"),
        CheckResult(
            "ok",
            "LINE menu",
            "none is set by LINE's API",
            f"{FIX} sets one, which hides one of LINE Official Account Manager",
        ),
        CheckResult("ok", "LINE redelivery", "LINE does not tell whether it is on", SWITCH),
        CheckResult(
            "ok",
            "LINE traffic",
            "last webhook not noted, last delivery not noted, bad signatures: none",
        ),
    ]


async def test_a_refused_token_is_named_once(in_use: LineFake) -> None:
    """Nothing else can be asked then; what was noted is told all the same, and no secret ever."""
    findings = await found(in_use, token="another-token")
    assert findings[0] == CheckResult(
        "failure",
        "LINE token",
        "LINE refuses LINE_CHANNEL_ACCESS_TOKEN",
        "issue a new channel access token in LINE's console",
    )
    assert [finding.name for finding in findings] == [
        "LINE token",
        "LINE redelivery",
        "LINE traffic",
    ]
    assert "another-token" not in repr(findings)


async def test_a_line_that_does_not_answer_is_a_failure(in_use: LineFake) -> None:
    """One line for all the questions."""
    in_use.fail("info", 500)
    token = (await found(in_use))[0]
    assert (token.result, token.detail) == ("failure", "LINE does not say: 500: failure")


async def test_a_single_question_without_an_answer_costs_its_line(in_use: LineFake) -> None:
    """The others are told."""
    for call in ("endpoint", "test", "quota"):
        in_use.fail(call, 500)
    assert (await found(in_use))[2:5] == [
        CheckResult("warning", "LINE webhook", "not known: 500: failure"),
        CheckResult("warning", "LINE test", "not made: 500: failure"),
        CheckResult("warning", "LINE messages", "not known: 500: failure"),
    ]


async def test_chat_that_is_on_is_a_warning(in_use: LineFake) -> None:
    """Somebody may answer beside the bot."""
    in_use.chat_mode = "chat"
    chat = await one(in_use, "LINE chat")
    assert (chat.result, chat.fix) == (
        "warning",
        "switch Chat off under Response settings in LINE Official Account Manager",
    )


async def test_without_an_address_there_is_nothing_to_test(fake: LineFake) -> None:
    """And the command that sets one is named."""
    findings = await found(fake)
    assert findings[2] == CheckResult("failure", "LINE webhook", "no address is set", FIX)
    assert "LINE test" not in [finding.name for finding in findings]


@pytest.mark.parametrize(
    ("address", "active", "expected"),
    [
        (
            HERE,
            False,
            CheckResult(
                "failure",
                "LINE webhook",
                f"{HERE}, not in use",
                "switch on “Use webhook” in LINE's console",
            ),
        ),
        (
            "https://kaiwa.example/callback",
            True,
            CheckResult(
                "warning",
                "LINE webhook",
                "https://kaiwa.example/callback, in use",
                f"Kaiwa answers at /webhooks/line: {FIX}",
            ),
        ),
    ],
)
async def test_a_webhook_that_cannot_work_is_told(
    fake: LineFake, address: str, active: bool, expected: CheckResult
) -> None:
    """Switched off, or at the wrong place."""
    fake.webhook = {"endpoint": address, "active": active}
    assert await one(fake, "LINE webhook") == expected


@pytest.mark.parametrize(
    ("status", "fix"),
    [
        (400, "LINE_CHANNEL_SECRET is probably wrong"),
        (404, "something else is at that address, or Kaiwa runs there without LINE"),
        (503, "Kaiwa runs there, and its store does not answer"),
        (0, "does Kaiwa run, and does the address lead to it?"),
    ],
)
async def test_lines_own_test_says_what_went_wrong(in_use: LineFake, status: int, fix: str) -> None:
    """By the status that Kaiwa, or whoever was there, has answered."""
    in_use.webhook_test = {
        "success": False,
        "statusCode": status,
        "reason": "REASON",
        "detail": "more",
    }
    assert await one(in_use, "LINE test") == CheckResult(
        "failure", "LINE test", "LINE does not reach the webhook: REASON (more)", fix
    )


@pytest.mark.parametrize(
    ("limit", "used", "result", "detail"),
    [
        (None, 7, "ok", "7 pushed this month, no limit"),
        (200, 159, "ok", "159 of 200 pushed this month"),
        (200, 160, "warning", "160 of 200 pushed this month"),
        (200, 200, "warning", "200 of 200 pushed this month"),
    ],
)
async def test_the_month_is_told(
    in_use: LineFake, limit: int | None, used: int, result: str, detail: str
) -> None:
    """Before it is over."""
    in_use.limit, in_use.used = limit, used
    messages = await one(in_use, "LINE messages")
    assert (messages.result, messages.detail, bool(messages.fix)) == (
        result,
        detail,
        result == "warning",
    )


LOST = CheckResult(
    "warning", "LINE redelivery", "a webhook refused 2 h ago has not come again", SWITCH
)


@pytest.mark.parametrize(
    ("refused", "came_again", "expected"),
    [
        (NOW - 2 * HOUR, 0, LOST),
        (NOW - 2 * HOUR, NOW - 3 * HOUR, LOST),
        (NOW - 2 * HOUR, NOW - HOUR, CheckResult("ok", "LINE redelivery", "on, last 1 h ago")),
        (
            NOW - 1_000,
            0,
            CheckResult("ok", "LINE redelivery", "LINE does not tell whether it is on", SWITCH),
        ),
    ],
)
async def test_redelivery_is_known_by_what_came_of_a_refusal(
    in_use: LineFake, refused: int, came_again: int, expected: CheckResult
) -> None:
    """No call tells it; a refusal of a moment ago tells nothing yet."""
    notes = LocalKeyValue()
    notes.stored = {
        "line:last_refused": str(refused).encode(),
        "line:last_redelivery": str(came_again).encode(),
    }
    assert await one(in_use, "LINE redelivery", notes) == expected


async def test_a_wrong_secret_shows_in_the_traffic(in_use: LineFake, rig: Rig) -> None:
    """A good webhook, a reply, and then nothing but bad signatures."""
    await rig.receive(event(message=text_message("hi")))
    await rig.deliver("Hi!", rig.address(in_use.token()))
    rig.now += 1
    assert await rig.post(*webhook(secret="another")) == 400
    await rig.line.__aexit__()
    assert await one(in_use, "LINE traffic", rig.notes) == CheckResult(
        "warning",
        "LINE traffic",
        "last webhook 0 s ago, last delivery 0 s ago, bad signatures: 1",
        "LINE_CHANNEL_SECRET is probably wrong",
    )


async def test_what_line_says_is_told_without_the_store(in_use: LineFake) -> None:
    """One line is missing its facts then."""
    notes = LocalKeyValue()
    notes.away = True
    assert (await found(in_use, notes))[6:] == [
        CheckResult("warning", "LINE traffic", "not known: the store does not answer")
    ]


@pytest.mark.parametrize("url", ["https://kaiwa.example", "https://kaiwa.example/"])
async def test_the_webhook_is_set_and_tested(fake: LineFake, url: str) -> None:
    """What was set is said; LINE tests the new address, not the one it still remembers."""
    assert await set_webhook(fake, url) == [
        CheckResult("ok", "LINE", f"webhook set to {HERE}"),
        CheckResult("ok", "LINE webhook", f"{HERE}, in use"),
        CheckResult("ok", "LINE test", "LINE reaches the webhook"),
        CheckResult("ok", "LINE menu", "Help, Weather in Tokyo, Start over, Usage"),
    ]
    assert fake.webhook == {"endpoint": HERE, "active": True}
    assert HERE.encode() in fake.calls("test")[0].raw


@pytest.mark.parametrize(
    "url",
    [
        "http://kaiwa.example",
        "kaiwa.example",
        "https://",
        "https://kaiwa.example/webhooks/line",
        "https://kaiwa.example?a=b",
        "https://me:secret@kaiwa.example",
        "https://kaiwa.example:port",
        "https://[kaiwa.example",
        "https://会話.example",
    ],
)
async def test_an_address_line_cannot_post_to_is_refused_before_line_is_asked(
    fake: LineFake, url: str
) -> None:
    """In one line."""
    with pytest.raises(
        BadInput, match="--url: write it as https://host, without a path"
    ) as refused:
        await set_webhook(fake, url)
    assert "\n" not in str(refused.value)
    assert fake.requests == []


@pytest.mark.parametrize(
    ("status", "name", "detail"),
    [
        (401, "LINE token", "LINE refuses LINE_CHANNEL_ACCESS_TOKEN"),
        (400, "LINE webhook", f"not set to {HERE}: 400: failure"),
    ],
)
async def test_a_webhook_that_is_not_set_is_a_failure(
    fake: LineFake, status: int, name: str, detail: str
) -> None:
    """And nothing is tested."""
    fake.fail("set", status)
    [finding] = await set_webhook(fake, "https://kaiwa.example")
    assert (finding.result, finding.name, finding.detail) == ("failure", name, detail)
    assert fake.calls("test") == []


@pytest.mark.parametrize(("language", "spoken"), [("en", "/weather Tokyo"), ("ja", "/天気 東京")])
async def test_the_menu_below_chats_is_set_once(fake: LineFake, language: str, spoken: str) -> None:
    """With a picture, and what a tap says; a second time nothing is left to do."""
    for _ in range(2):
        menu = (await set_webhook(fake, "https://kaiwa.example", language))[-1]
        assert (menu.result, menu.name) == ("ok", "LINE menu")
    assert len(fake.calls("menu")) == 1
    shown = fake.menus.find(fake.menus.shown)
    assert [area["action"]["text"] for area in shown.body["areas"]][1] == spoken
    assert shown.picture.startswith(b"\x89PNG")
    assert (await one(fake, "LINE menu")).detail == "Kaiwa's"


async def test_an_older_menu_of_ours_is_replaced(fake: LineFake) -> None:
    """As after a change of LANGUAGE; nothing is left of it."""
    await set_webhook(fake, "https://kaiwa.example", "en")
    await set_webhook(fake, "https://kaiwa.example", "ja")
    [menu] = fake.menus.by_id.values()
    assert menu.body["chatBarText"] == "メニュー"


async def test_a_menu_of_somebody_else_stays(fake: LineFake) -> None:
    """Whatever it is."""
    theirs = fake.menus.create(
        {"name": "Summer sale", "size": {}, "selected": True, "chatBarText": "", "areas": []}
    )
    fake.menus.default = theirs
    menu = (await set_webhook(fake, "https://kaiwa.example"))[-1]
    assert (menu.result, menu.detail) == ("ok", "one that is not Kaiwa's is set, and stays")
    assert (fake.menus.shown, len(fake.menus.by_id)) == (theirs, 1)
    assert (await one(fake, "LINE menu")).detail == "one that is not Kaiwa's"


@pytest.mark.parametrize("call", ["menu", "menu_picture", "set_default_menu", "default_menu"])
async def test_a_menu_that_cannot_be_set_leaves_nothing_behind(fake: LineFake, call: str) -> None:
    """Neither a menu without a picture, nor a failure of the whole."""
    fake.fail(call, 500)
    menu = (await set_webhook(fake, "https://kaiwa.example"))[-1]
    assert (menu.result, menu.fix) == ("warning", "run kaiwa doctor --fix again")
    assert fake.menus.by_id == {}
    assert "500" not in fake.menus.default


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_the_picture_of_the_menu_has_the_labels_of_its_buttons(language: str) -> None:
    """A label that changes needs another picture; this one says of itself what it shows."""
    menu = menu_of(texts.load(), language)
    with Image.open(BytesIO(picture_of(language))) as picture:
        assert isinstance(picture, PngImageFile)
        assert picture.size == (menu.width, menu.height)
        assert picture.text["Description"].splitlines() == [one["label"] for one in menu.buttons]
