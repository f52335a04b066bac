"""Questions about calls that act are posted with buttons, whose presses are decisions, and show how
they were decided."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.channels import Delivery, Reply
from bot.channels.slack.cards import read_open, waiting_block
from bot.channels.slack.types import Address, write_address
from bot.errors import DeliverLater, TokenRefused
from bot.features.approvals.questions import Question, card_of
from bot.live_events import AnswerText, TurnStarted
from bot.safe_text.arguments import render_arguments
from bot.transcript import Author, Message
from tests.bot.channels.slack.rig import THREAD, TS, Rig, delivery
from tests.bot.harness import decision_of, ours, texts
from tests.bot.safe_text.corpus import ATTACKS
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    CHANNEL,
    DIRECT,
    SECRET,
    TEAM,
    USER,
    as_interaction,
    message,
    press,
    signed,
)
from tests.waiting import until

POST, UPDATE, WHISPER = "chat.postMessage", "chat.update", "chat.postEphemeral"
ID = f"question_{'0' * 32}"
UNTIL = 1_800_003_600_000
ASKED = (
    "May I run launch?\nlaunch\n▸ what: rocket\n"
    "Asked by: @U00000001\nOpen until: 2027-01-15 09:00 UTC"
)
ENGLISH, JAPANESE = (
    "May I do this? launch with\n\nwhat: ロケット",
    "次の操作をしてもよろしいですか。launch",
)
APPROVE, REJECT = "approval.approve", "approval.reject"


def question(
    arguments: dict[str, Any] | None = None,
    *,
    asker: str = USER,
    text: str = ENGLISH,
    attempts: int = 1,
    **address: Any,
) -> Delivery:
    where = Address(
        **{"channel": CHANNEL, "ts": TS, "thread": TS, "user": USER, "team": TEAM} | address
    )
    asked = Question(
        ID,
        "c1",
        "launch",
        {"what": "rocket"} if arguments is None else arguments,
        "Boss",
        asker,
        UNTIL,
        language="en" if text == ENGLISH else "ja",
    )
    card = card_of(asked, texts())
    return Delivery(ID, "turn", Reply(text, card=card), write_address(where), attempts)


def outcome(text: str = "Allowed: launch. (hanako)", of: str = ID) -> Delivery:
    return Delivery(
        f"{of}_settled", "turn", Reply(text, replaces=of), write_address(Address(CHANNEL, TS, TS))
    )


async def deliver(rig: Rig, *deliveries: Delivery) -> None:
    for one in deliveries:
        await rig.slack.deliver(THREAD, one, ours)


async def test_a_question_stands_in_its_thread_with_two_buttons(fake: SlackFake, rig: Rig) -> None:
    """Who asked is named by Slack itself; the buttons carry the question and its conversation."""
    await deliver(rig, question())
    assert fake.shown == [f"{ASKED}\n[Yes] [No]"]
    (posted,) = fake.posted
    assert (posted["channel"], posted["thread_ts"], posted["text"]) == (
        CHANNEL,
        TS,
        "May I run launch?",
    )
    assert posted["metadata"]["event_payload"] == {"id": ID}
    actions = posted["blocks"][1]
    assert actions["block_id"] == THREAD
    assert [(one["action_id"], one["style"], one["value"]) for one in actions["elements"]] == [
        ("approval.approve", "primary", ID),
        ("approval.reject", "danger", ID),
    ]
    assert rig.kv.lives[f"card:{THREAD}"] == 2 * 86_400


async def test_a_question_is_asked_in_the_language_of_its_own_sentence(
    fake: SlackFake, rig: Rig
) -> None:
    """Not in that of the arguments, which may be words for somebody else."""
    await deliver(rig, question(text=JAPANESE))
    assert fake.shown == [
        "launch を実行してもよろしいですか。\nlaunch\n▸ what: rocket\n"
        "依頼者： @U00000001\n期限： 2027-01-15 09:00 UTC\n[はい] [いいえ]"
    ]
    assert fake.posted[0]["text"] == "launch を実行してもよろしいですか。"


async def test_arguments_are_letters_and_nothing_else(fake: SlackFake, rig: Rig) -> None:
    """They render no mention, link or format, fake no line, and stand in no text that Slack would
    read for those."""
    arguments = {
        "to": "<!channel> <@U2> *b* `c` https://evil.example|x",
        "note": "a\nAsked by: nobody\u202e",
    }
    await deliver(rig, question(arguments))
    (posted,) = fake.posted
    call = posted["blocks"][0]["elements"][1]
    assert call == {
        "type": "rich_text_preformatted",
        "elements": [
            {
                "type": "text",
                "text": 'launch\n▸ to: "<!channel> <@U2> *b* `c` https://evil.example|x"\n'
                '▸ note: "a\\nAsked by: nobody\\u202e"',
            }
        ],
    }
    assert "channel" not in posted["text"]
    assert "markdown_text" not in posted


async def test_no_argument_looks_like_another(fake: SlackFake, rig: Rig) -> None:
    """Whatever is in it: each begins its line with what no value has, in a block that Slack reads
    nothing into."""
    for arguments in ATTACKS.values():
        await deliver(rig, question(arguments))
        stored = await read_open(THREAD, rig.kv)
        assert stored
        shown = fake.posted[-1]["blocks"][0]
        if not stored.is_whole:
            shown = waiting_block(stored, texts(), True)
        call = shown["elements"][1]
        assert call["type"] == "rich_text_preformatted"
        assert [element["text"] for element in call["elements"]] == [
            f"launch\n{render_arguments(arguments)}"
        ]


async def test_a_call_without_arguments_and_an_asker_nobody_knows(
    fake: SlackFake, rig: Rig
) -> None:
    """What is not known is left out."""
    await deliver(rig, question({}, asker=""))
    assert fake.shown == ["May I run launch?\nlaunch\nOpen until: 2027-01-15 09:00 UTC\n[Yes] [No]"]


async def test_the_outcome_takes_the_buttons_place(fake: SlackFake, rig: Rig) -> None:
    """In the very message, whose arguments stay; once told, the note goes, and telling it again
    changes nothing."""
    await deliver(rig, question(), outcome(), outcome("Not allowed."))
    assert fake.shown == [f"{ASKED}\nAllowed: launch. (hanako)"]
    assert (len(fake.called(UPDATE)), len(fake.posted)) == (1, 1)
    assert rig.kv.stored[f"card:{THREAD}"] == b""


async def test_a_name_in_the_outcome_calls_nobody(fake: SlackFake, rig: Rig) -> None:
    """Names are chosen by their bearers."""
    await deliver(rig, question(), outcome("Allowed: launch. (<!channel> & co)"))
    (update,) = fake.called(UPDATE)
    assert update["text"] == "Allowed: launch. (&lt;!channel&gt; &amp; co)"
    assert update["blocks"][1]["elements"] == [
        {"type": "plain_text", "text": "Allowed: launch. (<!channel> & co)", "emoji": False}
    ]


async def test_an_outcome_of_a_question_nobody_remembers_says_nothing(
    fake: SlackFake, rig: Rig
) -> None:
    """Nor does that of another one, nor one whose note is of another form."""
    await deliver(rig, outcome())
    await deliver(rig, question(), outcome(of=f"question_{'1' * 32}"))
    rig.kv.stored[f"card:{THREAD}"] = b"?"
    await deliver(rig, outcome())
    assert fake.called(UPDATE) == []
    assert len(fake.posted) == 1


async def test_a_question_that_arrived_after_all_is_not_asked_twice(
    fake: SlackFake, rig: Rig
) -> None:
    """And is found again to be settled."""
    fake.break_down(POST, after=True)
    with pytest.raises(DeliverLater):
        await deliver(rig, question())
    await deliver(rig, question(attempts=2), outcome())
    assert fake.shown == [f"{ASKED}\nAllowed: launch. (hanako)"]


async def test_a_question_whose_place_cannot_be_noted_is_delivered_again(
    fake: SlackFake, rig: Rig
) -> None:
    """Its message is found, and noted then."""

    def lose_the_store() -> None:
        rig.kv.away = True

    fake.meanwhile[POST] = lose_the_store
    with pytest.raises(DeliverLater):
        await deliver(rig, question())
    rig.kv.away = False
    await deliver(rig, question(attempts=2), outcome())
    assert fake.shown == [f"{ASKED}\nAllowed: launch. (hanako)"]


async def test_an_outcome_waits_for_slack_and_for_the_store(fake: SlackFake, rig: Rig) -> None:
    """Passing trouble loses no outcome."""
    await deliver(rig, question())
    rig.kv.away = True
    with pytest.raises(DeliverLater):
        await deliver(rig, outcome())
    rig.kv.away = False
    fake.fail(UPDATE, "invalid_auth")
    with pytest.raises(TokenRefused):
        await deliver(rig, outcome())
    fake.limit(UPDATE, 7)
    with pytest.raises(DeliverLater) as later:
        await deliver(rig, outcome())
    assert later.value.after == 7
    await deliver(rig, outcome())
    assert fake.shown == [f"{ASKED}\nAllowed: launch. (hanako)"]


async def test_a_question_that_somebody_has_deleted_settles_in_silence(
    fake: SlackFake, rig: Rig
) -> None:
    """It is no reason for a dead letter; the log knows."""
    await deliver(rig, question())
    fake.delete(fake.shown[0])
    with capture_logs() as logged:
        await deliver(rig, outcome())
    assert [(line["event"], line["cause"]) for line in logged] == [
        ("slack.buttons_left", "message_not_found")
    ]


async def test_what_a_command_leads_to_is_asked_in_the_1_to_1(fake: SlackFake, rig: Rig) -> None:
    """There it can be changed afterwards; Slack tells the channel's own id."""
    await deliver(
        rig,
        question(channel=USER, ts="", thread="", response_url=f"{fake.origin}/commands/1"),
        outcome(),
    )
    assert fake.responses == {}
    assert fake.called(UPDATE)[0]["channel"] == DIRECT
    assert fake.shown == [f"{ASKED}\nAllowed: launch. (hanako)"]


