"""The failures of a model, whoever the vendor is: HTTP statuses and broken connections as
``ModelError``."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any, ClassVar

import aiohttp
from msgspec import DecodeError

from bot.errors import ModelError, ModelUnusable, RequestRefused, TooLong, TryAgain
from bot.safe_text.glyphs import without_surrogates

# These pass, and so does every 5xx.
PASSING = {408, 425}
# A cause holds so many characters of the vendor's message.
MESSAGE_CAP = 300

# The vendors' own codes, where the status alone does not tell the failure.
UNKNOWN_MODEL = {"model_not_found", "model_not_available", "invalid_model", "not_found_error"}
NO_CREDIT = {
    "insufficient_quota",
    "billing_error",
    "billing_not_active",
    "billing_hard_limit_reached",
}
BLOCKED = {"content_filter", "content_policy_violation", "content_moderation"}
# The model wrote a call that its own server refuses: another attempt may be better.
BAD_CALL = {"tool_use_failed"}
BAD_KEY = {"invalid_api_key", "authentication_error", "permission_error"}
TOO_LONG = {"context_length_exceeded", "exceed_context_size_error", "request_too_large"}
# The sentences of OpenAI and vLLM, llama.cpp, Anthropic, Google and LM Studio, each with the window
# of the model: "maximum context length is 4096 tokens", "the available context size (4096 tokens)",
# "prompt is too long: 208310 tokens > 200000 maximum", "exceeds the maximum number of tokens
# allowed (1048576)", "context length of only 4096".
READS = re.compile(
    r"(?:maximum context length is|available context size \(|prompt is too long: \d+ tokens >|"
    r"maximum number of tokens allowed \(|context length of only) ?(\d+)"
)
# A bad key is a 401 or 403, but Google's is a 400, and proxies pass its words on without its reason
# API_KEY_INVALID: "API key not valid. Please pass a valid API key.", "API key expired", "Incorrect
# API key provided".
KEY_WORDS = re.compile(
    r"api_key_invalid|api[ _-]key (?:is |was |has )?(?:not valid|invalid|incorrect|expired)"
    r"|(?:invalid|incorrect|expired) (?:x-)?api[ _-]key",
    re.IGNORECASE,
)
KINDS = {
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "overloaded_error": 529,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
    "request_too_large": 413,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    **dict.fromkeys(UNKNOWN_MODEL, 404),
    **dict.fromkeys(BLOCKED | BAD_CALL, 400),
}


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of one model, in words for the operator that never quote the key.

    Attributes:
        model: the model that was asked.
        setting: the variable that holds the key, or what stands for one.
        key: the key itself, empty where there is none.
        asker: the variable that names the model.
        fix: the cause and the fix of a refused key.
        refusals: exceptions for what the service answers; ``refused`` translates them.
        unreadable: for a body that cannot be read.
        outages: all others of vendor, SDK and network; ``failed`` translates both.
    """

    model: str
    setting: str
    key: str
    asker: str = "MODEL"
    fix: str = "{setting} was refused ({cause}): set a valid key"

    refusals: ClassVar[tuple[type[Exception], ...]] = ()
    unreadable: ClassVar[tuple[type[Exception], ...]] = (DecodeError, UnicodeError, JSONDecodeError)
    outages: ClassVar[tuple[type[Exception], ...]] = (aiohttp.ClientError, OSError)

    def refused(self, error: Any) -> ModelError:
        """The ``ModelError`` for one of ``refusals``."""
        raise NotImplementedError

    def failed(self, error: BaseException) -> ModelError:
        """The ``ModelError`` for one of ``outages`` or ``unreadable``."""
        # A refused certificate is a ValueError too.
        if isinstance(error, self.unreadable) and not isinstance(error, Failures.outages):
            return TryAgain("malformed", f"{self.model} sent something that cannot be read")
        if isinstance(error, TimeoutError):
            return self.timed_out()
        # The text of the error may hold the key.
        return TryAgain("model_down", f"{self.model} cannot be reached: {type(error).__name__}")

    def refusal(
        self, status: int, kind: str = "", message: str = "", after: float | None = None
    ) -> ModelError:
        """The ``ModelError`` for an error that the service answered with.

        Args:
            status: of HTTP; ``status_of`` gives one for an error inside a stream.
            kind: the vendor's own code or type.
            message: the vendor's.
            after: seconds that the service asks to wait.
        """
        if kind in BLOCKED:
            cause = f"{self.model} declined the request ({status}): {self.quoted(message)}"
            return RequestRefused("blocked", cause)
        reads = READS.search(message)
        if status == 413 or (status == 400 and (reads or kind in TOO_LONG)):
            window = int(reads[1]) if reads else 0
            most = f": {window} tokens at most" if window else ""
            return TooLong(f"{self.model} cannot read so much at once{most}", window)
        if kind in BAD_CALL:
            cause = f"{self.model} wrote a call that its server refuses ({kind})"
            return TryAgain("malformed", cause)
        if kind in NO_CREDIT or status == 402:
            cause = f"{self.setting}: the account has no credit left ({kind or status})"
            return ModelUnusable("credit_used_up", cause)
        if refuses_key(status, kind, message):
            return self.key_refused(status)
        if status == 404 or kind in UNKNOWN_MODEL:
            return self.unknown(f"is not known there ({status}); name another")
        if status == 429:
            return TryAgain("rate_limited", f"{self.model} is over its quota (429)", after)
        if status in PASSING or status >= 500:
            return TryAgain("model_down", f"{self.model} answers {status}", after)
        cause = f"{self.model} refused the request ({status}): {self.quoted(message)}"
        return RequestRefused("request_refused", cause)

    def key_refused(self, cause: object) -> ModelUnusable:
        """The key, or the account, is not let in."""
        return ModelUnusable("key_refused", self.fix.format(setting=self.setting, cause=cause))

    def unknown(self, problem: str) -> ModelUnusable:
        """The model does not exist; ``problem`` follows its name in the cause."""
        return ModelUnusable("model_unknown", f"{self.asker}: {self.model} {problem}")

    def timed_out(self) -> TryAgain:
        """The first event or the end of the answer came too late."""
        return TryAgain("timed_out", f"{self.model} did not answer in time")

    def broken_off(self) -> TryAgain:
        """The stream stopped before its end."""
        return TryAgain("model_down", f"{self.model}'s answer broke off before its end")

    def quoted(self, message: str) -> str:
        """The vendor's message in one short line, without the key."""
        if self.key:
            message = message.replace(self.key, "[key]")
        return without_surrogates(" ".join(message.split())[:MESSAGE_CAP])


def refuses_key(status: int, kind: str, message: str) -> bool:
    """Whether the key, or the account, is not let in: by the status, the vendor's code, or the
    words of a 400."""
    if status in (401, 403) or kind in BAD_KEY:
        return True
    return status == 400 and KEY_WORDS.search(message) is not None


def status_of(code: object, *kinds: str) -> int:
    """The status of an error inside a 200 stream: its code where that is a status, else the status
    of its kind."""
    if str(code).isdecimal() and 400 <= int(str(code)) < 600:
        return int(str(code))
    for kind in (str(code), *kinds):
        if kind in KINDS:
            return KINDS[kind]
    return 500


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by ``Retry-After`` (seconds or a date) or ``retry-after-ms``; None without
    such a header."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "")
        if value.replace(".", "", 1).isdecimal():
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
