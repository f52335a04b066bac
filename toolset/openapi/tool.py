"""Operations of an API as tools."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import msgspec
from pydantic import BaseModel, SecretStr, create_model

from toolset.openapi.api_file import ApiFile, Credential, Operation, read_api_files
from toolset.openapi.request import RequestParts, quoted, request_parts
from toolset.tool import (
    EVERY,
    TRACEPARENT,
    Risk,
    ToolContext,
    ToolError,
    ToolSetupError,
    ValidatedTool,
    truncated,
)
from toolset.web.decoding import decode_json
from toolset.web.source import UNCOMPRESSED

# So many bytes of an answer are read.
BODY_CAP = 1024 * 1024
# A model gets so many bytes of them.
SHOWN_CAP = 24 * 1024
MAX_REDIRECTS = 3
# A secret of fewer characters occurs in ordinary words.
SHORTEST_SECRET = 5
RESPONSE = {
    "type": "object",
    "properties": {
        "status": {"type": "integer", "description": "HTTP status; 200 to 299 for success."},
        "body": {"description": "JSON, or text."},
    },
    "required": ["status", "body"],
    "additionalProperties": False,
}
Configure = Callable[[type[BaseModel]], BaseModel]


def load_api_tools(
    folder: Path | None, http: httpx.AsyncClient, configure: Configure
) -> Iterator[ValidatedTool]:
    """The tools of all APIs in an operator's folder.

    Args:
        configure: fills a ``Config`` from the environment.

    Raises:
        ToolSetupError: a file cannot be used, or a variable is missing; the text says which.
    """
    for path, api in read_api_files(folder):
        secrets = _secrets(path, api, configure)
        for operation in api.operations:
            # An object declares what else a class does.
            tool: Any = OperationTool(http, api, operation, secrets)
            try:
                yield ValidatedTool(tool, operation.arguments, RESPONSE, str(path), own=False)
            except ToolSetupError as error:
                raise ToolSetupError(f"{path}: {error}") from error


class OperationTool:
    """Sends one request; what the server answers is the result, whatever its status."""

    foreign = True

    def __init__(
        self,
        http: httpx.AsyncClient,
        api: ApiFile,
        operation: Operation,
        secrets: Mapping[str, str],
    ) -> None:
        self.name = operation.tool
        self.description = operation.description
        self.risk: Risk = "low" if operation.method == "GET" else "high"
        self.addresses = EVERY
        self._http = http
        self._server = api.server
        self._operation = operation
        self._credentials = [api.credentials[name] for name in operation.credentials]
        self._secrets = secrets
        self._forms = _forms(secrets, self._credentials)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Send the request.

        Raises:
            ToolError: it cannot be sent, or is not answered.
        """
        parts = request_parts(self._operation, arguments)
        for credential in self._credentials:
            self._sign(parts, credential)
        try:
            status, content_type, body = await self._send(parts)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ToolError("API request failed: no answer") from error
        return {"status": status, "body": _shown(self._without_secrets(body), content_type)}

    def _sign(self, parts: RequestParts, credential: Credential) -> None:
        values = [self._secrets[variable] for variable in credential.variables]
        if credential.kind == "query":
            parts.add_query(credential.name, values[0])
        elif credential.kind == "header":
            parts.headers[credential.name] = values[0]
        elif credential.kind == "bearer":
            parts.headers["Authorization"] = f"Bearer {values[0]}"
        else:
            parts.headers["Authorization"] = f"Basic {_basic(self._secrets, credential)}"

    async def _send(self, parts: RequestParts) -> tuple[int, str, bytes]:
        """Status, content type and body; a reading request follows redirects on the same server."""
        headers = {
            **UNCOMPRESSED,
            "Accept": "application/json, text/*;q=0.5, */*;q=0.1",
            **parts.headers,
        }
        if traceparent := TRACEPARENT.get():
            headers["traceparent"] = traceparent
        method, url = self._operation.method, httpx.URL(f"{self._server}{parts.target}")
        for _ in range(MAX_REDIRECTS):
            response = await self._exchange(method, url, headers, parts.content)
            if method != "GET" or not 300 <= response[0] < 400:
                break
            target = _redirect(url, response[3])
            if target is None:
                break
            url = target
        return response[:3]

    async def _exchange(
        self, method: str, url: httpx.URL, headers: dict[str, str], content: bytes | None
    ) -> tuple[int, str, bytes, str]:
        """Status, content type, body and location. ``ValidatedTool`` limits the time."""
        request = self._http.build_request(
            method, url, headers=headers, content=content, timeout=None
        )
        # Somebody else's call has left the cookie.
        request.headers.pop("cookie", None)
        response = await self._http.send(request, stream=True, follow_redirects=False, auth=None)
        try:
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > BODY_CAP:
                    raise ToolError("API request failed: answer too large; ask for less")
        finally:
            await response.aclose()
        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return response.status_code, content_type, bytes(body), response.headers.get("location", "")

    def _without_secrets(self, body: bytes) -> bytes:
        """A server may repeat what it was sent."""
        for form in self._forms:
            body = body.replace(form.encode(), b"[secret]")
        return body


