"""Live events are gathered, stay in order, and never cost a turn anything."""

from __future__ import annotations

from bot.channels.console.live import BufferedWatcher
from bot.live_events import Answered, AnswerText, ToolStarted
from tests.fakes.live import LocalLive, encoded
from tests.waiting import until

CALL = ToolStarted("call_1", "get_weather", {"location": "Tokyo"})


async def test_words_are_gathered_anew_after_they_have_left() -> None:
    """A stream goes on after its first words have been published."""
    live = LocalLive()
    watcher = BufferedWatcher(live, "console:one")
    await watcher.show(AnswerText("One. "))
    await until(lambda: len(live.published) == 1)
    await watcher.show(AnswerText("Two."))
    await until(lambda: len(live.published) == 2)
    assert live.published == encoded(AnswerText("One. "), AnswerText("Two."))


async def test_any_other_event_takes_the_gathered_words_with_it() -> None:
    """A tool call is shown at once, after the words that came before it and before those that come
    after."""
    live = LocalLive()
    watcher = BufferedWatcher(live, "console:one")
    for event in (
        AnswerText("Let me "),
        AnswerText("see."),
        CALL,
        CALL,
        AnswerText("It is"),
        AnswerText(" sunny."),
    ):
        await watcher.show(event)
    await until(lambda: len(live.published) == 4)
    assert live.published == encoded(
        AnswerText("Let me see."), CALL, CALL, AnswerText("It is sunny.")
    )


async def test_events_that_come_while_others_leave_come_after_them() -> None:
    """However slow the way is."""
    live = LocalLive()
    live.gate.clear()
    watcher = BufferedWatcher(live, "console:one")
    await watcher.show(CALL)
    await until(lambda: live.waiting == 1)
    await watcher.show(Answered("turn_1", "Done."))
    live.gate.set()
    await until(lambda: len(live.published) == 2)
    assert live.published == encoded(CALL, Answered("turn_1", "Done."))


async def test_an_absent_store_costs_nothing_but_the_view() -> None:
    """A turn goes on when nobody can be shown anything."""
    live = LocalLive()
    live.away = True
    watcher = BufferedWatcher(live, "console:one")
    await watcher.show(CALL)
    await until(lambda: live.refused == 1)
    live.away = False
    await watcher.show(Answered("turn_1", "Lost."))
    await until(lambda: bool(live.published))
    assert live.published == encoded(Answered("turn_1", "Lost."))
