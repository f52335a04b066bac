"""LINE, Slack and Gemini for a flood, as strict as the tests' own. Run as a process: python -m
benchmarks.stand_ins

Reads one line of JSON: how many people write, and how long the model thinks. Prints one line of
JSON: the addresses, and a signed webhook of each person. Every further line read is answered with
what people were shown so far.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake, gemini_fake
from tests.fakes.gemini_answers import Answer, answer_of
from tests.fakes.line import LineFake, line_fake
from tests.fakes.slack import SlackFake, slack_fake

CHANNELS = 50  # of Slack's


def webhooks(
    line: LineFake, slack: SlackFake, people: int
) -> list[tuple[str, str, dict[str, str]]]:
    """One message of each: path, body and headers; every other one writes in LINE."""
    made = []
    for number in range(people):
        if number % 2 == 0:
            user = f"U{number:032x}"
            event = line.event(
                place=user, user=user, message=line_events.text_message("How are you?")
            )
            body, headers = line_events.webhook(event)
            made.append(("/webhooks/line", body.decode(), headers))
        else:
            ts, channel = f"{1_795_000_000 + number}.000100", f"C{number % CHANNELS:08d}"
            slack.add_message(channel, ts, "How are you?")
            user = f"U{number:08d}"
            body = slack_events.as_json(
                slack_events.mention("How are you?", ts, channel=channel, user=user)
            )
            made.append(("/webhooks/slack", body.decode(), slack_events.signed(body)))
    return made


def shown(line: LineFake, slack: SlackFake, gemini: GeminiFake) -> dict[str, Any]:
    """How many people have been answered how often, and how many answers the model is at."""
    times = Counter([sent.to for sent in line.sent])
    times.update(str(message.get("thread_ts")) for message in slack.posted)
    return {
        "people": len(times),
        "more_than_once": sum(n > 1 for n in times.values()),
        "in_flight": gemini.streaming,
    }


def main() -> None:
    """Serve until the input ends."""
    order = json.loads(sys.stdin.readline())
    answer = replace(answer_of([{"text": "Fine, and you?"}]), after_s=order["thinking_s"])

    def always(_: object) -> Answer:
        return answer

    with line_fake() as line, slack_fake() as slack, gemini_fake() as gemini:
        gemini.always = always
        addresses = {
            "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
            "LINE_API_BASE_URL": line.base_url,
            "LINE_DATA_API_BASE_URL": line.base_url,
            "SLACK_API_BASE_URL": slack.api_base_url,
        }
        print(
            json.dumps(
                {"addresses": addresses, "webhooks": webhooks(line, slack, order["people"])}
            ),
            flush=True,
        )
        for _ in sys.stdin:
            print(json.dumps(shown(line, slack, gemini)), flush=True)


if __name__ == "__main__":
    main()