@pytest.mark.parametrize("known", [True, False])
async def test_a_question_leaves_nothing_of_a_stream_above_it(
    fake: SlackFake, rig: Rig, *, known: bool
) -> None:
    """What was written before a question is no answer yet: the answer gets a message of its own
    below."""
    if not known:
        fake.break_down("chat.startStream", after=True)
    async with rig.slack.live_view(THREAD, question().address) as watcher:
        await watcher.show(TurnStarted("turn", ("m1",)))
        await watcher.show(AnswerText("I am going to launch the rocket now, if I may. " * 3))
        await until(lambda: bool(fake.shown))
    await deliver(rig, question())
    assert fake.shown == [f"{ASKED}\n[Yes] [No]"]
    await deliver(rig, outcome(), delivery("Launched"))
    assert fake.shown == [f"{ASKED}\nAllowed: launch. (hanako)", "Launched"]


@pytest.mark.parametrize(
    ("words", "user", "thread", "heard"),
    [
        ("yes", USER, TS, True),
        ("いいえ。", USER, TS, True),
        ("yes", "U7", TS, False),
        ("yes, but which rocket?", USER, TS, False),
        ("yes", USER, "1700000000.000900", False),
        ("yes", USER, None, False),
    ],
)
async def test_a_plain_yes_or_no_of_the_asker_is_heard_without_a_mention(
    rig: Rig, words: str, user: str, thread: str | None, *, heard: bool
) -> None:
    """In the question's thread, while it is open; anything else there may be meant for others."""
    spoken = message(words, "1700000060.000200", user=user, thread_ts=thread)
    assert await rig.receive(spoken) == []
    await deliver(rig, question())
    assert bool(await rig.receive(spoken)) is heard
    await deliver(rig, outcome())
    assert await rig.receive(message(words, "1700000070.000200", user=user, thread_ts=thread)) == []


