"""Files of answers in Slack: shared once below the answer, or told in words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from bot.channels import Delivery, Reply
from bot.errors import DeliverLater, TokenRefused
from tests.bot.channels.slack.rig import TS, Rig, delivery, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL
from tests.fakes.stored_files import CHART, PNG, LocalFiles

UPLOAD, SHARE = "files.getUploadURLExternal", "files.completeUploadExternal"
SHARED = [("weather.png", PNG, TS)]


@pytest.fixture
def files() -> LocalFiles:
    """The files, with a chart."""
    return LocalFiles()


@pytest.fixture
async def rig(fake: SlackFake, files: LocalFiles) -> AsyncIterator[Rig]:
    """The channel, with files."""
    async with open_rig(fake, files=files) as rig:
        yield rig


def with_chart(attempts: int = 1, **address: Any) -> Delivery:
    """The delivery of a file, as ``split`` makes it."""
    return replace(delivery(attempts=attempts, **address), reply=Reply(CHART.text, files=(CHART,)))


async def deliver(rig: Rig, what: Delivery) -> None:
    await rig.slack.deliver("slack:T00000001:C00000001:x", what, ours)


def words(fake: SlackFake) -> list[str]:
    return [posted["markdown_text"] for posted in fake.posted]


def test_each_file_is_a_message_of_its_own(rig: Rig) -> None:
    """So that text and files are delivered once each."""
    reply = Reply("Here they are.", private=True, files=(CHART, CHART))
    file = Reply(CHART.text, private=True, files=(CHART,))
    assert rig.slack.split(reply) == [Reply("Here they are.", private=True), file, file]


async def test_a_file_is_shared_in_the_thread(fake: SlackFake, rig: Rig) -> None:
    """With its words for people who do not see it; nothing else is posted."""
    await deliver(rig, with_chart())
    assert (fake.shared, fake.posted) == (SHARED, [])
    assert fake.called(UPLOAD) == [
        {"filename": "weather.png", "length": str(len(PNG)), "alt_txt": CHART.text}
    ]


@pytest.mark.parametrize("lost", ["hang_up", "break_down"])
async def test_a_share_whose_answer_is_lost_is_not_repeated(
    fake: SlackFake, rig: Rig, lost: str
) -> None:
    """The second attempt finds the file in the thread."""
    getattr(fake, lost)(SHARE, after=True)
    with pytest.raises(DeliverLater):
        await deliver(rig, with_chart())
    await deliver(rig, with_chart(attempts=2))
    assert fake.shared == SHARED


@pytest.mark.parametrize("method", [UPLOAD, SHARE, "upload"])
async def test_what_did_not_arrive_is_sent_again(fake: SlackFake, rig: Rig, method: str) -> None:
    """From the beginning."""
    fake.break_down(method)
    with pytest.raises(DeliverLater):
        await deliver(rig, with_chart())
    assert fake.shared == []
    await deliver(rig, with_chart(attempts=2))
    assert fake.shared == SHARED


async def test_without_the_scope_there_are_words(fake: SlackFake, rig: Rig) -> None:
    """The log says what to do."""
    fake.scopes.remove("files:write")
    with capture_logs() as logged:
        await deliver(rig, with_chart())
    assert (words(fake), fake.shared) == ([CHART.text], [])
    assert [line["fix"] for line in logged if "fix" in line] == [
        "the app needs the scope files:write; add it and install the app again"
    ]


async def test_a_file_that_is_gone_is_told_in_words(
    fake: SlackFake, rig: Rig, files: LocalFiles
) -> None:
    """Its day is over."""
    files.stored.clear()
    await deliver(rig, with_chart())
    assert words(fake) == [CHART.text]


async def test_a_store_that_is_away_is_waited_for(
    fake: SlackFake, rig: Rig, files: LocalFiles
) -> None:
    """The file may still be there."""
    files.away = True
    with pytest.raises(DeliverLater):
        await deliver(rig, with_chart())
    assert (fake.posted, fake.shared) == ([], [])


async def test_refusals_have_their_consequence(fake: SlackFake, rig: Rig) -> None:
    """A dead token waits for the operator; any other refusal leaves the words."""
    fake.fail(UPLOAD, "token_revoked")
    with pytest.raises(TokenRefused):
        await deliver(rig, with_chart())
    fake.fail(SHARE, "posting_to_channel_denied")
    await deliver(rig, with_chart())
    assert words(fake) == [CHART.text]
    fake.break_down("upload", status=400)
    await deliver(rig, replace(with_chart(), id="turn_2"))
    assert words(fake) == [CHART.text] * 2


async def test_an_answer_for_one_person_has_words(fake: SlackFake, rig: Rig) -> None:
    """A file is seen by the whole channel."""
    address = f"{fake.origin}/commands/1"
    await deliver(rig, with_chart(response_url=address))
    assert [spoken["text"] for spoken in fake.responses["/commands/1"]] == [CHART.text]
    assert (fake.shared, CHANNEL in str(fake.posted)) == ([], False)
