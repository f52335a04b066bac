"""Pictures of an answer in LINE: below its text, in the same reply; in words where LINE cannot show
them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bot.channels import Reply
from bot.channels.line.formatting import MAX_PREVIEW
from bot.features.polls.poll import Poll
from bot.transcript import FileRef
from tests.bot.channels.line.rig import open_rig
from tests.bot.harness import texts
from tests.fakes.line import LineFake
from tests.fakes.stored_files import CHART, LocalFiles

URL = f"https://kaiwa.example/files/{CHART.id}{'0' * 32}.png"
WORDS = f"Here it is.\n\n{CHART.text}"


async def test_a_picture_is_sent_in_the_same_reply(fake: LineFake) -> None:
    """It is its own preview."""
    async with open_rig(fake, files=LocalFiles()) as rig:
        await rig.say(Reply("Here it is.", files=(CHART,)), rig.address(fake.token()))
    [sent] = fake.sent
    assert sent.call == "reply"
    assert sent.messages == [
        {"type": "text", "text": "Here it is."},
        {"type": "image", "originalContentUrl": URL, "previewImageUrl": URL},
    ]


@pytest.mark.parametrize("public_url", ["", "http://kaiwa.example"])
async def test_without_an_address_that_line_can_open_there_are_words(
    fake: LineFake, public_url: str
) -> None:
    """LINE opens https alone."""
    async with open_rig(fake, files=LocalFiles(public_url)) as rig:
        await rig.say(Reply("Here it is.", files=(CHART,)), rig.address(fake.token()))
    assert fake.texts == [[WORDS]]


@pytest.mark.parametrize(
    "file",
    [replace(CHART, size=MAX_PREVIEW + 1), replace(CHART, mime="image/gif"), replace(CHART, id="")],
    ids=["too large", "no type of LINE's", "not stored"],
)
async def test_what_line_cannot_show_is_told_in_words(fake: LineFake, file: FileRef) -> None:
    """The text says the same."""
    async with open_rig(fake, files=LocalFiles()) as rig:
        await rig.say(Reply("Here it is.", files=(file,)), rig.address(fake.token()))
    assert fake.texts == [[WORDS]]


async def test_a_long_answer_and_many_pictures_fit(fake: LineFake) -> None:
    """Three texts and two pictures are five messages; the offer to go on stands at the last."""
    async with open_rig(fake, files=LocalFiles()) as rig:
        await rig.say(Reply("All work. " * 2_000, files=(CHART,) * 4), rig.address(fake.token()))
    [sent] = fake.sent
    assert [message["type"] for message in sent.messages] == ["text"] * 3 + ["image"] * 2
    assert ["quickReply" in message for message in sent.messages] == [False] * 4 + [True]


async def test_a_long_answer_with_a_poll_and_pictures_fits(fake: LineFake) -> None:
    """The poll takes the place of a picture, whose words are told."""
    poll = Poll(f"poll_{'0' * 32}", "Where?", ("A", "B"), (0, 0))
    async with open_rig(fake, files=LocalFiles()) as rig:
        await rig.say(
            Reply("All work. " * 2_000, files=(CHART,) * 2, card=poll.card(texts())),
            rig.address(fake.token()),
        )
    [sent] = fake.sent
    assert [message["type"] for message in sent.messages] == ["text"] * 3 + ["flex", "image"]
