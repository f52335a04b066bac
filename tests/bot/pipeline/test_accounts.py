"""Several accounts of one platform: who writes in one is nobody in another."""

from __future__ import annotations

import pytest

from bot.channels import InboundEvent
from bot.channels.line import types as line
from bot.channels.slack import types as slack
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import account_of, channel_of, platform_of
from tests.bot.harness import Harness, Mailbox, words
from toolset.offer.rules import Rule

ONLY, SHOP = "mailbox:user:u1", "mailbox@shop:user:u1"


class Shop(Mailbox):
    """The mailbox of another account."""

    name = "mailbox@shop"


async def say(harness: Harness, conversation: str, text: str, message_id: str) -> None:
    """The same person says something in one of them."""
    assert await harness.intake(conversation, InboundEvent(words(message_id, text)))
    await harness.runner.process(conversation)


async def test_who_is_forgotten_in_one_account_stays_in_the_other(store: Store) -> None:
    """They have the same id in both, and in both the bot has told them something."""
    only = Harness(store, [Step("Yours")])
    shop = Harness(store, [Step("The shop's")], box=Shop())
    await say(only, ONLY, "hello", "m1")
    await say(shop, SHOP, "hello", "m1")
    await say(only, ONLY, "/forget me", "m2")
    assert [message.text for message in await read_history(store, ONLY)] == []
    assert [message.text for message in await read_history(store, SHOP)] == ["hello", "The shop's"]
    assert only.box.texts[0] == "Yours"
    assert shop.box.texts == ["The shop's"]


@pytest.mark.parametrize(
    "chat",
    [
        line.Chat("U0b1c", "group", "C12"),
        line.Chat("U0b1c", "user", "U12", "shop"),
        slack.Chat("T1", "D1"),
        slack.Chat("T1", "C1", "1.2", "shop"),
    ],
)
def test_a_conversation_says_which_account_it_is_in(chat: line.Chat | slack.Chat) -> None:
    """What is made of its id is the same chat."""
    module = line if isinstance(chat, line.Chat) else slack
    assert module.chat_of(chat.conversation) == chat
    assert account_of(chat.conversation) == chat.account
    assert channel_of(chat.conversation).partition("@")[0] == platform_of(chat.conversation)
    assert slack.is_conversation(chat.conversation) == (module is slack)


def test_a_rule_for_a_platform_holds_in_all_its_accounts() -> None:
    """As ``channel`` names the platform."""
    assert Rule(channel="mailbox", tools=("*",)).matches(SHOP, "u1")
    assert not Rule(channel="mailbox", tools=("*",)).matches("post:user:u1", "u1")
