"""LINE's Messaging API. The SDK's exceptions and LINE's refusals are translated here.

Importing ``linebot.v3.messaging`` takes a second and 35 MB. The first call imports it, in a thread: neither the start
nor a webhook waits for it.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from bot.channels import Take
from bot.channels.line.types import BotInfo, Button, Chat, LineMessage, Person, Quota, WebhookEndpoint, WebhookTest

if TYPE_CHECKING:
    from linebot.v3.messaging import AsyncMessagingApi

CONNECTIONS = 50


class Failure(Exception):
    """A call of LINE's API has failed.

    Args:
        reason: LINE's words or ours; no secrets.
        status: of the HTTP response, 0 without one.
        maybe_done: LINE may have done what was asked.
        after: seconds to wait, if LINE says so.
    """

    def __init__(self, reason: str, status: int = 0, *, maybe_done: bool = False, after: float | None = None) -> None:
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
        data_base_url: of the images people send.
        timeout_s: of one request.
    """

    def __init__(self, token: str, base_url: str, data_base_url: str = "", timeout_s: float = 10.0) -> None:
        self._token = token
        self._base_url = base_url
        self._data_url = data_base_url or base_url
        self._timeout_s = timeout_s
        self._opening = asyncio.Lock()
        self._sdk: Any = None
        self._http: Any = None
        self._api: AsyncMessagingApi = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.close()

    async def reply(self, token: str, messages: Sequence[LineMessage], quote_token: str = "") -> None:
        """Answer an event; the token works once, for about a minute."""
        sdk = await self.load()
        request = sdk.ReplyMessageRequest(replyToken=token, messages=_messages(sdk, messages, quote_token))
        await self._call(self._api.reply_message, request)

    async def push(self, to: str, messages: Sequence[LineMessage], retry_key: str, quote_token: str = "") -> None:
        """Send without a reply token; LINE takes a retry key (a UUID) once, and answers 409 afterwards."""
        sdk = await self.load()
        request = sdk.PushMessageRequest(to=to, messages=_messages(sdk, messages, quote_token))
        await self._call(self._api.push_message, request, x_line_retry_key=retry_key)

    async def start_loading(self, user: str, seconds: int) -> None:
        """Show the loading animation for 5 to 60 seconds, in steps of 5."""
        sdk = await self.load()
        request = sdk.ShowLoadingAnimationRequest(chatId=user, loadingSeconds=seconds)
        await self._call(self._api.show_loading_animation, request)

    async def mark_as_read(self, token: str) -> None:
        """Mark a message, and those before it, as read."""
        sdk = await self.load()
        request = sdk.MarkMessagesAsReadByTokenRequest(markAsReadToken=token)
        await self._call(self._api.mark_messages_as_read_by_token, request)

    async def get_quota(self) -> Quota:
        """The month's quota of pushed messages, and its use."""
        await self.load()
        quota = await self._call(self._api.get_message_quota)
        consumption = await self._call(self._api.get_message_quota_consumption)
        return Quota(quota.value if quota.type == "limited" else None, int(consumption.total_usage))

    async def count_members(self, chat: Chat) -> int:
        """The number of people in a group or room."""
        await self.load()
        is_group = chat.kind == "group"
        get = self._api.get_group_member_count if is_group else self._api.get_room_member_count
        return int((await self._call(get, chat.id)).count)

    async def get_person(self, chat: Chat, user: str) -> Person:
        """A person's profile, as far as a chat shows it."""
        await self.load()
        if not chat.is_group:
            profile = await self._call(self._api.get_profile, user)
            return Person(profile.display_name, profile.language or "")
        is_group = chat.kind == "group"
        get = self._api.get_group_member_profile if is_group else self._api.get_room_member_profile
        return Person((await self._call(get, chat.id, user)).display_name)

    async def fetch_content(self, message_id: str, most: int, take: Take) -> bool | None:
        """Pass an image to ``take``: whether it took all of it, or None while LINE still prepares the image.

        Args:
            most: bytes; a larger file is a ``Failure``, and so is one that is no image.
        """
        sdk = await self.load()
        is_whole: bool | None = await _translate_failures(sdk, self._fetch(message_id, most, take))
        return is_whole

    async def get_bot(self) -> BotInfo:
        """The account of the access token."""
        await self.load()
        info = await self._call(self._api.get_bot_info)
        return BotInfo(info.user_id, info.display_name, info.basic_id, info.chat_mode == "chat")

    async def get_webhook(self) -> WebhookEndpoint | None:
        """The webhook's address, if one is set."""
        await self.load()
        try:
            endpoint = await self._call(self._api.get_webhook_endpoint)
        except Failure as failure:
            if failure.status == 404:
                return None
            raise
        return WebhookEndpoint(endpoint.endpoint, endpoint.active)

    async def set_webhook(self, url: str) -> None:
        """Tell LINE where to post events; it must be https. LINE takes up to a minute to use it."""
        sdk = await self.load()
        await self._call(self._api.set_webhook_endpoint, sdk.SetWebhookEndpointRequest(endpoint=url))

    async def test_webhook(self, url: str = "") -> WebhookTest:
        """Let LINE post to the address that is set, or to another."""
        sdk = await self.load()
        request = sdk.TestWebhookEndpointRequest(endpoint=url or None)
        test = await self._call(self._api.test_webhook_endpoint, request)
        return WebhookTest(bool(test.success), test.status_code, test.reason, test.detail)

    async def load(self) -> Any:
        """Import LINE's SDK, once; sets ``_api`` and ``_http``."""
        async with self._opening:
            if self._sdk is None:
                sdk = await asyncio.to_thread(import_module, "linebot.v3.messaging")
                configuration = sdk.Configuration(host=self._base_url, access_token=self._token)
                configuration.connection_pool_maxsize = CONNECTIONS
                self._http = sdk.AsyncApiClient(configuration)
                self._api = sdk.AsyncMessagingApi(self._http)
                self._sdk = sdk
                gc.freeze()  # no full collection looks at the SDK's thousands of classes again
            return self._sdk

    async def _call(self, method: Any, *arguments: Any, **options: Any) -> Any:
        request = method(*arguments, **options, _request_timeout=self._timeout_s)
        return await _translate_failures(self._sdk, request)

    async def _fetch(self, message_id: str, most: int, take: Take) -> bool | None:
        # The SDK's own call reads the whole file, whatever its size.
        response = await self._http.rest_client.get_request(
            f"{self._data_url}/v2/bot/message/{message_id}/content",
            headers=dict(self._http.default_headers),
            _preload_content=False,
            _request_timeout=self._timeout_s,
        )
        async with response:
            if response.status == 202:
                return None
            if response.status != 200:
                raise Failure("no content", response.status)
            if not response.content_type.startswith("image/"):
                raise Failure(f"{response.content_type} is no image", response.status)
            size = 0
            async for piece in response.content.iter_any():
                size += len(piece)
                if size > most:
                    raise Failure(f"more than {most} bytes", response.status)
                if not take(piece):
                    return False
            return True


