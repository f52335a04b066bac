"""The workspace behind the stand-in for Slack: who and what is there, and what each method does
with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.fakes.slack_blocks import check_message
from tests.fakes.slack_events import BOT, CHANNEL, DIRECT, TEAM, USER
from tests.fakes.slack_rules import JSON, Refused, check_prompts, page
from tests.fakes.slack_streams import BOT_ID, KEPT, Messages, done, show
from tests.fakes.slack_views import Views

MANIFEST = Path(__file__).parents[2] / "slack_manifest.yaml"
SCOPES: list[str] = yaml.safe_load(MANIFEST.read_text("utf-8"))["oauth_config"]["scopes"]["bot"]
LONGEST_STATUS = 50  # not documented: https://github.com/getsentry/junior/pull/56
STATUSES = ("active", "processing", "suspended", "closed")


@dataclass
class Upload:
    """A file on its way in: its announced name and size, and its content once that has come."""

    name: str
    size: int
    content: bytes | None = None


@dataclass
class Workspace(Messages, Views):
    """One workspace with one app in it.

    Attributes:
        bot: the user id of its bot.
        team: its id.
        scopes: granted to the app's token.
        no_status: channels in which no status is shown.
        file_cards: what files.info knows.
        uploads: files by id, whose content may still be to come.
        shared: names, contents and threads of files that were shared.
        posted: the arguments of every message the bot has posted.
        answers: what each of them showed, without buttons for feedback.
        whispered: the same of every message for one person alone.
        sessions: the status of each thread's session, by channel and thread.
        directs: people's 1:1 channels with the bot by person; ``DIRECT`` for others.
        groups: handles of user groups by id.
        not_in: channels that the bot has not been invited to.
        is_agent: the app is declared as one.
        is_subscribed: to presses of the stop button.
    """

    origin: str = ""
    bot: str = BOT
    team: str = TEAM
    scopes: list[str] = field(default_factory=SCOPES.copy)
    messages: dict[str, list[JSON]] = field(default_factory=lambda: {CHANNEL: [], DIRECT: []})
    no_status: set[str] = field(default_factory=set)
    file_cards: dict[str, JSON] = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)
    shared: list[tuple[str, bytes, str]] = field(default_factory=list)
    posted: list[JSON] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    whispered: list[JSON] = field(default_factory=list)
    sessions: dict[tuple[str, str], str] = field(default_factory=dict)
    directs: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    not_in: set[str] = field(default_factory=set)
    is_agent: bool = True
    is_subscribed: bool = True

    def add_user(
        self,
        user: str = USER,
        name: str = "Hanako",
        locale: str = "ja-JP",
        zone: str = "Asia/Tokyo",
    ) -> None:
        """Somebody in the workspace."""
        profile = {"display_name": name, "real_name": f"{name} Real"}
        named = {"id": user, "name": name.lower(), "profile": profile}
        self.users[user] = {**named, "locale": locale, "tz": zone}

    def add_direct(self, user: str, channel: str) -> None:
        """Give somebody a 1:1 with the bot of their own."""
        self.directs[user] = channel
        self.messages.setdefault(channel, [])

    def add_message(self, channel: str, ts: str, text: str, **fields: Any) -> None:
        """Something somebody has said."""
        self.messages.setdefault(channel, []).append(
            {"type": "message", "ts": ts, "text": text, "user": USER, **fields}
        )

    def obey(self, method: str, arguments: JSON) -> JSON:
        """Do what a method does.

        Raises:
            Refused: it cannot be done.
        """
        do: Callable[[JSON], JSON] = getattr(self, "_" + method.replace(".", "_"))
        return do(arguments)

    def _auth_test(self, _: JSON) -> JSON:
        who = {
            "user": "kaiwa",
            "user_id": self.bot,
            "bot_id": BOT_ID,
            "team": "Test",
            "team_id": self.team,
        }
        return {"ok": True, "url": "https://test.slack.com/", "is_enterprise_install": False, **who}

    def _users_info(self, arguments: JSON) -> JSON:
        if arguments.get("user") not in self.users:
            raise Refused("user_not_found")
        user = dict(self.users[arguments["user"]])
        if str(arguments.get("include_locale", "0")) not in ("1", "true"):
            user.pop("locale", None)
        return {"ok": True, "user": user}

    def _usergroups_list(self, arguments: JSON) -> JSON:
        groups = [
            {"id": key, "team_id": TEAM, "is_usergroup": True, "handle": one}
            for key, one in self.groups.items()
        ]
        return {"ok": True, "usergroups": groups}

    def _files_info(self, arguments: JSON) -> JSON:
        if arguments.get("file") not in self.file_cards:
            raise Refused("file_not_found")
        return {"ok": True, "file": self.file_cards[arguments["file"]]}

    def _files_getUploadURLExternal(self, arguments: JSON) -> JSON:
        name, length = str(arguments.get("filename", "")), str(arguments.get("length", ""))
        if not name or not length.isdecimal() or not int(length):
            raise Refused("invalid_arguments")
        file_id = f"F{len(self.uploads) + len(self.shared):08d}"  # each is new
        self.uploads[file_id] = Upload(name, int(length))
        return {"ok": True, "upload_url": f"{self.origin}/upload/v1/{file_id}", "file_id": file_id}

    def _files_completeUploadExternal(self, arguments: JSON) -> JSON:
        """Files whose content has not come, or has another size, are unknown; a file is shared
        once."""
        try:
            given = json.loads(arguments.get("files", ""))
        except ValueError as error:
            raise Refused("invalid_arguments") from error
        channel, thread = self.place(arguments.get("channel_id")), arguments.get("thread_ts")
        if thread and thread not in self._threads(channel):
            raise Refused("thread_not_found")
        for one in given:
            upload = self.uploads.pop(one.get("id"), None)
            if upload is None or upload.content is None or len(upload.content) != upload.size:
                raise Refused("file_not_found")
            self.shared.append((upload.name, upload.content, thread or ""))
            fields = {"thread_ts": thread} if thread else {}
            self.write(channel, text="", files=[{"id": one["id"], "name": upload.name}], **fields)
        return {"ok": True, "files": given}

    def _chat_postMessage(self, arguments: JSON) -> JSON:
        channel = self.place(arguments.get("channel"))
        if channel in self.archived:
            raise Refused("is_archived")
        self.check_blocks(arguments)
        check_message(arguments)
        self.check_length(arguments)
        thread = arguments.get("thread_ts")
        if thread and thread not in self._threads(channel):
            raise Refused("thread_not_found")
        fields = {name: arguments[name] for name in ("thread_ts", *KEPT) if arguments.get(name)}
        text = arguments.get("markdown_text") or arguments.get("text", "")
        message = self.write(channel, text=text, **fields)
        self.posted.append(arguments)
        self.answers.append(show(message))
        return done(channel, message["ts"], message=message)

    def _chat_postEphemeral(self, arguments: JSON) -> JSON:
        self.place(arguments.get("channel"))
        check_message(arguments)
        if arguments.get("user") not in self.users:
            raise Refused("user_not_in_channel")
        self.whispered.append(arguments)
        return {"ok": True, "message_ts": f"{self._clock:.6f}"}

    def _agents_sessions_setStatus(self, arguments: JSON) -> JSON:
        if not self.is_agent:
            raise Refused("not_authorized")
        if arguments.get("status") not in STATUSES or not arguments.get("thread_ts"):
            raise Refused("invalid_arguments")
        place = self.place(arguments.get("channel_id")), arguments["thread_ts"]
        if place[1] not in self._threads(place[0]):
            raise Refused("thread_not_found")
        self.sessions[place] = arguments["status"]
        answer = {"ok": True, "status": arguments["status"]}
        if not self.is_subscribed:
            answer["warning"] = "missing_agent_session_stopped_event_subscription"
        return answer

    def _conversations_open(self, arguments: JSON) -> JSON:
        if arguments.get("users") not in self.users:
            raise Refused("user_not_found")
        return {"ok": True, "channel": {"id": self.place(arguments["users"])}}

    def _conversations_info(self, arguments: JSON) -> JSON:
        """Of a public channel also where the bot is no member; a private one is unknown then, so it
        is not among ``messages``."""
        channel = self.named(arguments.get("channel"))
        known = {"id": channel, "created": 1_600_000_000, "is_org_shared": False}
        if channel.startswith("D"):
            return {"ok": True, "channel": {**known, "is_im": True, "user": USER, "priority": 0}}
        name, words = channel.lower(), {"value": "", "creator": "", "last_set": 0}
        known |= {"name": name, "name_normalized": name, "creator": USER, "is_channel": True}
        known |= {"is_archived": channel in self.archived, "topic": words, "purpose": words}
        kinds = ("is_group", "is_im", "is_mpim", "is_private", "is_general", "is_shared")
        is_member = {"is_member": channel not in self.not_in}
        return {"ok": True, "channel": known | dict.fromkeys(kinds, False) | is_member}

    def _conversations_replies(self, arguments: JSON) -> JSON:
        channel, thread = self.named(arguments.get("channel")), arguments.get("ts", "")
        if channel in self.not_in:
            raise Refused("not_in_channel")
        if thread not in self._threads(channel):
            raise Refused("thread_not_found")
        found = [m for m in self.messages[channel] if thread in (m["ts"], m.get("thread_ts"))]
        return page(found, arguments, newest_first=False, parent=thread)

    def _conversations_history(self, arguments: JSON) -> JSON:
        channel = self.named(arguments.get("channel"))
        found = [m for m in self.messages[channel] if m.get("thread_ts") in (None, m["ts"])]
        return page(found, arguments, newest_first=True)

    def _assistant_threads_setStatus(self, arguments: JSON) -> JSON:
        self._assistant_thread(arguments, "status")
        if len(arguments["status"]) > LONGEST_STATUS:
            raise Refused("invalid_arguments")
        return {"ok": True}

    def _assistant_threads_setTitle(self, arguments: JSON) -> JSON:
        self._assistant_thread(arguments, "title")
        return {"ok": True}

    def _assistant_threads_setSuggestedPrompts(self, arguments: JSON) -> JSON:
        self.place(arguments.get("channel_id"))
        check_prompts(arguments.get("prompts"))
        return {"ok": True}

    def _assistant_thread(self, arguments: JSON, needed: str) -> None:
        channel = self.place(arguments.get("channel_id"))
        if channel in self.no_status:
            raise Refused("method_not_supported_for_channel_type")
        if not arguments.get("thread_ts") or needed not in arguments:
            raise Refused("invalid_arguments")

    def place(self, channel: object) -> str:
        """A message to a person goes to the 1:1 with them. The bot is in no 1:1 between two
        people."""
        return super().place(
            self.directs.get(str(channel), DIRECT) if channel in self.users else channel
        )

    def _threads(self, channel: str) -> set[str]:
        return {message["ts"] for message in self.messages[channel]}
