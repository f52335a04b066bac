"""A provider as the registry lists it, and the options that a model is opened with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from bot.providers import Provider
from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S, REQUEST_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for every request.

    Attributes:
        max_output_tokens: of one answer.
        thinking_level: ``minimal``, ``low``, ``medium`` or ``high``.
        asker: the variable that names the model.
        first_token_timeout_s: seconds until the first event of an answer.
        request_timeout_s: seconds until its last.
    """

    max_output_tokens: int = 2048
    thinking_level: str = "low"
    asker: str = "MODEL"
    first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S
    request_timeout_s: float = REQUEST_TIMEOUT_S


USUAL = Options()


ConfigT = TypeVar("ConfigT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ProviderEntry(Generic[ConfigT]):
    """What there is to know of a provider before one is made. What ``kaiwa doctor`` asks is ``Provider.check``.

    Attributes:
        name: its word in ``MODEL=name:model``.
        config: the variables it reads; field names are their names in lower case, as with tools.
        open: makes the provider of its variables and the model's name.
        needs: variables of which one has to be set; a second one is for a server of one's own.
        sdk: the package that ``open`` imports and that need not be installed.
    """

    name: str
    config: type[ConfigT]
    open: Callable[[ConfigT, str, Options], Provider]
    needs: tuple[str, ...] = ()
    sdk: str = ""
