"""One process with several accounts of LINE and Slack, whose people, channels and messages have the
same ids."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bot.app import site
from bot.app.runtime import Runtime, open_runtime
from bot.app.services import open_services
from bot.settings import load
from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import Answer, answer_of
from tests.fakes.line import LineFake
from tests.fakes.slack import APP_TOKEN, SlackFake
from tests.fakes.slack_rules import JSON

LINE_SECRETS = {"shop": "a" * 32, "school": "b" * 32}
SIGNING = {"acme": "c" * 32, "beta": "d" * 32, "corp": "e" * 32}
TOKENS = {"acme": "xoxb-acme", "beta": "xoxb-beta", "one": "xoxb-one", "two": "xoxb-two"}
ONE, TWO = "T00000001", "T00000002"
CALLS = {
    "keep": "remember",
    "list": "add_to_list",
    "show": "show_list",
    "poll": "start_poll",
    "write": "write_file",
    "read": "read_file",
}


def variables() -> dict[str, str]:
    """The secrets that the file names."""
    found = {f"LINE_{name.upper()}_SECRET": secret for name, secret in LINE_SECRETS.items()}
    found |= {f"LINE_{name.upper()}_TOKEN": f"token-of-{name}" for name in LINE_SECRETS}
    found |= {f"SLACK_{name.upper()}_SECRET": secret for name, secret in SIGNING.items()}
    return found | {f"SLACK_{name.upper()}_TOKEN": token for name, token in TOKENS.items()}


def line_table(name: str, fake: LineFake, **fields: str) -> str:
    """An account of LINE."""
    variable = f"LINE_{name.upper()}"
    return table(
        "line",
        name,
        line_channel_secret=f"{variable}_SECRET",
        line_channel_access_token=f"{variable}_TOKEN",
        line_api_base_url=fake.base_url,
        line_data_api_base_url=fake.base_url,
        **fields,
    )


def slack_table(name: str, fake: SlackFake, **fields: str) -> str:
    """An account of Slack, with one token unless there are some by team."""
    variable = f"SLACK_{name.upper()}"
    token = {} if "slack_bot_tokens" in fields else {"slack_bot_token": f"{variable}_TOKEN"}
    way_in = {} if "slack_app_token" in fields else {"slack_signing_secret": f"{variable}_SECRET"}
    return table("slack", name, slack_api_base_url=fake.api_base_url, **token, **way_in, **fields)


def table(platform: str, name: str, **fields: str) -> str:
    """A table; a value that begins with a brace is written as it is."""
    lines = [f"{key} = {one if one[:1] == '{' else repr(one)}" for key, one in fields.items()]
    return "\n".join(["[[account]]", f'platform = "{platform}"', f'name = "{name}"', *lines, ""])


def answer(body: JSON) -> Answer:
    """What the model says: it calls the tool that the newest message begins with, and says what
    that message ends with."""
    newest = body["contents"][-1]["parts"]
    if any("functionResponse" in part for part in newest):
        return answer_of([{"text": "Done."}])
    words = " ".join(part["text"] for part in newest if "text" in part).split()
    tool, what = words[-2:] if len(words) > 1 else ("", words[-1])
    given: dict[str, JSON] = {
        "keep": {"text": what},
        "list": {"list": "things", "items": [what]},
        "show": {"list": what},
        "write": {"path": "kept.txt", "content": what},
        "read": {"path": what},
        "poll": {"question": f"{what}?", "options": ["yes", what]},
    }
    if tool not in CALLS:
        return answer_of([{"text": f"You say {what}."}])
    call = {"name": CALLS[tool], "args": given[tool], "id": what}
    return answer_of([{"functionCall": call, "thoughtSignature": "c2lnbmVk"}])


@dataclass
class Accounts:
    """The process.

    Attributes:
        due: conversations to process.
    """

    runtime: Runtime
    http: httpx.AsyncClient
    gemini: GeminiFake
    due: list[str] = field(default_factory=list)

    async def line(self, account: str, *events: JSON) -> None:
        """What LINE posts to an account's webhook, with all that follows."""
        body, headers = line_events.webhook(*events, secret=LINE_SECRETS[account])
        await self._post(f"/webhooks/line/{account}", body, headers)

    async def slack(self, account: str, payload: JSON) -> None:
        """The same of a Slack app."""
        body = slack_events.as_body(payload)
        signed = slack_events.signed(body, SIGNING[account])
        await self._post(f"/webhooks/slack/{account}", body, signed)

    async def _post(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        answered = await self.http.post(path, content=body, headers=headers)
        assert answered.status_code == 200, answered.text
        await self.process()

    async def process(self) -> None:
        """Do what workers and background tasks do."""
        while self.due:
            await self.runtime.conversations.process(self.due.pop(0))
        for channel in self.runtime.channels.values():
            if tasks := getattr(channel, "tasks", None):
                await tasks.join()

    def asked(self) -> list[str]:
        """The requests to the model so far, as they came in."""
        return [one.raw.decode() for one in self.gemini.requests if one.action != "get"]


@asynccontextmanager
async def open_accounts(
    tmp_path: Path, monkeypatch: Any, gemini: GeminiFake, *tables: str, **more: str
) -> AsyncIterator[Accounts]:
    """A process with these tables; REDIS_URL and the model's key are set."""
    file = tmp_path / "places.toml"
    file.write_text("\n".join(tables))
    for name, value in (variables() | {"PLACES": str(file)} | more).items():
        monkeypatch.setenv(name, value)
    gemini.always = answer
    settings, due = load(), list[str]()
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_services(settings, settings.store_url))

        def start(conversation: str, _author: str) -> None:
            due.append(conversation)

        runtime = await stack.enter_async_context(
            open_runtime(services, start, listens=True, is_start=True)
        )
        transport = httpx.ASGITransport(site.asgi(services, runtime, None))
        http = httpx.AsyncClient(transport=transport, base_url="http://kaiwa")
        yield Accounts(runtime, await stack.enter_async_context(http), gemini, due)


__all__ = ["APP_TOKEN", "Accounts", "line_table", "open_accounts", "slack_table", "table"]
