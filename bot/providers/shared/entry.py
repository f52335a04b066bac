"""A provider as the registry lists it: read at every start, while the vendor's SDK is loaded by ``open`` alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from bot.providers import Provider
from bot.providers.shared.options import Options

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
