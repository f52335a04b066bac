"""JSON from outside: one function with one set of rules, whoever has sent it."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from functools import lru_cache
from typing import Any, TypeVar, overload

from msgspec import DecodeError, ValidationError
from msgspec.json import Decoder

# A backstop: who reads a body limits it more closely, before it is in the memory.
MOST_BYTES = 32 * 1024 * 1024
# Escapes of JSON; the group holds one that is half a surrogate pair, as of an emoji cut in two.
ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)

T = TypeVar("T")


@overload
def decode_json(data: bytes | str, kind: type[T], *, mends: bool = True) -> T: ...


@overload
def decode_json(data: bytes | str, *, mends: bool = True) -> Any: ...


def decode_json(data: bytes | str, kind: Any = Any, *, mends: bool = True) -> Any:
    """The value that a text in JSON holds, in UTF-8 with or without a mark at its beginning.

    NaN, infinite numbers and numbers beyond the range of a float are refused.

    Args:
        kind: what the value must be, as msgspec knows it; anything where it is left out.
        mends: half a surrogate pair, which nothing could store or send, becomes U+FFFD; else the
            text is refused.

    Raises:
        ValidationError: it is JSON, but of another kind.
        DecodeError: it is not JSON, too large, or nested too deeply: some thousand levels in Python
            3.11, more in later ones.
    """
    if len(data) > MOST_BYTES:
        raise DecodeError(f"it has more than {MOST_BYTES} bytes")
    decode = _decoder(kind).decode
    try:
        body = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        body = body.removeprefix(BOM_UTF8)
        try:
            return decode(body)
        except (DecodeError, UnicodeDecodeError) as error:
            if not mends or isinstance(error, ValidationError):
                raise
            return decode(_mended(body))
    except UnicodeError as error:
        raise DecodeError("it has characters that do not exist") from error
    except RecursionError as error:
        raise DecodeError("it is nested too deeply") from error


_decoder = lru_cache(Decoder)


def _mended(body: bytes) -> bytes:
    halves = body.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass")
    text = halves.decode("utf-16", "replace").encode()
    return ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], text)
