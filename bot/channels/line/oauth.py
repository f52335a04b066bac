"""Which channel an access token is for, and whether a secret is that channel's: what LINE says of
its secrets before any webhook.

https://developers.line.biz/en/reference/messaging-api/#verify-channel-access-token
https://developers.line.biz/en/reference/messaging-api/#issue-stateless-channel-access-token
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from bot.channels.line.client import (
    CONNECT_S,
    MAX_ANSWER,
    NO_ANSWER,
    UNREACHABLE,
    UNREADABLE,
    Failure,
    refusal,
)
from bot.http import open_session, read_beginning
from toolset.web.decoding import decode_json

if TYPE_CHECKING:
    from bot.channels.line import Config

TIMEOUT_S = 10.0
WRONG = "client"  # is in what LINE says of a wrong secret, as in invalid_client


class _Answer(Struct):
    client_id: str = ""


async def find_channel(config: Config) -> str:
    """The id of the channel that the access token is for.

    Raises:
        Failure: LINE does not say.
    """
    token = config.line_channel_access_token.get_secret_value()
    return (await _ask(config, "/v2/oauth/verify", {"access_token": token})).client_id


async def takes_secret(config: Config, channel_id: str) -> bool:
    """Whether the channel secret is that of a channel: LINE issues a token that lasts a quarter of
    an hour for it, which is dropped.

    Raises:
        Failure: LINE does not say.
    """
    form = {
        "grant_type": "client_credentials",
        "client_id": channel_id,
        "client_secret": config.line_channel_secret.get_secret_value(),
    }
    try:
        await _ask(config, "/oauth2/v3/token", form)
    except Failure as failure:
        if failure.status in (400, 401) and WRONG in str(failure).lower():
            return False
        raise
    return True


async def _ask(config: Config, path: str, form: Mapping[str, str]) -> _Answer:
    import aiohttp  # noqa: PLC0415 -- takes 0.2 s, which the start does not wait for

    url = config.line_api_base_url
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            open_session(url, connect_s=CONNECT_S) as http,
            http.post(url + path, data=form, allow_redirects=False) as response,
        ):
            body = await read_beginning(response, MAX_ANSWER)
            if response.status >= 300:
                raise refusal(response.status, response.reason, response.headers, body)
            return decode_json(body, _Answer)
    except aiohttp.ClientConnectorError as error:
        raise Failure(UNREACHABLE) from error
    except (TimeoutError, aiohttp.ClientError) as error:
        raise Failure(NO_ANSWER.format(type(error).__name__)) from error
    except ValueError as error:
        raise Failure(UNREADABLE) from error
