"""The settings of the limits."""

from __future__ import annotations

from pydantic import Field

from bot.settings import FeatureConfig


class Config(FeatureConfig):
    """The limits of one day, 0 for none; fields are the variables in lower case."""

    daily_token_limit: int = Field(default=10_000_000, ge=0)
    daily_user_tokens: int = Field(default=1_000_000, ge=0)
    daily_user_messages: int = Field(default=300, ge=0)
    daily_conversation_tokens: int = Field(default=2_000_000, ge=0)
    daily_conversation_messages: int = Field(default=1_000, ge=0)
