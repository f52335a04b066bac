"""Two Kaiwas in one thread of Slack, each of which answers the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.bot.channels.accounts.rig import SIGNING, TOKENS, slack_table, variables
from tests.fakes import slack_events
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.gemini_answers import Answer, said
from tests.fakes.slack import SlackFake, slack_fake
from tests.fakes.slack_events import BOT, CHANNEL
from tests.process.kaiwa_process import KaiwaProcess, kaiwa

OTHER, OTHER_BOT = "U0000000C", "B0000000C"  # what each sees of the other
NAMES = ("acme", "beta")
ROOT = "1795298000.000100"


@dataclass
class Party:
    """One Kaiwa, and Slack as it sees it: itself as ``BOT``, the other as ``OTHER``.

    Attributes:
        told: how many of its messages the other has got.
    """

    name: str
    slack: SlackFake
    running: KaiwaProcess
    told: int = 0

    @property
    def answers(self) -> int:
        """How many messages it has posted."""
        return len(self.slack.own)

    async def get(self, text: str, ts: str, **fields: Any) -> None:
        """Slack sends it a message of the channel, as Slack does: a mention comes twice."""
        self.slack.add_message(CHANNEL, ts, text, **fields)
        events = [slack_events.message(text, ts, **fields)]
        if f"<@{BOT}>" in text and "bot_id" not in fields:
            words = text.removeprefix(f"<@{BOT}> ")
            events.append(slack_events.mention(words, ts, **fields))
        for event in events:
            body = slack_events.as_json(event)
            signed = slack_events.signed(body, SIGNING[self.name])
            assert await self.running.post(f"/webhooks/slack/{self.name}", body, signed) == 200


@dataclass
class Thread:
    """The thread, in which each gets what the other posts."""

    parties: list[Party]
    _moments: Iterator[int] = field(default_factory=lambda: count(1))

    def _next(self) -> str:
        return f"1795298{next(self._moments):03}.000200"

    async def say(self, *texts: str, **fields: Any) -> None:
        """A person writes, whose text names the bots as each of them sees them; then all is said
        that follows."""
        ts = self._next() if fields else ROOT
        for party, text in zip(self.parties, texts * (2 // len(texts)), strict=True):
            await party.get(text, ts, **fields)
        while await self._pass_on():
            continue

    async def _pass_on(self) -> bool:
        """Give each what the other has posted; false if there is nothing new."""
        for party in self.parties:
            await party.running.idle(seconds=30)
        own = [party.slack.own[party.told :] for party in self.parties]
        for party, other, posted in zip(self.parties, reversed(self.parties), own, strict=True):
            party.told += len(posted)
            for one in posted:
                who = {"user": OTHER, "bot_id": OTHER_BOT, "app_id": "A0002"}
                await other.get(one["text"], self._next(), thread_ts=ROOT, **who)
        return any(own)


def talkative() -> Answer:
    """A long answer that takes its time, as those that are streamed."""
    return said("I see it another way, and there is much to say about that. " * 3)


@pytest.fixture(params=["thread", "all"])
def speak(request: pytest.FixtureRequest) -> str:
    """Which messages call the bots."""
    return str(request.param)


@pytest.fixture(params=["two processes", "one process"])
async def thread(
    request: pytest.FixtureRequest, speak: str, tmp_path: Path, gemini: GeminiFake
) -> AsyncIterator[Thread]:
    """A Kaiwa each with a store of its own, or one with two accounts."""
    gemini.always = lambda _asked: talkative()
    given = {"PLACES": "places.toml", "GEMINI_API_KEY": KEY, **variables()}
    given["GOOGLE_GEMINI_BASE_URL"] = gemini.base_url
    with ExitStack() as fakes:
        slacks = {name: fakes.enter_context(slack_fake()) for name in NAMES}
        for name, slack in slacks.items():
            slack.tokens = {TOKENS[name]}
            slack.add_user()
        place = f'[[place]]\nplatform = "slack"\nspeak = "{speak}"\nbots = ["{OTHER_BOT}"]\n'
        tables = {name: slack_table(name, slack) for name, slack in slacks.items()}
        async with AsyncExitStack() as stack:
            parties = list[Party]()
            if request.param == "one process":
                (tmp_path / "places.toml").write_text(place + "".join(tables.values()))
                running = await stack.enter_async_context(kaiwa(tmp_path, "run", **given))
                parties = [Party(name, slack, running) for name, slack in slacks.items()]
            else:
                for name, slack in slacks.items():
                    file, data = tmp_path / f"{name}.toml", tmp_path / name
                    file.write_text(place + tables[name])
                    own = {"PLACES": file.name, "KAIWA_DATA_DIR": str(data)}
                    starting = kaiwa(tmp_path, "run", **given | own)
                    parties.append(Party(name, slack, await stack.enter_async_context(starting)))
            yield Thread(parties)


async def test_two_kaiwas_end_after_four_answers_each(thread: Thread, speak: str) -> None:
    """Whoever asked them, the answer to a person included; each time that a person writes, also to
    one of them alone or to somebody else, they may go on."""
    one, two = thread.parties

    def answers() -> list[int]:
        return [party.answers for party in thread.parties]

    await thread.say(f"<@{BOT}> <@{OTHER}> talk it over", f"<@{OTHER}> <@{BOT}> talk it over")
    assert answers() == [4, 4]
    await thread.say(f"<@{BOT}> go on", f"<@{OTHER}> go on", thread_ts=ROOT)
    assert answers() == [8, 8]
    await thread.say("and once more", thread_ts=ROOT)
    assert answers() == [12, 12]
    await thread.say("<@U00000009> what do you say?", thread_ts=ROOT)
    assert answers() == ([16, 16] if speak == "all" else [12, 12])
    assert one.slack.called("chat.startStream") + two.slack.called("chat.startStream") == []