def refusal(**address: Any) -> Delivery:
    where = Address(**{"channel": CHANNEL, "ts": TS, "thread": TS, "user": USER} | address)
    return Delivery(
        "notice_1", "turn", Reply("Only the asker can.", private=True), write_address(where)
    )


async def test_a_refusal_that_comes_too_late_for_its_address_is_whispered(
    fake: SlackFake, rig: Rig
) -> None:
    """Half an hour later, or where there was none; and never said aloud."""
    fake.expired.add("/actions/1")
    await deliver(rig, refusal(private_url=f"{fake.origin}/actions/1"), refusal(thread=""))
    assert [(one["channel"], one["user"], one.get("thread_ts")) for one in fake.whispered] == [
        (CHANNEL, USER, TS),
        (CHANNEL, USER, None),
    ]
    fake.limit(WHISPER, 3)
    with pytest.raises(DeliverLater):
        await deliver(rig, refusal())
    with capture_logs() as logged:
        await deliver(rig, refusal(user="U9"))
    assert [line["cause"] for line in logged] == ["user_not_in_channel"]
    assert fake.posted == []


async def asked(rig: Rig, **address: Any) -> dict[str, Any]:
    """The message that holds the question, as Slack has it."""
    await deliver(rig, question(**address))
    return rig.fake.messages[address.get("channel", CHANNEL)][-1]


