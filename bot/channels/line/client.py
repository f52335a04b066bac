"""LINE's Messaging API over one session of our own, for what is in most turns: replies, pushes, the
loading animation, the mark as read, profiles, and files. LINE's refusals are translated here.

The SDK's own calls (``sdk``) take five times the CPU time: each walks its models again and again.
Models of a card alone take a millisecond, so requests are JSON from the start; tests compare them
with the models. The SDK also reads a file as a whole before anybody can limit it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar
from urllib import parse

from msgspec import Struct

from bot.channels import Take
from bot.channels.line.types import JSON, Chat, Person
from bot.http import open_session, read_beginning
from bot.transcript import encode
from toolset.web.decoding import decode_json

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

    from bot.channels.line import Config


Read = TypeVar("Read", bound=Struct)

CONNECTIONS = 50
CONNECT_S = 5.0
quote = partial(parse.quote, safe="")  # an id is one part of a path
NOTHING: Mapping[str, str] = MappingProxyType({})
MAX_ANSWER = 64 * 1024  # bytes; LINE's answers have less than 2 KiB
UNREACHABLE = "LINE cannot be reached"
NO_ANSWER = "no answer from LINE ({})"
UNREADABLE = "an answer from LINE that cannot be read"


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
        timeout_s: of one request.
    """

    def __init__(self, config: Config, timeout_s: float = 10.0) -> None:
        token = config.line_channel_access_token.get_secret_value()
        self._headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"}
        self._base_url = config.line_api_base_url
        self._data_url = config.line_data_api_base_url
        self._timeout_s = timeout_s
        # Shown above all messages.
        sender = {"name": config.line_sender_name, "iconUrl": config.line_sender_icon_url}
        given = {key: value for key, value in sender.items() if value}
        self._sender: JSON = {"sender": given} if given else {}
        self._http: ClientSession | None = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.close()

    async def reply(self, token: str, messages: Sequence[JSON], quote_token: str = "") -> list[str]:
        """Answer an event; the token works once, for about a minute. The ids of the messages, by
        which people quote."""
        return await self._deliver("message/reply", {"replyToken": token}, messages, quote_token)

    async def push(
        self, to: str, messages: Sequence[JSON], retry_key: str, quote_token: str = ""
    ) -> list[str]:
        """Send without a reply token; LINE takes a retry key (a UUID) once, and answers 409
        afterwards.

        Returns:
            The ids of the messages.
        """
        retry = {"X-Line-Retry-Key": retry_key}
        return await self._deliver("message/push", {"to": to}, messages, quote_token, retry)

    async def start_loading(self, user: str, seconds: int) -> None:
        """Show the loading animation for 5 to 60 seconds, in steps of 5."""
        await self._post("chat/loading/start", {"chatId": user, "loadingSeconds": seconds})

    async def mark_as_read(self, token: str) -> None:
        """Mark a message, and those before it, as read."""
        await self._post("chat/markAsRead", {"markAsReadToken": token})

    async def check_token(self) -> None:
        """Ask for the account of the access token.

        https://developers.line.biz/en/reference/messaging-api/#get-bot-info
        """
        async with self._send("info") as response:
            await read_beginning(response, MAX_ANSWER)

    async def get_person(self, chat: Chat, user: str) -> Person:
        """A person's profile, as far as a chat shows it.

        Not by the SDK: the first turn of everybody asks for it, and the SDK's models make such a
        turn a tenth dearer.

        https://developers.line.biz/en/reference/messaging-api/#get-profile
        """
        path = f"profile/{quote(user)}"
        if chat.is_group:
            path = f"{chat.kind}/{quote(chat.id)}/member/{quote(user)}"
        async with self._send(path) as response:
            profile = await _decode(response, _Profile)
        return Person(profile.display_name, profile.language or "")

    async def fetch_content(
        self, message_id: str, family: str, take: Take, timeout_s: float | None = None
    ) -> bool | None:
        """Pass a file to ``take``: whether it took all of it, or None while LINE still prepares the
        file.

        Args:
            family: the first part of the MIME type, such as ``image``; another one is a
                ``Failure``. Empty for any.
            timeout_s: None for that of every request.
        """
        path = f"message/{quote(message_id)}/content"
        async with self._send(path, url=self._data_url, timeout_s=timeout_s) as response:
            if response.status == 202:
                return None
            if family and not response.content_type.startswith(f"{family}/"):
                raise Failure(f"{response.content_type} in place of {family}", response.status)
            async for piece in response.content.iter_any():
                if not take(piece):
                    return False
            return True

    async def _deliver(
        self,
        path: str,
        request: JSON,
        messages: Sequence[JSON],
        quote_token: str,
        headers: Mapping[str, str] = NOTHING,
    ) -> list[str]:
        """Post messages, of which a first text quotes; their ids, by which people quote them."""
        made = [message | self._sender for message in messages]
        if quote_token and made[0]["type"] == "text":
            made[0]["quoteToken"] = quote_token
        async with self._send(path, request | {"messages": made}, headers) as response:
            sent = await _decode(response, _Sent)
        return [message.id for message in sent.sent_messages]

    async def _post(self, path: str, request: JSON) -> None:
        """Post what has an empty answer, which is read: else its connection would be closed."""
        async with self._send(path, request) as response:
            await read_beginning(response, MAX_ANSWER)

    @asynccontextmanager
    async def _send(
        self,
        path: str,
        request: JSON | None = None,
        headers: Mapping[str, str] = NOTHING,
        *,
        url: str = "",
        timeout_s: float | None = None,
    ) -> AsyncIterator[ClientResponse]:
        """A response that is no refusal.

        Args:
            request: is posted as JSON.
            url: of the host, if it is another one.
        """
        import aiohttp  # noqa: PLC0415 -- takes 0.2 s, which the start does not wait for

        if self._http is None:
            self._http = open_session(self._base_url, connections=CONNECTIONS, connect_s=CONNECT_S)
        method, body, given = "GET", None, self._headers | dict(headers)
        if request is not None:
            method, body = "POST", encode(request)
            given["Content-Type"] = "application/json"
        url = f"{url or self._base_url}/v2/bot/{path}"
        try:
            async with (
                asyncio.timeout(timeout_s or self._timeout_s),
                self._http.request(
                    method, url, data=body, headers=given, allow_redirects=False
                ) as response,
            ):
                if response.status >= 300:
                    refused = await read_beginning(response, MAX_ANSWER)
                    raise refusal(response.status, response.reason, response.headers, refused)
                yield response
        except aiohttp.ClientConnectorError as error:
            raise Failure(UNREACHABLE) from error
        except (TimeoutError, aiohttp.ClientError) as error:
            raise Failure(NO_ANSWER.format(type(error).__name__), maybe_done=True) from error


class _SentMessage(Struct):
    id: str


class _Sent(Struct, rename="camel"):
    sent_messages: list[_SentMessage]


class _Profile(Struct, rename="camel"):
    display_name: str
    language: str | None = None


async def _decode(response: ClientResponse, kind: type[Read]) -> Read:
    try:
        return decode_json(await read_beginning(response, MAX_ANSWER), kind)
    except ValueError as error:  # a proxy has answered instead of LINE
        raise Failure(UNREADABLE, maybe_done=True) from error


class _Error(Struct):
    message: str = ""
    error_description: str = ""  # of the API for tokens


def refusal(status: int, reason: str | None, headers: Mapping[str, str], body: bytes) -> Failure:
    """A response that is a refusal."""
    try:
        error = decode_json(body, _Error)
        message = error.message or error.error_description
    except ValueError:  # no JSON, or no UTF-8
        message = ""
    wait = headers.get("Retry-After", "")
    after = float(wait) if wait.isdecimal() else None
    return Failure(message or str(reason), status, maybe_done=status >= 500, after=after)
