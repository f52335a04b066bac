"""The manifests ask for what the code needs, and differ only where they must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.channels.slack.doctor import SCOPES
from bot.channels.slack.shortcuts import ASK, SUMMARISE
from tests.fakes.slack_rules import METHODS

ROOT = Path(__file__).parents[4]
NAMES = ("slack_manifest.yaml", "slack_manifest.socket.yaml")
EVENTS_OF_SCOPES = {
    "agent_session_stopped": "assistant:write",
    "app_context_changed": "assistant:write",
    "app_mention": "app_mentions:read",
    "member_joined_channel": "channels:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
}


def read(name: str) -> dict[str, Any]:
    manifest: dict[str, Any] = yaml.safe_load((ROOT / name).read_text("utf-8"))
    return manifest


def flat(value: object, path: str = "") -> dict[str, object]:
    if isinstance(value, dict):
        return {
            where: leaf
            for key, part in value.items()
            for where, leaf in flat(part, f"{path}/{key}").items()
        }
    if isinstance(value, list):
        return {
            where: leaf
            for n, part in enumerate(value)
            for where, leaf in flat(part, f"{path}/{n}").items()
        }
    return {path: value}


@pytest.mark.parametrize("name", NAMES)
def test_every_scope_the_code_needs_is_asked_for(name: str) -> None:
    """The doctor compares what was granted with the same list, and every method called has its
    scope."""
    scopes = read(name)["oauth_config"]["scopes"]["bot"]
    assert tuple(scopes) == SCOPES == tuple(sorted(SCOPES))
    assert all(not needed or set(needed) & set(SCOPES) for needed, _ in METHODS.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_event_has_its_scope_and_the_app_is_reachable(name: str) -> None:
    """Slack refuses a manifest that asks for events without their scopes; 1:1 messages need their
    tab."""
    manifest = read(name)
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    assert set(events) == {*EVENTS_OF_SCOPES, "app_home_opened"}
    assert {EVENTS_OF_SCOPES[event] for event in events if event in EVENTS_OF_SCOPES} <= set(SCOPES)
    assert manifest["settings"]["interactivity"]["is_enabled"] is True
    assert [command["command"] for command in manifest["features"]["slash_commands"]] == ["/kaiwa"]
    shortcuts = manifest["features"]["shortcuts"]
    assert [(one["callback_id"], one["type"]) for one in shortcuts] == [
        (ASK, "message"),
        (SUMMARISE, "message"),
    ]
    assert all(len(one["name"]) <= 24 and len(one["description"]) <= 150 for one in shortcuts)
    home = manifest["features"]["app_home"]
    assert (home["messages_tab_enabled"], home["messages_tab_read_only_enabled"]) == (True, False)
    assert home["home_tab_enabled"] is True
    assert "assistant_view" not in manifest["features"]
    assert len(manifest["features"]["agent_view"]["agent_description"]) <= 300
    assert len(manifest["display_information"]["description"]) <= 140


def test_socket_mode_has_no_addresses_and_nothing_else_differs() -> None:
    """Two files that drift apart would be two apps."""
    by_webhook, by_socket = (flat(read(name)) for name in NAMES)
    assert by_webhook.keys() ^ by_socket.keys() == {
        "/features/slash_commands/0/url",
        "/settings/event_subscriptions/request_url",
        "/settings/interactivity/request_url",
    }
    different = {
        path for path in by_webhook.keys() & by_socket.keys() if by_webhook[path] != by_socket[path]
    }
    assert different == {"/settings/socket_mode_enabled"}
    assert by_socket["/settings/socket_mode_enabled"] is True
    assert {address for path, address in by_webhook.items() if path.endswith("url")} == {
        "https://example.com/webhooks/slack"
    }