def _messages(sdk: Any, messages: Sequence[LineMessage], quote_token: str) -> list[Any]:
    quotes = [quote_token or None, *[None] * len(messages)]
    return [_message(sdk, message, quote) for message, quote in zip(messages, quotes, strict=False)]


def _message(sdk: Any, message: LineMessage, quote_token: str | None) -> Any:
    if message.choice:
        template = sdk.ConfirmTemplate(text=message.text, actions=[_action(sdk, button) for button in message.choice])
        return sdk.TemplateMessage(altText=message.text, template=template)
    items = [sdk.QuickReplyItem(action=_action(sdk, button)) for button in message.quick]
    quick_reply = sdk.QuickReply(items=items) if items else None
    return sdk.TextMessage(text=message.text, quoteToken=quote_token, quickReply=quick_reply)


def _action(sdk: Any, button: Button) -> Any:
    if button.data:
        return sdk.PostbackAction(label=button.label, data=button.data, displayText=button.text)
    return sdk.MessageAction(label=button.label, text=button.text)


async def _translate_failures(sdk: Any, request: Awaitable[Any]) -> Any:
    """The result of a call; its exceptions become ``Failure``."""
    import aiohttp  # noqa: PLC0415 -- imported with the SDK, which takes a second

    try:
        return await request
    except sdk.ApiException as error:
        raise _refusal(error) from error
    except aiohttp.ClientConnectorError as error:
        raise Failure("LINE cannot be reached", maybe_done=False) from error
    except (TimeoutError, aiohttp.ClientError) as error:
        raise Failure(f"no answer from LINE ({type(error).__name__})", maybe_done=True) from error
    except ValueError as error:
        # The SDK cannot read the response: a proxy has answered instead of LINE.
        raise Failure("an answer from LINE that cannot be read", maybe_done=True) from error


class _Error(Struct):
    message: str = ""


_decode_error = Decoder(_Error).decode


def _refusal(error: Any) -> Failure:
    body = error.body or ""
    try:
        message = _decode_error(body).message
    except DecodeError:
        message = ""
    wait = (error.headers or {}).get("Retry-After", "")
    after = float(wait) if wait.isdecimal() else None
    return Failure(message or str(error.reason), error.status, maybe_done=error.status >= 500, after=after)
