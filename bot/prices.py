"""List prices of models (``prices.toml``), and what tokens cost by them."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

from msgspec import Struct, convert
from msgspec.structs import asdict

from bot.transcript import Usage

MILLION = 1_000_000
# The suffix of a model's name that does not change its price.
VERSION = r"(-(preview|exp|\d)[\w.-]*)?"


class Price(Struct, frozen=True):
    """US dollars for a million tokens; thinking tokens cost as output."""

    input: float
    cached: float
    output: float


class Prices(Struct, frozen=True):
    """The prices that come with the package; estimates."""

    as_of: str
    source: str
    models: dict[str, Price]

    def of(self, model: str) -> Price | None:
        """The price of a model, or of the model it is a version of."""
        for name, price in self.models.items():
            if re.fullmatch(re.escape(name) + VERSION, model):
                return price
        return None


@cache
def load_prices() -> Prices:
    """Read the prices that come with the package."""
    return convert(tomllib.loads(files("bot").joinpath("prices.toml").read_text("utf-8")), Prices)


def cost(counts: Mapping[str, int], price: Price | None) -> float | None:
    """US dollars for tokens by kind, ``input`` with its ``cached`` ones; None without a price."""
    if price is None:
        return None
    read = (counts["input"] - counts["cached"]) * price.input + counts["cached"] * price.cached
    return round((read + (counts["output"] + counts["thinking"]) * price.output) / MILLION, 6)


def micros_of(model: str, usage: Usage) -> int:
    """Millionths of a dollar for a model's tokens; 0 without a price."""
    return round((cost(asdict(usage), load_prices().of(model)) or 0) * MILLION)


def counted_tokens(model: str, usage: Usage) -> int:
    """What limits count: cached input by its share of the price, all other tokens whole."""
    return usage.total - usage.cached + math.ceil(usage.cached * _cached_share(model))


@lru_cache(maxsize=64)
def _cached_share(model: str) -> float:
    """The price of a cached token beside that of another; 1 for a model without a price."""
    price = load_prices().of(model)
    return price.cached / price.input if price else 1.0
