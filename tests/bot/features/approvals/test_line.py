"""Calls that act, in LINE: asked about with two buttons, decided by whoever asked, answered to
where it was decided."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from bot.providers.scripted import Step
from bot.safe_text.arguments import SHOWN
from bot.store import Store
from bot.transcript import ToolCall, ToolResult
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.features.approvals.longest_questions import TitledLaunch, longest_call, wordy_models
from tests.bot.harness import texts
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP
from tests.fakes.tools import Launch

OTHER = "U" + "9" * 32
LAUNCH = Step(calls=(ToolCall("c1", "launch", {"what": "rocket", "to": "月"}),))
REFUSED = "Only the person who asked can decide this."


class Pad:
    """A place to launch from: the tool and the script."""

    def __init__(self, store: Store, fake: LineFake, *then: str, **settings: Any) -> None:
        self.launch = Launch()
        self._store = store
        self._fake = fake
        self._steps = [LAUNCH, *(Step(words) for words in then)]
        self._settings = settings

    @property
    def launched(self) -> int:
        """How often."""
        return len(self.launch.contexts)

    def open(self) -> AbstractAsyncContextManager[LinePipeline]:
        """A process; after a first one is gone, another goes on in its place."""
        return open_pipeline(self._store, self._fake, self._steps, self.launch, **self._settings)


def result(here: LinePipeline) -> ToolResult:
    """What the model was told of the call."""
    return here.model.requests[-1].messages[-1].results[0]


@pytest.mark.parametrize(
    ("words", "question", "invitation", "yes", "no"),
    [
        (
            "launch the rocket",
            "May I do this? launch with\n\n▸ what: rocket\n▸ to: 月\n\nAnswer yes or no.",
            "May I run launch?",
            "Yes",
            "No",
        ),
        (
            "打ち上げて",
            "次の操作をしてもよろしいですか。launch\n\n▸ what: rocket\n▸ to: 月\n\n"
            "「はい」か「いいえ」でお答えください。",
            "launch を実行してもよろしいですか。",
            "はい",
            "いいえ",
        ),
    ],
)
async def test_a_call_that_acts_is_asked_about_with_two_buttons(
    store: Store, fake: LineFake, words: str, question: str, invitation: str, yes: str, no: str
) -> None:
    """In the asker's language: all of the call in words, then the buttons, by one reply token."""
    async with Pad(store, fake).open() as here:
        await here.converse(fake.text(words))
    [sent] = fake.sent
    assert (sent.call, sent.texts, list(sent.buttons)) == (
        "reply",
        [question, invitation],
        [yes, no],
    )
    [_, template] = sent.messages
    pressed = template["template"]["actions"]
    target = pressed[0]["data"].partition(" ")[2]
    assert template == {
        "type": "template",
        "altText": invitation,
        "template": {
            "type": "confirm",
            "text": invitation,
            "actions": [
                {
                    "type": "postback",
                    "label": yes,
                    "data": f"approval.approve {target}",
                    "displayText": yes,
                },
                {
                    "type": "postback",
                    "label": no,
                    "data": f"approval.reject {target}",
                    "displayText": no,
                },
            ],
        },
    }


@pytest.mark.parametrize("letter", ["🍎", "頼", "אa"])
async def test_the_longest_question_with_every_reviewers_words_is_asked(
    store: Store, fake: LineFake, letter: str
) -> None:
    """Arguments, title, reason and votes as long as any may be: the arguments are whole, all votes
    are there."""
    step, launch = longest_call(letter), TitledLaunch()
    async with open_pipeline(
        store, fake, [step, Step("Up")], launch, other_models=wordy_models(letter)
    ) as here:
        await here.converse(fake.text("打ち上げて"))
        [question, _] = fake.texts[0]
        assert (
            SHOWN - 12 < len(question.split("\n\n")[1]) <= SHOWN
        )  # a letter that is escaped takes six
        assert question.count("レビュアー ") == 5
        await here.converse(fake.press("はい"))
    assert len(launch.contexts) == 1


async def test_the_press_brings_the_token_that_its_answer_goes_by(
    store: Store, fake: LineFake
) -> None:
    """The question's own has been used; nothing is pushed, and that it was decided is not said
    again."""
    pad = Pad(store, fake, "Launched")
    async with pad.open() as here:
        await here.converse(fake.text("launch the rocket"))
        press = fake.press("Yes")
        await here.converse(press)
    assert pad.launched == 1
    assert [(sent.call, sent.texts) for sent in fake.sent[1:]] == [("reply", ["Launched"])]
    assert fake.calls("reply")[-1].body["replyToken"] == press["replyToken"]


async def test_among_others_whoever_asked_is_named_and_decides(
    store: Store, fake: LineFake
) -> None:
    """Another member's press is refused in a sentence, and so is that of a member whose id LINE
    keeps back."""
    fake.people[OTHER] = {"displayName": "Taro"}
    pad = Pad(store, fake, "Launched")
    async with pad.open() as here:
        await here.converse(fake.mention("launch the rocket"))
        assert fake.texts[0] == [
            # nothing of words that nobody would hear
            "May I do this? launch with\n\n▸ what: rocket\n▸ to: 月",
            texts().get("line.confirm_group", "en", asker="Hanako", title="May I run launch?"),
        ]
        await here.converse(fake.press("Yes", OTHER))
        await here.converse(fake.press("Yes", None))
        assert pad.launched == 0
        await here.converse(fake.press("Yes"))
    assert pad.launched == 1
    assert [(sent.call, sent.to, sent.texts) for sent in fake.sent[1:]] == [
        ("reply", GROUP, [REFUSED]),
        ("reply", GROUP, [REFUSED]),
        ("reply", GROUP, ["Launched"]),
    ]


async def test_among_others_words_decide_with_a_mention_only(store: Store, fake: LineFake) -> None:
    """What people say to one another is not for the bot, also while it waits."""
    pad = Pad(store, fake, "Launched")
    async with pad.open() as here:
        await here.converse(fake.mention("launch the rocket"))
        await here.converse(fake.text("はい", GROUP))
        assert (pad.launched, len(fake.sent)) == (0, 1)
        fake.advance(2)
        await here.converse(fake.mention("はい"))
    assert (pad.launched, fake.texts[1:]) == (1, [["Launched"]])
