"""LINE's Messaging API by LINE's SDK, for what is not in a turn: members, quota, menu,
webhook.

Importing ``linebot.v3.messaging`` takes a second and 35 MB, and each of its calls five times the
CPU time of our own. The first call imports it, in a thread: neither the start nor a webhook waits
for it, and a process that only answers never imports it.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from bot.channels.line.client import (
    CONNECT_S,
    CONNECTIONS,
    NO_ANSWER,
    UNREACHABLE,
    UNREADABLE,
    Failure,
    refusal,
)
from bot.channels.line.types import (
    JSON,
    BotInfo,
    Chat,
    Quota,
    RichMenu,
    WebhookEndpoint,
    WebhookTest,
)
from bot.http import open_sdk_session

if TYPE_CHECKING:
    from bot.channels.line import Config


class Opened(NamedTuple):
    """The SDK with its connections.

    Attributes:
        models: the module with the models.
        api: everything but files.
        files: what goes to and comes from the host of files.
    """

    models: Any
    api: Any
    files: Any


class Sdk:
    """The API with the channel's access token. Every method raises ``Failure`` and nothing else.

    Args:
        timeout_s: of one method.
    """

    def __init__(self, config: Config, timeout_s: float = 10.0) -> None:
        self._token = config.line_channel_access_token.get_secret_value()
        self._base_url = config.line_api_base_url
        self._data_url = config.line_data_api_base_url
        self._timeout_s = timeout_s
        self._opening = asyncio.Lock()
        self._opened: Opened | None = None

    async def __aenter__(self) -> Sdk:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.api.api_client.close()
            await self._opened.files.api_client.close()

    async def count_members(self, chat: Chat) -> int:
        """The number of people in a group or room."""
        async with self._call() as sdk:
            if chat.kind == "group":
                counted = await sdk.api.get_group_member_count(chat.id)
            else:
                counted = await sdk.api.get_room_member_count(chat.id)
            return int(counted.count)

    async def get_quota(self) -> Quota:
        """The month's quota of pushed messages, and its use."""
        async with self._call() as sdk:
            quota = await sdk.api.get_message_quota()
            consumption = await sdk.api.get_message_quota_consumption()
            limit = quota.value if quota.type == "limited" else None
            return Quota(limit, int(consumption.total_usage))

    async def is_prepared(self, message_id: str) -> bool:
        """Whether LINE has prepared a recording; a recording that LINE cannot prepare is a
        ``Failure``."""
        async with self._call() as sdk:
            found = await sdk.files.get_message_content_transcoding_by_message_id(message_id)
        if found.status == "failed":
            raise Failure("LINE cannot prepare this recording")
        return bool(found.status == "succeeded")

    async def get_bot(self) -> BotInfo:
        """The account of the access token."""
        async with self._call() as sdk:
            info = await sdk.api.get_bot_info()
            return BotInfo(info.user_id, info.display_name, info.basic_id, info.chat_mode == "chat")

    async def get_webhook(self) -> WebhookEndpoint | None:
        """The webhook's address, if one is set."""
        try:
            async with self._call() as sdk:
                endpoint = await sdk.api.get_webhook_endpoint()
                return WebhookEndpoint(endpoint.endpoint, endpoint.active)
        except Failure as failure:
            if failure.status != 404:
                raise
            return None

    async def set_webhook(self, url: str) -> None:
        """Tell LINE where to post events; it must be https. LINE takes up to a minute to use it."""
        async with self._call() as sdk:
            await sdk.api.set_webhook_endpoint(sdk.models.SetWebhookEndpointRequest(endpoint=url))

    async def test_webhook(self, url: str = "") -> WebhookTest:
        """Let LINE post to the address that is set, or to another."""
        async with self._call() as sdk:
            request = sdk.models.TestWebhookEndpointRequest(endpoint=url or None)
            test = await sdk.api.test_webhook_endpoint(request)
            return WebhookTest(bool(test.success), test.status_code, test.reason, test.detail)

    async def get_default_menu(self) -> RichMenu | None:
        """The menu that everybody sees who has none of their own, as far as it was set by this
        API."""
        try:
            async with self._call() as sdk:
                default = await sdk.api.get_default_rich_menu_id()
                menu = await sdk.api.get_rich_menu(default.rich_menu_id)
                return RichMenu(menu.rich_menu_id, menu.name)
        except Failure as failure:
            if failure.status != 404:
                raise
            return None

    async def show_menu(self, menu: RichMenu, png: bytes) -> None:
        """Show a menu to everybody who has none of their own; after a failure nothing is left of
        it.

        Args:
            png: its picture, of at most 1 MB.
        """
        step = menu.width // len(menu.buttons)
        areas: list[JSON] = []
        for number, button in enumerate(menu.buttons):
            bounds = {"x": step * number, "y": 0, "width": step, "height": menu.height}
            areas.append({"bounds": bounds, "action": button})
        request = {
            "size": {"width": menu.width, "height": menu.height},
            "selected": False,
            "name": menu.name,
            "chatBarText": menu.title,
            "areas": areas,
        }
        async with self._call() as sdk:
            created = await sdk.api.create_rich_menu(sdk.models.RichMenuRequest.from_dict(request))
        made = str(created.rich_menu_id)
        try:
            async with self._call() as sdk:
                typed = {"Content-Type": "image/png"}
                await sdk.files.set_rich_menu_image(made, png, _headers=typed)
                await sdk.api.set_default_rich_menu(made)
        except Failure:
            await self.delete_menu(made)
            raise

    async def delete_menu(self, menu_id: str) -> None:
        """Delete a menu."""
        async with self._call() as sdk:
            await sdk.api.delete_rich_menu(menu_id)

    @asynccontextmanager
    async def _call(self) -> AsyncIterator[Opened]:
        """The SDK for one method, whose failures are translated."""
        import aiohttp  # noqa: PLC0415 -- takes 0.2 s, which the start does not wait for

        sdk = await self._open()
        try:
            async with asyncio.timeout(self._timeout_s):
                yield sdk
        except sdk.models.ApiException as error:
            body = (error.body or "").encode(errors="replace")
            raise refusal(error.status, error.reason, error.headers, body) from error
        # A proxy has answered instead of LINE.
        except (ValueError, LookupError, AttributeError, RecursionError) as error:
            raise Failure(UNREADABLE, maybe_done=True) from error
        except aiohttp.ClientConnectorError as error:
            raise Failure(UNREACHABLE) from error
        except (TimeoutError, aiohttp.ClientError) as error:
            raise Failure(NO_ANSWER.format(type(error).__name__), maybe_done=True) from error

    async def _open(self) -> Opened:
        """Import the SDK, once."""
        async with self._opening:
            if self._opened is None:
                models = await asyncio.to_thread(import_module, "linebot.v3.messaging")
                gc.freeze()  # no full collection looks at the SDK's thousands of classes again
                api = models.AsyncMessagingApi(await self._connect(models, self._base_url))
                files = models.AsyncMessagingApiBlob(await self._connect(models, self._data_url))
                self._opened = Opened(models, api, files)
            return self._opened

    async def _connect(self, models: Any, url: str) -> Any:
        """A client of the SDK with our session: it follows no redirect and looks for no proxy and
        no ``.netrc`` at each call."""
        client = models.AsyncApiClient(models.Configuration(host=url, access_token=self._token))
        client.set_default_header("Accept-Encoding", "identity")
        await client.rest_client.pool_manager.close()
        client.rest_client.pool_manager = open_sdk_session(
            url, connections=CONNECTIONS, connect_s=CONNECT_S
        )
        return client
