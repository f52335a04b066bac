"""The webhook over HTTP: what is refused, what is accepted, and that nothing else happens before
the answer."""

from __future__ import annotations

import json

import pytest

from bot.channels.line.inbound import is_signed
from bot.transcript import Media
from tests.bot.channels.line.rig import Rig, lone_rig  # noqa: F401 -- a fixture
from tests.fakes.line_events import GROUP, addressed_message, event, signed, text_message, webhook

HELLO = event(message=text_message("Hello"))


SIGNATURE = "x-line-signature"


@pytest.mark.parametrize(
    ("secret", "body", "signature"),
    [
        ("our-own-secret", '{"events":[]}', "vDKrV2S/E5S555Qx0t0fFbUnt3/zT5wB76GDmdLC/BU="),
        ("秘密", '{"text":"晴れです😄"}', "y5LOAEyOPm+zNq4dKqfGmtrdT4YajTBye+k6E4D1vnk="),
    ],
)
def test_a_signature_made_elsewhere_is_right(secret: str, body: str, signature: str) -> None:
    """Made by openssl, one with characters beyond 16 bits; not one byte may differ."""
    assert is_signed(secret, {SIGNATURE: signature}, body.encode())
    assert not is_signed(secret, {SIGNATURE: signature}, body.encode() + b" ")
    assert not is_signed("another", {SIGNATURE: signature}, body.encode())


@pytest.mark.parametrize(
    "signature", [None, "", "wrong", "ünsigned", webhook(HELLO, secret="another")[1]]
)
async def test_without_the_right_signature_nothing_is_accepted(rig: Rig, signature: object) -> None:
    """Missing, empty, made up, not even ASCII, or made with another secret: 400."""
    body, headers = webhook(HELLO)
    if isinstance(signature, dict):
        headers = signature
    elif signature is None:
        del headers["X-Line-Signature"]
    else:
        headers["X-Line-Signature"] = str(signature)
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    response = await rig.http.post("/webhooks/line", content=body, headers=raw)
    assert (response.status_code, rig.inbox) == (400, [])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b'{"events": {}}',
        b'{"events": null}',
        b'{"destination": 1, "events": []}',
        b'{"destination": "U", "events": [{"type": }]}',
        b'{"destination": "U", "events": [{"type": "message\xff"}]}',
        b'{"destination": "U", "events": [{"type": "\\ud800"}, NaN]}',
        b'{"destination": "U", "events": {"type": "\\ud800"}}',
        b'{"destination": "\\ud800", "events": 1}',
        b'["\\ud800"]',
        b"[" * 100_000,
        b'{"destination": "U", "events": [' + b"[" * 100_000,
        b'{"destination": "U", "events": [], "x": ' + b'{"a":' * 100_000,
        b'{"destination": "U", "events": [{"message": ' + b'{"a":' * 100_000,
        b'{"destination": "U", "events": ["\\ud800", ' + b"[" * 100_000,
    ],
)
async def test_a_signed_body_that_is_no_webhook_is_refused(rig: Rig, body: bytes) -> None:
    """Empty, cut off, of another form, or not UTF-8."""
    assert await rig.post(*signed(body)) == 400
    assert rig.inbox == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"destination": "U", "events": []}',
        b'{"events": [], "and": "more"}',
        b'{"destination": "U", "events": [{}]}',
        (
            b'{"destination": "U", "events": [1, null, "x", {"type": 1}, {"type": "message", '
            b'"source": "?"}]}'
        ),
        (
            b'{"destination": "U", "events": [{"type": "somethingNew", "source": {"type": "user", '
            b'"userId": "U1"}}]}'
        ),
        (
            b'{"destination": "U", "events": [{"type": "message", "source": {"type": "user", '
            b'"userId": "U1"}}]}'
        ),
        (
            b'{"destination": "U", "events": [{"type": "follow", "source": {"type": "userGroup", '
            b'"userId": "U1"}}]}'
        ),
    ],
)
async def test_whatever_is_well_formed_is_taken(rig: Rig, body: bytes) -> None:
    """LINE's Verify button, new event types and events that cannot be read are no reason to be sent
    again."""
    assert await rig.post(*signed(body)) == 200
    assert [arrival for arrival in rig.arrivals if arrival.event == "message"] == []


async def test_an_event_that_cannot_be_read_costs_only_itself(rig: Rig) -> None:
    """Its neighbours are accepted, in order."""
    broken = {**event(message=text_message("?")), "timestamp": "yesterday"}
    last = event(message=text_message("Bye"))
    assert [arrival.message.text for arrival in await rig.receive(HELLO, broken, last)] == [
        "Hello",
        "Bye",
    ]


@pytest.mark.parametrize(
    "broken",
    [b'{"type": "message", "timestamp": "\\ud83d"}', b"[" * 900 + b"]" * 900],
    ids=["half a character in place of a number", "nested deeply"],
)
async def test_what_no_parser_takes_costs_only_its_event(rig: Rig, broken: bytes) -> None:
    """The events beside it are accepted all the same."""
    events = [
        json.dumps(HELLO).encode(),
        broken,
        json.dumps(event(message=text_message("Bye"))).encode(),
    ]
    body = b'{"destination": "U", "events": [' + b",".join(events) + b"]}"
    assert await rig.post(*signed(body)) == 200
    assert [arrival.message.text for arrival in rig.arrivals] == ["Hello", "Bye"]


async def test_half_a_character_costs_only_itself(rig: Rig) -> None:
    """In the text, the postback and the name of a file; what is whole stays whole, and mentions
    stay where they are."""
    half, smile = "\ud83d", "\N{GRINNING FACE}"
    pressed = event("postback", postback={"data": f"late.fetch en:{half}"})
    spoken = event(message=text_message(f"Look {half} {smile}"))
    mentioned = event(place=GROUP, message=addressed_message("weather?", name=f"@Kai{half}"))
    sent = event(message={"id": "7001", "type": "file", "fileName": f"{half}.pdf", "fileSize": 9})
    arrivals = await rig.receive(pressed, spoken, mentioned, sent)
    assert [arrival.message.text for arrival in arrivals] == [
        "",
        f"Look \ufffd {smile}",
        "weather?",
        "",
    ]
    [file] = arrivals[-1].message.parts
    assert isinstance(file, Media)
    assert file.name == "\ufffd.pdf"


async def test_a_body_over_one_mebibyte_is_refused(rig: Rig) -> None:
    """However it is signed."""
    limit = 1024 * 1024
    assert await rig.post(*signed(b'{"events": [], "x": "'.ljust(limit - 2, b" ") + b'"}')) == 200
    assert await rig.post(*signed(b" " * (limit + 1))) == 413


async def test_while_the_store_is_away_line_is_asked_to_send_again(rig: Rig) -> None:
    """503, and nothing is half accepted."""
    rig.away = True
    response = await rig.http.post(
        "/webhooks/line", content=webhook(HELLO)[0], headers=webhook(HELLO)[1]
    )
    assert (response.status_code, response.headers["Retry-After"]) == (503, "2")
    rig.away = False
    assert len(await rig.receive(HELLO)) == 1


async def test_nothing_is_waited_for_but_the_inbox(rig: Rig) -> None:
    """Notes that cannot be written, and a LINE that cannot be reached, hold no webhook up."""
    rig.notes.away = True
    assert len(await rig.receive(HELLO)) == 1
