"""A provider as the registry lists it, and the options a model is opened with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from bot.providers import Provider
from bot.providers.retry_policy import REQUEST_TIMEOUT_S

ConfigT = TypeVar("ConfigT", bound=BaseModel)

# The vendor's search is for models that are known to take it beside other tools.
AUTO_TOOLS = ("auto",)


@dataclass(frozen=True, slots=True)
class Options:
    """What applies to every request, whoever serves the model.

    Attributes:
        max_output_tokens: of one answer.
        thinking_level: ``minimal``, ``low``, ``medium`` or ``high``.
        asker: the variable that names the model.
        server_tools: the vendor's own tools that the model may use, or ``AUTO_TOOLS``.
        request_timeout_s: seconds until the last event of an answer.
    """

    max_output_tokens: int = 2048
    thinking_level: str = "low"
    asker: str = "MODEL"
    server_tools: tuple[str, ...] = ()
    request_timeout_s: float = REQUEST_TIMEOUT_S


USUAL = Options()


@dataclass(frozen=True, slots=True)
class ProviderEntry(Generic[ConfigT]):
    """A provider before any model is opened. Every start reads it; only ``open`` imports the
    vendor's SDK.

    Attributes:
        name: the word in ``MODEL=name:model``.
        config: the variables the provider reads; fields are the variables in lower case, as with
            tools.
        open: makes the provider from its variables and the model's name.
        needs: variables of which one must be set; the second is the address of one's own server.
        sdk: the optional package that ``open`` imports.
    """

    name: str
    config: type[ConfigT]
    open: Callable[[ConfigT, str, Options], Provider]
    needs: tuple[str, ...] = ()
    sdk: str = ""
