"""Gemini takes a user's message behind function responses: as a content of its own, by the
service's own rules."""

from __future__ import annotations

import time

from bot.agent.loop import Agent
from bot.agent.turn import Turn, TurnContext, TurnUpdate
from bot.providers.gemini.client import Gemini
from bot.telemetry import Metrics
from bot.transcript import Message, Text
from tests.bot.agent.test_loop import Notes
from tests.fakes.gemini import GeminiFake
from tests.fakes.tools import Echo, tool_map


def words(message_id: str, text: str) -> Message:
    return Message(message_id, "user", (Text(text),), 1_000)


async def answered(gemini: Gemini, *heard: TurnUpdate) -> list[str]:
    """What becomes of a turn that hears so much between its steps; the messages it leaves."""
    notes = Notes(waiting=[TurnUpdate(), *heard])
    place = TurnContext("console:test", "", "en", "UTC", notes)
    turn = Turn("turn_1", place, [], [words("m1", "Tokyo?")], notes, time.monotonic() + 30)
    await Agent(gemini, tool_map(Echo()), "SYSTEM", Metrics()).run(turn)
    return [message.role for message in turn.added]


async def test_a_question_taken_back_leaves_no_call_behind_it(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """Gemini refuses a call that follows no user."""
    fake.call("echo", {"city": "Tokyo"})
    fake.say("Osaka is sunny.")
    assert await answered(gemini, TurnUpdate((words("m2", "Osaka?"),), {"m1": None})) == [
        "user",
        "model",
    ]
    assert fake.requests[-1].body["contents"] == [{"role": "user", "parts": [{"text": "Osaka?"}]}]
