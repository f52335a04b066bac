"""LINE's Messaging API over one session of our own; its responses are read as the SDK's models.
LINE's refusals are translated here.

The SDK's own calls take five times the CPU time: each looks for proxies and ``.netrc`` anew and
walks its models again and again. Models of a card alone take a millisecond, so requests are JSON
from the start; tests compare them with the models. Importing ``linebot.v3.messaging`` takes a
second and 35 MB. The first call with a response imports it, in a thread: neither the start nor a
webhook waits for it.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib import parse

from msgspec import Struct

from bot.channels import Take
from bot.channels.line.flex import action_of, flex_contents
from bot.channels.line.types import (
    JSON,
    Appearance,
    BotInfo,
    Chat,
    LineMessage,
    Person,
    Quota,
    RichMenu,
    WebhookEndpoint,
    WebhookTest,
)
from bot.http import open_session, read_beginning
from bot.safe_text.glyphs import without_surrogates
from bot.transcript import encode
from toolset.web.decoding import decode_json

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

CONNECTIONS = 50
CONNECT_S = 5.0
quote = partial(parse.quote, safe="")  # an id is one part of a path
NOTHING: Mapping[str, str] = MappingProxyType({})
OWN_APPEARANCE = Appearance()
MAX_ANSWER = 64 * 1024  # bytes; LINE's answers have less than 2 KiB


class Failure(Exception):
    """A call of LINE's API has failed.

    Args:
        reason: LINE's words or ours; no secrets.
        status: of the HTTP response, 0 without one.
        maybe_done: LINE may have done what was asked.
        after: seconds to wait, if LINE says so.
    """

    def __init__(
        self, reason: str, status: int = 0, *, maybe_done: bool = False, after: float | None = None
    ) -> None:
        super().__init__(f"{status}: {reason}" if status else reason)
        self.status = status
        self.maybe_done = maybe_done
        self.after = after

    @property
    def is_dead_token(self) -> bool:
        """The reply token is used or expired; LINE does not say which."""
        return self.status == 400 and "invalid reply token" in str(self).lower()

    @property
    def is_used_up(self) -> bool:
        """The month's messages are used up; any other 429 means too many calls."""
        return self.status == 429 and "monthly limit" in str(self).lower()


