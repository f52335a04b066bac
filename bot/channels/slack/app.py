"""A Slack app as one account: its webhook or socket, and which of its workspaces something that
came is for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Any, Protocol

import structlog
from starlette.routing import BaseRoute, Route

from bot.channels import Host, Listens
from bot.channels.slack.config import Config, Timing
from bot.channels.slack.formatting import mentioned_users
from bot.channels.slack.inbound import Payload, WebhookReceiver, path_of, receive_by_socket
from bot.channels.slack.lookups import Identity
from bot.channels.traffic import TrafficRecorder
from bot.tasks import run_beside
from bot.transcript import channel_of
from toolset.web.json_values import as_object, entries

log = structlog.stdlib.get_logger(__name__)

CHANGES = ("message_changed", "message_deleted")


class Workspace(Protocol):
    """The app in one workspace: a channel."""

    name: str
    identity: Identity

    async def receive(self, payload: Payload) -> Payload:
        """Take what Slack sends; what it is answered."""
        ...


class App:
    """The app. Its ways in are open while it is entered.

    Args:
        host: of the account.

    Attributes:
        is_checked: Slack has taken the token of a workspace.
    """

    def __init__(self, config: Config, host: Host, timing: Timing) -> None:
        self._config = config
        self._host = host
        self._timing = timing
        self._workspaces: dict[str, Workspace] = {}
        self.traffic = TrafficRecorder(host.kv, host.channel("slack"), "SLACK_SIGNING_SECRET")
        self.is_checked = asyncio.Event()
        secret = config.slack_signing_secret.get_secret_value()
        self._receiver = WebhookReceiver(self._receive, secret, self.traffic)
        self._open = AsyncExitStack()

    def join(self, team: str, workspace: Workspace) -> None:
        """Add a workspace; the only one of a token without a team has none."""
        self._workspaces[team] = workspace

    async def __aenter__(self) -> App:
        self._open.push_async_callback(self.traffic.aclose)
        if self.has_socket and self._host.listens:
            await self._open.enter_async_context(run_beside(self._connect(self._host.listens)))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    @property
    def has_socket(self) -> bool:
        """Whether events come by Socket Mode."""
        return bool(self._config.slack_app_token.get_secret_value())

    def routes_of(self, workspace: Workspace) -> Sequence[BaseRoute]:
        """The webhook, if a signing secret is set: one for all workspaces, as the first one's."""
        is_on = bool(self._config.slack_signing_secret.get_secret_value())
        if not is_on or workspace is not next(iter(self._workspaces.values())):
            return ()
        return (Route(path_of(self._host.account), self._receiver.answer, methods=["POST"]),)

    async def _connect(self, listens: Listens) -> None:
        """Receive by Socket Mode once Slack has taken a token."""
        await self.is_checked.wait()
        async with listens(self._host.channel("slack")):
            await receive_by_socket(self._receive, self._config, self._timing, self._host)

    async def _receive(self, payload: Payload) -> Payload:
        """Pass on what Slack sends; an event may be for two workspaces that share its channel."""
        self.traffic.record("webhook", self._host.clock())
        if payload.get("type") == "url_verification":
            return {"challenge": payload.get("challenge")}
        if only := self._workspaces.get(""):
            return await only.receive(payload)
        answer: Payload = {}
        teams = [*self._teams_of(payload)]
        for team in teams:
            answer = await self._workspaces[team].receive(_seen_in(team, payload))
        if not teams and payload.get("type"):
            pressed_in = as_object(payload.get("team")).get("id")
            name = str(payload.get("context_team_id") or payload.get("team_id") or pressed_in)[:40]
            log.warning("slack.workspace_unknown", channel=self._host.channel("slack"), team=name)
        return answer

    def _teams_of(self, payload: Payload) -> Iterator[str]:
        """The workspaces that something is for."""
        if payload.get("type") == "event_callback":
            yield from self._teams_of_event(payload, as_object(payload.get("event")))
            return
        action = next(iter(entries(payload.get("actions"))), {})
        view = as_object(payload.get("view"))
        # what we have sent names the conversation, and so the channel
        ours = {
            channel_of(str(one)) for one in (action.get("block_id"), view.get("private_metadata"))
        }
        sent = (team for team, one in self._workspaces.items() if one.name in ours)
        team, user = as_object(payload.get("team")), as_object(payload.get("user"))
        named = (*sent, team.get("id"), user.get("team_id"), payload.get("team_id"))
        yield from [one for one in named if one in self._workspaces][:1]

    def _teams_of_event(self, payload: Payload, event: dict[str, Any]) -> Iterator[str]:
        """The workspace in which Slack has seen an event. In a channel that several share: those
        whose bot is mentioned; without a mention all of them, for a message in a thread or a change
        of a message, as the bot that takes part or knows the message goes on. In other channels a
        mention of another workspace's bot counts for nothing."""
        authorized = [one.get("team_id") for one in entries(payload.get("authorizations"))]
        seen = (payload.get("context_team_id"), payload.get("team_id"), *authorized)
        here = [team for team in seen if team in self._workspaces][:1]
        messages = (event, *map(as_object, (event.get("message"), event.get("previous_message"))))
        mentioned = {
            user for one in messages for user in mentioned_users(str(one.get("text") or ""))
        }
        called = [team for team, one in self._workspaces.items() if one.identity.users & mentioned]
        is_open = bool(event.get("thread_ts")) or event.get("subtype") in CHANGES
        is_shared = payload.get("is_ext_shared_channel")
        if is_shared is False or (not is_shared and {*here} & {*called}):
            called = []
        if is_shared and is_open and not called:
            here += [team for team in self._workspaces if team not in here]
        yield from called or here


def _seen_in(team: str, payload: Payload) -> Payload:
    """An event as that workspace's installation gets it."""
    if payload.get("type") != "event_callback":
        return payload
    granted = [one for one in entries(payload.get("authorizations")) if one.get("team_id") == team]
    return {**payload, "context_team_id": team, "authorizations": granted}
