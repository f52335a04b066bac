"""The pane for agents and assistants is inviting, and never in the way."""

from __future__ import annotations

from typing import Any

from tests.bot.channels.slack.rig import TS, Rig, arrival
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import DIRECT, USER, envelope

PROMPTS, TITLE = "assistant.threads.setSuggestedPrompts", "assistant.threads.setTitle"
IN_DIRECT = f"slack:T00000001:{DIRECT}"


def opened(tab: str = "messages") -> dict[str, Any]:
    return envelope(
        {"type": "app_home_opened", "user": USER, "channel": DIRECT, "tab": tab, "event_ts": TS}
    )


async def receive(rig: Rig, payload: dict[str, Any]) -> None:
    assert await rig.send(payload) == 200
    await rig.slack.tasks.join()


async def test_an_opened_messages_tab_has_prompts_once_a_day(fake: SlackFake, rig: Rig) -> None:
    """In the language of whoever opens it, and without a thread: with one Slack would drop them
    silently."""
    for _ in range(2):
        await receive(rig, opened())
        await receive(rig, opened("home"))
    [prompts] = fake.called(PROMPTS)
    assert (prompts["channel_id"], prompts["title"]) == (DIRECT, "たとえば")
    assert [prompt["title"] for prompt in prompts["prompts"]] == [
        "明日の天気",
        "海外の時刻",
        "計算",
    ]
    assert "thread_ts" not in prompts
    assert rig.inbox.accepted == []


async def test_trouble_with_decoration_is_no_trouble(fake: SlackFake, rig: Rig) -> None:
    """Slack or the store may be away."""
    fake.break_down(PROMPTS)
    await receive(rig, opened())
    rig.kv.away = True
    await receive(rig, opened())
    assert [call["title"] for call in fake.called(PROMPTS)] == ["たとえば"]


async def test_a_thread_of_a_1_to_1_gets_its_first_words_as_title(
    fake: SlackFake, rig: Rig
) -> None:
    """Once, and not the whole essay."""
    long = "What will the\nweather be like in Tokyo tomorrow, and what should I wear to the office?"
    for words in (long, "And in Kyoto?"):
        await rig.slack.enrich(IN_DIRECT, [arrival(words, channel=DIRECT)], is_new=False)
        await rig.slack.tasks.join()
    assert [call["title"] for call in fake.called(TITLE)] == [
        "What will the weather be like in Tokyo tomorrow, and what s…"
    ]


async def test_a_note_that_cannot_be_written_does_not_stop_a_turn(rig: Rig) -> None:
    """That the bot talks here is then not known until its next turn."""
    rig.kv.away = True
    assert (
        len(await rig.slack.enrich(IN_DIRECT, [arrival("Hi", channel=DIRECT)], is_new=False)) == 1
    )
    await rig.slack.tasks.join()
