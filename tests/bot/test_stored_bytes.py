"""What stands in Redis keeps its form: processes of two versions read each other's journals,
inboxes and histories."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct
from msgspec.json import Decoder

from bot.agent.turn import ApprovalDecision, RecordedResponse, StartedCall
from bot.channels import Delivery, InboundEvent, Question, Reply
from bot.conversation import journal
from bot.transcript import (
    Author,
    FileRef,
    Media,
    Message,
    Opaque,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    TurnRecord,
    decode_record,
    decode_summary,
    encode,
)

CALL = ToolCall("c1", "launch", {"what": "rocket"})
RESULT = ToolResult("c1", "launch", {"output": {}}, is_error=True, is_rejected=True)
FILE = FileRef("f1", "weather.png", "image/png", "20 °C", 9)
AUTHOR = Author("U1", "Hanako", "ja-JP", "Asia/Tokyo")
SAID = Message(
    "m1", "user", (Text("hi"), Media("ref", "image/png", 3)), 1, AUTHOR, None, "[context]"
)
ANSWER = Message(
    "m2", "model", (Text("on it"), CALL), 2, None, Opaque("gemini", "flash", b"\x00\xff")
)
QUESTION = Question("q1", "c1", "launch", {"what": "rocket"}, "Hanako", "U1", 9)
REPLY = Reply("Done", True, "note", QUESTION, "q0", True, "help")

STORED = {
    "arrival": (
        InboundEvent(SAID, '{"token":"t"}', True, "told", "line.greeting", True, "album", 2),
        b'{"message":{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"},'
        b'{"type":"media","ref":"ref","mime":"image/png","size":3}],"at":1,'
        b'"author":{"id":"U1","name":"Hanako","locale":"ja-JP","time_zone":"Asia/Tokyo"},"context":"[context]"},'
        b'"address":"{\\"token\\":\\"t\\"}","group":true,"event":"told","target":"line.greeting","approved":true,'
        b'"album":"album","album_size":2}',
    ),
    "delivery": (
        Delivery("turn_1_1", "turn_1", REPLY, "address", 1, 2, 3, 4),
        b'{"id":"turn_1_1","turn_id":"turn_1","reply":{"text":"Done","failed":true,"note":"note","question":'
        b'{"id":"q1","call_id":"c1","tool":"launch","arguments":{"what":"rocket"},"asker":"Hanako","asker_id":"U1",'
        b'"until":9},"settles":"q0","private":true,"kind":"help"},"address":"address","attempts":1,"refusals":2,'
        b'"refused_since":3,"not_before":4}',
    ),
    "said": (
        RecordedResponse(ANSWER, "tool_use"),
        b'{"message":{"id":"m2","role":"model","parts":[{"type":"text","text":"on it"},'
        b'{"type":"call","id":"c1","name":"launch","arguments":{"what":"rocket"}}],"at":2,'
        b'"opaque":{"provider":"gemini","model":"flash","data":"AP8="}},"stop_reason":"tool_use"}',
    ),
    "result": (
        RESULT,
        b'{"type":"result","call_id":"c1","name":"launch","response":{"output":{}},"is_error":true,"is_rejected":true}',
    ),
    "result with a file": (
        ToolResult("c1", "draw", {}, files=(FILE,)),
        b'{"type":"result","call_id":"c1","name":"draw","response":{},"files":[{"id":"f1","name":"weather.png",'
        b'"mime":"image/png","text":"20 \xc2\xb0C","size":9}]}',
    ),
    "delivery with a file": (
        Delivery("turn_1_1", "turn_1", Reply("Done", files=(FILE,))),
        b'{"id":"turn_1_1","turn_id":"turn_1","reply":{"text":"Done","files":[{"id":"f1","name":"weather.png",'
        b'"mime":"image/png","text":"20 \xc2\xb0C","size":9}]}}',
    ),
    "begun": (StartedCall("c1"), b'{"call_id":"c1"}'),
    "asked": (
        journal.ApprovalRequest(QUESTION, "address", "ja", 2),
        b'{"question":{"id":"q1","call_id":"c1","tool":"launch","arguments":{"what":"rocket"},"asker":"Hanako",'
        b'"asker_id":"U1","until":9},"address":"address","language":"ja","before":2}',
    ),
    "decided": (
        ApprovalDecision("c1", True, {"what": "rocket"}, "because", "address", "m3"),
        b'{"call_id":"c1","approved":true,"arguments":{"what":"rocket"},"reason":"because","address":"address",'
        b'"message_id":"m3"}',
    ),
    "turn": (
        TurnRecord("turn_1", 5, "flash", (SAID,)),
        b'{"turn_id":"turn_1","at":5,"model":"flash","messages":[{"id":"m1","role":"user","parts":'
        b'[{"type":"text","text":"hi"},{"type":"media","ref":"ref","mime":"image/png","size":3}],"at":1,'
        b'"author":{"id":"U1","name":"Hanako","locale":"ja-JP","time_zone":"Asia/Tokyo"},"context":"[context]"}],"v":1}',
    ),
    "summary": (
        Summary("turn_1", 5, "flash", "They met."),
        b'{"through":"turn_1","at":5,"model":"flash","text":"They met.","v":1}',
    ),
}
KINDS = {"said", "result", "begun", "asked", "decided"}


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_keeps_its_bytes(name: str) -> None:
    """Fields, their names and their order, as version 0.1 wrote them."""
    value, stored = STORED[name]
    assert encode(value) == stored


@pytest.mark.parametrize("name", STORED)
def test_what_was_stored_can_be_read(name: str) -> None:
    """Into the same value."""
    value, stored = STORED[name]
    decode = {"turn": decode_record, "summary": decode_summary}.get(name) or Decoder(
        type(value)
    ).decode
    assert decode(stored) == value


class EarlierResult(Struct, frozen=True, tag="result"):
    """``ToolResult`` as the version before files has it."""

    call_id: str
    name: str
    response: dict[str, Any]
    is_error: bool = False
    is_rejected: bool = False


def test_earlier_versions_read_results_with_files() -> None:
    """They leave the files out; what is left out of a result they take for its default."""
    _, stored = STORED["result with a file"]
    assert Decoder(EarlierResult).decode(stored) == EarlierResult("c1", "draw", {})


def test_the_journals_kinds_are_these() -> None:
    """A process of another version knows no others."""
    assert set(journal.DECODERS) == KINDS