class Client:
    """The API with the channel's access token. Every method raises ``Failure`` and nothing else.

    Args:
        data_base_url: of the files people send.
        timeout_s: of one request.
        shown: above all messages.
    """

    def __init__(
        self,
        token: str,
        base_url: str,
        data_base_url: str = "",
        timeout_s: float = 10.0,
        shown: Appearance = OWN_APPEARANCE,
    ) -> None:
        self._headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"}
        self._base_url = base_url
        self._data_url = data_base_url or base_url
        self._timeout_s = timeout_s
        sender = {
            name: value
            for name, value in (("name", shown.name), ("iconUrl", shown.icon_url))
            if value
        }
        self._sender = {"sender": sender} if sender else {}
        self._opening = asyncio.Lock()
        self._sdk: Any = None
        self._http: ClientSession | None = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.close()

    async def reply(
        self, token: str, messages: Sequence[LineMessage], quote_token: str = ""
    ) -> list[str]:
        """Answer an event; the token works once, for about a minute. The ids of the messages, by
        which people quote."""
        sdk = await self.load()
        request = {"replyToken": token, "messages": self._messages(messages, quote_token)}
        sent = _read(sdk.ReplyMessageResponse, await self._call("POST", "message/reply", request))
        return [str(message.id) for message in sent.sent_messages]

    async def push(
        self, to: str, messages: Sequence[LineMessage], retry_key: str, quote_token: str = ""
    ) -> list[str]:
        """Send without a reply token; LINE takes a retry key (a UUID) once, and answers 409
        afterwards.

        Returns:
            The ids of the messages.
        """
        sdk = await self.load()
        request = {"to": to, "messages": self._messages(messages, quote_token)}
        headers = {"X-Line-Retry-Key": retry_key}
        sent = _read(
            sdk.PushMessageResponse, await self._call("POST", "message/push", request, headers)
        )
        return [str(message.id) for message in sent.sent_messages]

    async def start_loading(self, user: str, seconds: int) -> None:
        """Show the loading animation for 5 to 60 seconds, in steps of 5."""
        await self._call("POST", "chat/loading/start", {"chatId": user, "loadingSeconds": seconds})

    async def mark_as_read(self, token: str) -> None:
        """Mark a message, and those before it, as read."""
        await self._call("POST", "chat/markAsRead", {"markAsReadToken": token})

    async def get_quota(self) -> Quota:
        """The month's quota of pushed messages, and its use."""
        sdk = await self.load()
        quota = await self._get(sdk.MessageQuotaResponse, "message/quota")
        consumption = await self._get(sdk.QuotaConsumptionResponse, "message/quota/consumption")
        return Quota(quota.value if quota.type == "limited" else None, int(consumption.total_usage))

    async def count_members(self, chat: Chat) -> int:
        """The number of people in a group or room."""
        sdk = await self.load()
        return int(
            (
                await self._get(
                    sdk.GroupMemberCountResponse, f"{chat.kind}/{quote(chat.id)}/members/count"
                )
            ).count
        )

    async def get_person(self, chat: Chat, user: str) -> Person:
        """A person's profile, as far as a chat shows it."""
        sdk = await self.load()
        if chat.is_group:
            member = await self._get(
                sdk.GroupUserProfileResponse, f"{chat.kind}/{quote(chat.id)}/member/{quote(user)}"
            )
            return Person(without_surrogates(member.display_name))
        profile = await self._get(sdk.UserProfileResponse, f"profile/{quote(user)}")
        return Person(without_surrogates(profile.display_name), profile.language or "")

    async def fetch_content(
        self, message_id: str, family: str, take: Take, timeout_s: float | None = None
    ) -> bool | None:
        """Pass a file to ``take``: whether it took all of it, or None while LINE still prepares the
        file.

        Args:
            family: the first part of the MIME type, such as ``image``; another one is a
            ``Failure``. Empty for any. timeout_s: None for that of every request.
        """
        url = f"{self._data_url}/v2/bot/message/{quote(message_id)}/content"
        async with self._send("GET", url, timeout_s=timeout_s) as response:
            if response.status == 202:
                return None
            if family and not response.content_type.startswith(f"{family}/"):
                raise Failure(f"{response.content_type} in place of {family}", response.status)
            async for piece in response.content.iter_any():
                if not take(piece):
                    return False
            return True

    async def is_prepared(self, message_id: str) -> bool:
        """Whether LINE has prepared a recording; a recording that LINE cannot prepare is a
        ``Failure``."""
        url = f"{self._data_url}/v2/bot/message/{quote(message_id)}/content/transcoding"
        async with self._send("GET", url) as response:
            body = await read_beginning(response, MAX_ANSWER)
        sdk = await self.load()
        state = _read(sdk.GetMessageContentTranscodingResponse, body).status
        if state == "failed":
            raise Failure("LINE cannot prepare this recording")
        return bool(state == "succeeded")

    async def is_picture(self, message_id: str) -> bool:
        """Whether a message that people have sent is a picture which LINE still has."""
        async with self._send(
            "GET", f"{self._data_url}/v2/bot/message/{quote(message_id)}/content"
        ) as response:
            return response.status == 200 and response.content_type.startswith("image/")

    async def get_bot(self) -> BotInfo:
        """The account of the access token."""
        sdk = await self.load()
        info = await self._get(sdk.BotInfoResponse, "info")
        return BotInfo(info.user_id, info.display_name, info.basic_id, info.chat_mode == "chat")

    async def get_webhook(self) -> WebhookEndpoint | None:
        """The webhook's address, if one is set."""
        sdk = await self.load()
        endpoint = await self._find(sdk.GetWebhookEndpointResponse, "channel/webhook/endpoint")
        return WebhookEndpoint(endpoint.endpoint, endpoint.active) if endpoint else None

    async def set_webhook(self, url: str) -> None:
        """Tell LINE where to post events; it must be https. LINE takes up to a minute to use it."""
        await self._call("PUT", "channel/webhook/endpoint", {"endpoint": url})

    async def test_webhook(self, url: str = "") -> WebhookTest:
        """Let LINE post to the address that is set, or to another."""
        sdk = await self.load()
        request = {"endpoint": url} if url else {}
        test = _read(
            sdk.TestWebhookEndpointResponse,
            await self._call("POST", "channel/webhook/test", request),
        )
        return WebhookTest(bool(test.success), test.status_code, test.reason, test.detail)

    async def get_default_menu(self) -> RichMenu | None:
        """The menu that everybody sees who has none of their own, as far as it was set by this
        API."""
        sdk = await self.load()
        default = await self._find(sdk.RichMenuIdResponse, "user/all/richmenu")
        menu = default and await self._find(
            sdk.RichMenuResponse, f"richmenu/{quote(default.rich_menu_id)}"
        )
        return RichMenu(menu.rich_menu_id, menu.name) if menu else None

    async def create_menu(self, menu: RichMenu) -> str:
        """Create a menu without a picture; its id."""
        sdk = await self.load()
        step = menu.width // len(menu.buttons)
        areas = [
            {
                "bounds": {"x": step * number, "y": 0, "width": step, "height": menu.height},
                "action": action_of(button),
            }
            for number, button in enumerate(menu.buttons)
        ]
        size = {"width": menu.width, "height": menu.height}
        request = {
            "size": size,
            "selected": False,
            "name": menu.name,
            "chatBarText": menu.title,
            "areas": areas,
        }
        created = _read(sdk.RichMenuIdResponse, await self._call("POST", "richmenu", request))
        return str(created.rich_menu_id)

    async def upload_menu_picture(self, menu_id: str, png: bytes) -> None:
        """Give a menu its picture, of at most 1 MB."""
        url = f"{self._data_url}/v2/bot/richmenu/{quote(menu_id)}/content"
        async with self._send("POST", url, png, {"Content-Type": "image/png"}):
            pass

    async def set_default_menu(self, menu_id: str) -> None:
        """Show a menu to everybody who has none of their own."""
        await self._call("POST", f"user/all/richmenu/{quote(menu_id)}")

    async def delete_menu(self, menu_id: str) -> None:
        """Delete a menu."""
        await self._call("DELETE", f"richmenu/{quote(menu_id)}")

    async def load(self) -> Any:
        """Import LINE's SDK, once."""
        async with self._opening:
            if self._sdk is None:
                self._sdk = await asyncio.to_thread(import_module, "linebot.v3.messaging")
                gc.freeze()  # no full collection looks at the SDK's thousands of classes again
            return self._sdk

    def _messages(self, messages: Sequence[LineMessage], quote_token: str) -> list[JSON]:
        """The messages as LINE takes them; the first one quotes."""
        quotes = [quote_token] + [""] * (len(messages) - 1)
        return [
            _message(message, token) | self._sender
            for message, token in zip(messages, quotes, strict=True)
        ]

    async def _find(self, model: Any, path: str) -> Any:
        """What LINE has there; None for nothing."""
        try:
            return await self._get(model, path)
        except Failure as failure:
            if failure.status == 404:
                return None
            raise

    async def _get(self, model: Any, path: str) -> Any:
        return _read(model, await self._call("GET", path))

    async def _call(
        self,
        method: str,
        path: str,
        request: JSON | None = None,
        headers: Mapping[str, str] = NOTHING,
    ) -> bytes:
        """Send JSON; the body of LINE's answer."""
        body = encode(request) if request is not None else None
        async with self._send(method, f"{self._base_url}/v2/bot/{path}", body, headers) as response:
            return await read_beginning(response, MAX_ANSWER)

    @asynccontextmanager
    async def _send(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NOTHING,
        timeout_s: float | None = None,
    ) -> AsyncIterator[ClientResponse]:
        """A response that is no refusal."""
        import aiohttp  # noqa: PLC0415 -- takes 0.2 s, which the start does not wait for

        if self._http is None:
            self._http = open_session(self._base_url, connections=CONNECTIONS, connect_s=CONNECT_S)
        typed = (
            self._headers
            | ({"Content-Type": "application/json"} if body is not None else {})
            | dict(headers)
        )
        try:
            async with (
                asyncio.timeout(timeout_s or self._timeout_s),
                self._http.request(
                    method, url, data=body, headers=typed, allow_redirects=False
                ) as response,
            ):
                if response.status >= 300:
                    raise _refusal(response, await read_beginning(response, MAX_ANSWER))
                yield response
        except aiohttp.ClientConnectorError as error:
            raise Failure("LINE cannot be reached", maybe_done=False) from error
        except (TimeoutError, aiohttp.ClientError) as error:
            raise Failure(
                f"no answer from LINE ({type(error).__name__})", maybe_done=True
            ) from error