def _forms(secrets: Mapping[str, str], credentials: Iterable[Credential]) -> list[str]:
    """The secrets as a server may repeat them: as they are, in a URL, in JSON, and as a basic
    credential."""
    whole = [_basic(secrets, one) for one in credentials if one.kind == "basic"]
    whole += [secret for secret in secrets.values() if len(secret) >= SHORTEST_SECRET]
    forms: list[str] = []
    for one in whole:
        forms += one, quoted(one), quote(one), quote_plus(one), _in_json(one)
    forms += [form.replace("/", "\\/") for form in forms]
    return sorted(dict.fromkeys(forms), key=len, reverse=True)


def _basic(secrets: Mapping[str, str], credential: Credential) -> str:
    values = [secrets[variable] for variable in credential.variables]
    return b64encode(":".join(values).encode()).decode()


def _in_json(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]


def _secrets(path: Path, api: ApiFile, configure: Configure) -> dict[str, str]:
    """The values of an API's variables.

    Raises:
        ToolSetupError: one is missing, or cannot be part of a header.
    """
    fields: dict[str, Any] = {
        variable.lower(): (SecretStr, SecretStr("")) for variable in api.variables
    }
    config = configure(create_model(f"Config_{api.name}", **fields))
    values = {
        name: getattr(config, name.lower()).get_secret_value().strip() for name in api.variables
    }
    for variable, value in values.items():
        if not value:
            raise ToolSetupError(
                f"{path}: set {variable}, which {api.server} asks for, or delete this file"
            )
        if not (value.isascii() and value.isprintable()):
            raise ToolSetupError(
                f"{path}: {variable} has a character that cannot be part of it; copy it again"
            )
    return values


def _redirect(url: httpx.URL, location: str) -> httpx.URL | None:
    """Where to, if it is on the same server."""
    try:
        target = url.join(location)
    except httpx.InvalidURL:
        return None
    same = (target.scheme, target.host, target.port) == (url.scheme, url.host, url.port)
    return target if location and same else None


def _shown(body: bytes, content_type: str) -> Any:
    """The body as a model gets it: JSON, else text; the beginning of a long one."""
    if len(body) <= SHOWN_CAP and (content_type.endswith("json") or not content_type):
        try:
            return decode_json(body)
        except ValueError:
            # The body is shown as text.
            pass
    if (
        not content_type.startswith("text/")
        and not content_type.endswith(("json", "xml", "yaml"))
        and b"\0" in body
    ):
        return f"[{len(body)} bytes, no text]"
    text = truncated(body, SHOWN_CAP)
    return "".join(
        character for character in text if character.isprintable() or character in "\n\t "
    )
