"""Questions with buttons: everything is shown, nothing pretends, and LINE's limits are kept."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bot.channels import Reply
from bot.channels.line.formatting import Formatter
from bot.channels.line.types import JSON, chat_of, read_action
from bot.errors import DeliveryRefused
from bot.features.approvals.questions import APPROVE, REJECT, Question, card_of
from bot.safe_text.arguments import code_block, render_arguments
from bot.safe_text.glyphs import BULLET
from bot.texts import LANGUAGES
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE, Rig, open_rig
from tests.bot.features.approvals.asking import card_asking
from tests.bot.harness import texts
from tests.bot.safe_text.corpus import ATTACKS
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, USER
from tests.fakes.line_rules import CONFIRM_TEXT, LABEL, units

LAUNCH = Question("question_1", "c1", "launch", {"what": "rocket"}, "Hanako", USER)


def question_of(**arguments: object) -> Reply:
    """The reply that the core asks with."""
    shown = code_block(render_arguments(arguments))
    text = texts().get("approval.question", "en", tool="launch", arguments=shown, remarks="")
    question = Question("question_1", "c1", "launch", arguments, "Hanako", USER)
    return Reply(text, card=card_asking(question))


def buttons_of(question: Question, language: str = "en", *, is_group: bool = False) -> JSON:
    """The buttons, below their sentence."""
    card = card_of(replace(question, language=language), texts())
    chat = chat_of(IN_GROUP if is_group else IN_PRIVATE)
    template: JSON = Formatter(texts(), "en").decision(card, chat, language)["template"]
    return template


async def test_what_looks_like_markdown_is_shown_as_it_is(fake: LineFake, rig: Rig) -> None:
    """A command must not lose a letter on its way to whoever approves it."""
    hostile = {
        "a": "**rm** -rf `x` [y](https://a.example) ~~z~~ | - # > 1\\.",
        "b": "````",
        "c_d": "_e_ <br> &amp;",
    }
    await rig.say(question_of(**hostile), rig.address(fake.token()))
    shown = render_arguments(hostile).replace(
        "https://a.example", "https[:]//a[.]example"
    )  # LINE opens no link
    assert fake.texts[0][0].split("\n\n")[1] == shown


async def test_no_argument_looks_like_another(fake: LineFake, rig: Rig) -> None:
    """Whatever is in it, and wherever LINE wraps it: each begins its line with what no value
    has."""
    for arguments in ATTACKS.values():
        await rig.say(
            question_of(**{"of": arguments} if "" in arguments else arguments),
            rig.address(fake.token()),
        )
        begun = [line for line in fake.texts[-1][0].split("\n") if line.startswith(BULLET)]
        assert fake.texts[-1][0] == "\n".join(("May I do this? launch with", "", *begun))
        assert all(line.count(BULLET) == 1 for line in begun)


def test_the_buttons_name_the_tool_by_its_title() -> None:
    """The question above them has its name too."""
    titled = Question("question_1", "c1", "launch", {}, "Hanako", USER, title="ロケットの打ち上げ")
    bubble = buttons_of(titled, "ja")
    assert "ロケットの打ち上げ" in bubble["text"]
    assert "launch" not in bubble["text"]


async def test_a_question_is_never_cut(fake: LineFake, rig: Rig) -> None:
    """LINE refuses it as a whole, which the core takes for a no."""
    with pytest.raises(DeliveryRefused):
        await rig.say(question_of(text="x" * 5_000), rig.address(fake.token()))
    assert fake.sent == []


async def test_a_question_may_be_pushed(fake: LineFake, rig: Rig) -> None:
    """Both bubbles count as one message for each who reads along."""
    fake.limit, fake.members[GROUP] = 10, 4
    await rig.say(question_of(what="rocket"), conversation=IN_GROUP)
    assert [(sent.call, len(sent.messages)) for sent in fake.sent] == [("push", 2)]
    assert fake.used == 4


@pytest.mark.parametrize(
    ("push", "seen"), [("auto", []), ("never", []), ("always", [["Not you."]])]
)
async def test_what_is_for_one_pair_of_eyes_is_pushed_to_nobody(
    fake: LineFake, push: str, seen: list[list[str]]
) -> None:
    """Without a token it is left out, quietly; where everything is pushed, so is this."""
    async with open_rig(fake, line_push=push) as rig:
        await rig.say(
            Reply("Not you.", private=True), rig.address("unknown"), conversation=IN_GROUP
        )
    assert fake.texts == seen


async def test_a_settled_question_stays_as_it_is(fake: LineFake, rig: Rig) -> None:
    """LINE cannot change what it has shown, and a message more would have to be pushed."""
    await rig.say(Reply("Allowed: launch.", replaces="question_1"), rig.address(fake.token()))
    assert fake.requests == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("asker", "asker_id"), [("🍎" * 60, USER), ("\u202e" * 60, USER), ("", USER), ("", "")]
)
def test_the_buttons_keep_to_lines_limits(language: str, asker: str, asker_id: str) -> None:
    """With the longest name of a tool and of a person."""
    question = Question("question_" + "0" * 32, "c1", "t" * 64, {}, asker, asker_id)
    for is_group in (True, False):
        bubble = buttons_of(question, language, is_group=is_group)
        assert units(bubble["text"]) <= CONFIRM_TEXT
        assert "t" * 64 in bubble["text"]
        assert [units(action["label"]) <= LABEL for action in bubble["actions"]] == [True, True]


@pytest.mark.parametrize("language", LANGUAGES)
def test_whoever_asked_is_named_where_several_talk(language: str) -> None:
    """A name cannot bring its own sentence along; where it is not known, and where the person is
    not, that is said."""
    sentences = {"line.confirm_group": LAUNCH}
    sentences["line.confirm_nameless"] = Question("q", "c", "launch", {}, "", USER)
    sentences["line.confirm_unknown"] = Question("q", "c", "launch", {})
    for key, question in sentences.items():
        bubble = buttons_of(question, language, is_group=True)
        title = texts().get("approval.title", language, tool="launch")
        assert bubble["text"] == texts().get(key, language, title=title, asker="Hanako")
    faked = Question("q", "c", "launch", {}, "Taro\nApproved\u202e", USER)
    bubble = buttons_of(faked, language, is_group=True)
    assert "Taro Approved" in bubble["text"]


@pytest.mark.parametrize(
    ("data", "decision"),
    [
        ("approval.approve question_1", (APPROVE, "question_1")),
        ("approval.reject question_1", (REJECT, "question_1")),
        ("approval.approve ", (APPROVE, "")),
        ("approval.approve", None),
        ("Approval.approve question_1", None),
        ("action=buy&itemid=1", None),
        ("", None),
    ],
)
def test_only_our_own_buttons_decide(data: str, decision: tuple[str, str] | None) -> None:
    """Menus that were made elsewhere have data of their own."""
    assert read_action(data) == decision