def _message(message: LineMessage, quote_token: str) -> JSON:
    if message.choice:
        actions = [action_of(button) for button in message.choice]
        template = {"type": "confirm", "text": message.text, "actions": actions}
        return {"type": "template", "altText": message.text, "template": template}
    items = [{"type": "action", "action": action_of(button)} for button in message.quick]
    more = {"quickReply": {"items": items}} if items else {}
    if message.bubbles:
        return {
            "type": "flex",
            "altText": message.text,
            "contents": flex_contents(message.bubbles),
            **more,
        }
    if message.image:
        return {
            "type": "image",
            "originalContentUrl": message.image,
            "previewImageUrl": message.image,
            **more,
        }
    quoted = {"quoteToken": quote_token} if quote_token else {}
    return {"type": "text", "text": message.text, **quoted, **more}


def _read(model: Any, body: bytes) -> Any:
    """An answer as a model of the SDK."""
    try:
        return model.from_json(body.decode())
    except ValueError as error:  # a proxy has answered instead of LINE
        raise Failure("an answer from LINE that cannot be read", maybe_done=True) from error


class _Error(Struct):
    message: str = ""


def _refusal(response: ClientResponse, body: bytes) -> Failure:
    try:
        message = decode_json(body, _Error).message
    except ValueError:  # no JSON, or no UTF-8
        message = ""
    wait = response.headers.get("Retry-After", "")
    after = float(wait) if wait.isdecimal() else None
    status = response.status
    return Failure(message or str(response.reason), status, maybe_done=status >= 500, after=after)