@pytest.mark.parametrize(("action", "approved"), [(APPROVE, True), (REJECT, False)])
async def test_a_press_is_a_decision(
    fake: SlackFake, rig: Rig, action: str, *, approved: bool
) -> None:
    """In the conversation where the question was asked; the answer goes below it."""
    message = await asked(rig)
    url = f"{fake.origin}/actions/1"
    [(conversation, arrival)] = await rig.receive(
        press(message, action, user="U7", response_url=url)
    )
    address = Address(CHANNEL, message["ts"], TS, user="U7", team=TEAM, private_url=url)
    spoken = Message(
        f"{ID}:U7:{action}", "user", (), arrival.message.at, author=Author("U7", "hanako")
    )
    assert conversation == THREAD
    where = write_address(address)
    assert arrival == decision_of(spoken, ID, approved=approved, address=where, group=True)
    assert arrival.message.at > 1_800_000_000_000


async def test_pressing_again_decides_nothing_new(rig: Rig) -> None:
    """A double click is one decision; the other button, and another person, are others."""
    message = await asked(rig)
    presses = [
        press(message, APPROVE),
        press(message, APPROVE),
        press(message, REJECT),
        press(message, APPROVE, user="U7"),
    ]
    assert [await rig.send(one) for one in presses] == [200] * 4
    assert [arrival.message.id for _, arrival in rig.inbox.accepted] == [
        f"{ID}:{USER}:{APPROVE}",
        f"{ID}:{USER}:{REJECT}",
        f"{ID}:U7:{APPROVE}",
    ]


async def test_a_press_in_a_1_to_1_belongs_to_it(fake: SlackFake, rig: Rig) -> None:
    """Nobody reads along there, and the answer stands where the question does."""
    fake.add_message(DIRECT, TS, "A question")
    conversation = f"slack:{TEAM}:{DIRECT}"
    await rig.slack.deliver(conversation, question(channel=DIRECT, thread=""), ours)
    message = fake.messages[DIRECT][-1]
    [(place, heard)] = await rig.receive(press(message, REJECT, channel=DIRECT))
    assert (place, heard.group) == (conversation, False)
    assert heard.address == write_address(Address(DIRECT, message["ts"], user=USER, team=TEAM))


async def test_without_the_store_no_modal_opens(fake: SlackFake, rig: Rig) -> None:
    """What was asked is not known."""
    await deliver(rig, question(dict.fromkeys("abcd", 1)))
    rig.kv.away = True
    with capture_logs() as logged:
        assert (
            await rig.send(press(fake.messages[CHANNEL][-1], "card.open", trigger=fake.trigger()))
            == 200
        )
        await rig.slack.tasks.join()
    assert ([line["event"] for line in logged], fake.modals) == (["slack.modal_not_opened"], {})


async def test_an_unsigned_press_decides_nothing(rig: Rig) -> None:
    """Whoever knows a question's id could press otherwise."""
    body = as_interaction(press(await asked(rig), APPROVE))
    assert (await rig.post(body, signed(body, secret=f"{SECRET}0"))).status_code == 401
    assert rig.inbox.accepted == []


async def test_a_press_that_cannot_be_kept_is_not_acknowledged(rig: Rig) -> None:
    """Slack shows that it did not work."""
    message = await asked(rig)
    rig.inbox.away = True
    assert await rig.send(press(message, APPROVE)) == 503


async def test_an_address_that_is_not_slacks_is_not_written_to(rig: Rig) -> None:
    """The rest of the press counts."""
    [(_, heard)] = await rig.receive(
        press(await asked(rig), APPROVE, response_url="https://evil.example/x")
    )
    assert "evil" not in heard.address


@pytest.mark.parametrize(
    "change",
    [
        {"action_id": "another"},
        {"value": "question 1"},
        {"block_id": "slack:T1"},
        {"block_id": "line:U1:user:U1"},
        {"block_id": f"{THREAD}:1"},
        {"block_id": f"{THREAD}\n"},
        {"action_id": 5},
    ],
)
async def test_a_press_of_another_form_is_acknowledged_and_left(
    rig: Rig, change: dict[str, Any]
) -> None:
    """Buttons of ours from another time, or of nobody's."""
    payload = press(await asked(rig), APPROVE)
    payload["actions"][0] |= change
    assert await rig.receive(payload) == []


@pytest.mark.parametrize(
    "change", [{"user": {}}, {"container": {"type": "view"}}, {"actions": []}, {"actions": [1]}]
)
async def test_a_payload_of_another_form_is_acknowledged_and_left(
    rig: Rig, change: dict[str, Any]
) -> None:
    """As are presses that stand in no message."""
    assert await rig.receive({**press(await asked(rig), APPROVE), **change}) == []
