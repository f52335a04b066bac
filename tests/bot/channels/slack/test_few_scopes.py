"""An app that was made by hand with the most necessary scopes: it has the rest as far as its scopes
go."""

from __future__ import annotations

from typing import Any

from bot.channels.slack.doctor import run_checks
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS, slack_config
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, USER, message, press, shortcut
from tests.fakes.tools import Echo, Launch, tool_map
from toolset.shown import Card, Shown, ToolFile
from toolset.tool import ToolContext

FEW_SCOPES = (
    *(
        "app_mentions:read",
        "assistant:write",
        "channels:history",
        "chat:write",
        "commands",
        "files:read",
    ),
    *("groups:history", "im:history", "mpim:history", "users:read"),
)
PNG = b"\x89PNG\r\n\x1a\npicture"


class Draw(Echo):
    """Shows a picture, a card and choices."""

    name = "draw"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        picture = ToolFile("cat.png", "image/png", PNG, "A blue cat")
        return Shown(
            {"image": "shown"}, [picture], Card("Cats", (("Blue", "1"),)), ["Another", "Enough"]
        )


async def test_an_app_with_few_scopes_works_as_far_as_these_go(
    store: Store, fake: SlackFake
) -> None:
    """Pictures come as words, groups without handles, a shortcut's answer by the person's id; the
    rest as in others."""
    fake.scopes, fake.is_subscribed = list(FEW_SCOPES), False
    launch, chosen = Launch(), {"type": "message", "ts": TS, "user": USER, "text": "Friday, 14:00"}
    steps = (
        Step(calls=(ToolCall("c1", "draw", {}),)),
        Step("Here it is."),
        Step(calls=(ToolCall("c2", "launch", {}),)),
        Step("Launched."),
        Step("A date."),
    )
    async with SlackPipeline(store, fake, steps, tool_map(Draw(), launch)) as here:
        await here.send(message(f"<@{here.slack.identity.user}> draw a cat for <!subteam^S1>", TS))
        assert here.model.requests[0].messages[-1].text == "draw a cat for @subteam"
        await here.send(
            message(f"<@{here.slack.identity.user}> launch", "1700000100.000100", thread_ts=TS)
        )
        [asked] = [one for one in fake.messages[CHANNEL] if "approval.approve" in str(one)]
        await here.send(press(asked, "approval.approve", response_url=f"{fake.origin}/actions/1"))
        await here.send(shortcut(chosen, "kaiwa_summarise"))
    answer, words, question, launched, *about = fake.shown
    assert (words, fake.shared, len(launch.contexts)) == ("A blue cat", [], 1)
    assert answer == "Here it is.\nCats\nBlue  1\n[Another] [Enough]"
    assert "feedback_buttons" in str(fake.posted[0])
    assert ("許可されました：launch" in question, launched) == (True, "Launched.")
    assert [posted["channel"] for posted in fake.posted][-2:] == [USER, USER]
    assert about[-1] == "A date."
    scopes = (await run_checks(slack_config(fake.api_base_url), store.kv))[1].detail
    missing = "channels:read files:write groups:read im:write usergroups:read"
    assert [word for word in scopes.replace(",", "").split() if ":" in word] == [
        "missing:",
        *missing.split(),
    ]
