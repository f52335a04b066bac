"""The Messaging API through LINE's SDK, its failures translated once.

Importing ``linebot.v3.messaging`` takes a second and 35 MB: only what sends imports this module, when it first has
something to send (``lazy.py``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import aiohttp
from linebot.v3.messaging import (
    AsyncApiClient,
    AsyncMessagingApi,
    Configuration,
    ConfirmTemplate,
    MarkMessagesAsReadByTokenRequest,
    MessageAction,
    PostbackAction,
    PushMessageRequest,
    QuickReply,
    QuickReplyItem,
    ReplyMessageRequest,
    SetWebhookEndpointRequest,
    ShowLoadingAnimationRequest,
    TemplateMessage,
    TestWebhookEndpointRequest,
    TextMessage,
)
from linebot.v3.messaging.exceptions import ApiException
from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from bot.channels import Take
from bot.channels.line.address import Place
from bot.channels.line.bubble import Bubble, Button
from bot.channels.line.failure import Failure
from bot.channels.line.profile import Person

CONNECTIONS = 50

AnswerT = TypeVar("AnswerT")


class _Error(Struct):
    message: str = ""


_decode_error = Decoder(_Error).decode


class Api:
    """The calls Kaiwa makes. Every method raises ``Failure`` and nothing else; made inside a running event loop."""

    def __init__(self, access_token: str, base_url: str, data_base_url: str, timeout_s: float) -> None:
        configuration = Configuration(host=base_url, access_token=access_token)
        configuration.connection_pool_maxsize = CONNECTIONS
        self._client = AsyncApiClient(configuration)
        self._api = AsyncMessagingApi(self._client)
        self._data_url = data_base_url
        self._timeout_s = timeout_s

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def reply(self, token: str, bubbles: Sequence[Bubble], quote_token: str = "") -> None:
        """Answer an event; the token serves once, for about a minute."""
        request = ReplyMessageRequest(replyToken=token, messages=_messages(bubbles, quote_token))
        await _called(self._api.reply_message(request, _request_timeout=self._timeout_s))

    async def push(self, to: str, bubbles: Sequence[Bubble], retry_key: str, quote_token: str = "") -> None:
        """Send without being asked; LINE takes one retry key (a UUID) once, and answers 409 afterwards."""
        request = PushMessageRequest(to=to, messages=_messages(bubbles, quote_token))
        await _called(self._api.push_message(request, x_line_retry_key=retry_key, _request_timeout=self._timeout_s))

    async def start_loading(self, user: str, seconds: int) -> None:
        """Show the loading animation for 5 to 60 seconds, in steps of 5."""
        request = ShowLoadingAnimationRequest(chatId=user, loadingSeconds=seconds)
        await _called(self._api.show_loading_animation(request, _request_timeout=self._timeout_s))

    async def mark_as_read(self, token: str) -> None:
        """Mark a message, and those before it, as read."""
        request = MarkMessagesAsReadByTokenRequest(markAsReadToken=token)
        await _called(self._api.mark_messages_as_read_by_token(request, _request_timeout=self._timeout_s))

    async def monthly_limit(self) -> int | None:
        """How many messages may be pushed this month, or None where there is no limit."""
        quota = await _called(self._api.get_message_quota(_request_timeout=self._timeout_s))
        return quota.value if quota.type == "limited" else None

    async def monthly_use(self) -> int:
        """How many messages were pushed this month."""
        consumption = await _called(self._api.get_message_quota_consumption(_request_timeout=self._timeout_s))
        return int(consumption.total_usage)

    async def members(self, place: Place) -> int:
        """How many people read along in a group or room."""
        get = self._api.get_group_member_count if place.kind == "group" else self._api.get_room_member_count
        counted = await _called(get(place.id, _request_timeout=self._timeout_s))
        return int(counted.count)

    async def person(self, place: Place, user: str) -> Person:
        """Somebody's profile, as it may be seen in a chat."""
        if place.kind == "user":
            profile = await _called(self._api.get_profile(user, _request_timeout=self._timeout_s))
            return Person(profile.display_name, profile.language or "")
        is_group = place.kind == "group"
        get = self._api.get_group_member_profile if is_group else self._api.get_room_member_profile
        profile = await _called(get(place.id, user, _request_timeout=self._timeout_s))
        return Person(profile.display_name)

    async def content(self, message_id: str, most: int, take: Take) -> bool | None:
        """Hand over an image: whether all of it was wanted, or None while LINE still prepares it.

        Args:
            most: bytes; a larger file, and one that is no image, is a ``Failure``.
        """
        return await _called(self._content(message_id, most, take))

    async def _content(self, message_id: str, most: int, take: Take) -> bool | None:
        # The SDK's own call reads the whole file, whatever its size.
        response = await self._client.rest_client.get_request(
            f"{self._data_url}/v2/bot/message/{message_id}/content",
            headers=dict(self._client.default_headers),
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

    async def bot(self) -> Any:
        """LINE's ``BotInfoResponse``."""
        return await _called(self._api.get_bot_info(_request_timeout=self._timeout_s))

    async def webhook(self) -> Any:
        """LINE's ``GetWebhookEndpointResponse``."""
        return await _called(self._api.get_webhook_endpoint(_request_timeout=self._timeout_s))

    async def set_webhook(self, url: str) -> None:
        """Tell LINE where to post events; it must be https."""
        request = SetWebhookEndpointRequest(endpoint=url)
        await _called(self._api.set_webhook_endpoint(request, _request_timeout=self._timeout_s))

    async def test_webhook(self, url: str = "") -> Any:
        """Let LINE post to the webhook, or to another address; its ``TestWebhookEndpointResponse``."""
        request = TestWebhookEndpointRequest(endpoint=url or None)
        return await _called(self._api.test_webhook_endpoint(request, _request_timeout=self._timeout_s))


def _messages(bubbles: Sequence[Bubble], quote_token: str) -> list[TextMessage | TemplateMessage]:
    quotes = [quote_token or None, *[None] * len(bubbles)]
    return [_message(bubble, quote) for bubble, quote in zip(bubbles, quotes, strict=False)]


def _message(bubble: Bubble, quote_token: str | None) -> TextMessage | TemplateMessage:
    if bubble.choice:
        template = ConfirmTemplate(text=bubble.text, actions=[_action(button) for button in bubble.choice])
        return TemplateMessage(altText=bubble.text, template=template)
    quick = [QuickReplyItem(action=_action(button)) for button in bubble.quick]
    return TextMessage(text=bubble.text, quoteToken=quote_token, quickReply=QuickReply(items=quick) if quick else None)


def _action(button: Button) -> PostbackAction | MessageAction:
    if button.data:
        return PostbackAction(label=button.label, data=button.data, displayText=button.says)
    return MessageAction(label=button.label, text=button.says)


async def _called(request: Awaitable[AnswerT]) -> AnswerT:
    """The answer of a call, or what went wrong in our own words."""
    try:
        return await request
    except ApiException as error:
        raise _refusal(error) from error
    except aiohttp.ClientConnectorError as error:
        raise Failure("LINE cannot be reached", maybe_done=False) from error
    except (TimeoutError, aiohttp.ClientError) as error:
        raise Failure(f"no answer from LINE ({type(error).__name__})", maybe_done=True) from error
    except ValueError as error:
        # The SDK cannot read the answer: something between LINE and us spoke in its place.
        raise Failure("an answer from LINE that cannot be read", maybe_done=True) from error


def _refusal(error: ApiException) -> Failure:
    body = error.body or ""
    try:
        message = _decode_error(body).message
    except DecodeError:
        message = ""
    wait = (error.headers or {}).get("Retry-After", "")
    after = float(wait) if wait.isdecimal() else None
    return Failure(message or str(error.reason), error.status, maybe_done=error.status >= 500, after=after)
