"""Models that cost nothing, in the wire format of each vendor: four calls first, then an answer in
thirty pieces.

    python -m benchmarks.vendors

Run as a process, it prints its port and serves until its standard input is closed. Each event
leaves by itself, a moment after the one before, as events of a model that writes do.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.task import ANSWER, TOOLS, WORDS

PAUSE_S = 0.001
JSON = dict[str, Any]
ARGUMENTS = {"n": 1}
PIECES = ('{"n"', ": 1", "}")  # of the same, as a stream brings them
EVENT_STREAM, LINES = "text/event-stream", "application/x-ndjson"


def gemini(called: bool) -> Iterator[JSON]:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    calls = [{"functionCall": {"name": name, "args": ARGUMENTS}} for name in TOOLS]
    for parts in [[{"text": word}] for word in WORDS] if called else [calls]:
        yield {
            "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
            "usageMetadata": usage,
        }
    end = {
        "content": {"parts": [{"text": ""}], "role": "model"},
        "finishReason": "STOP",
        "index": 0,
    }
    yield {"candidates": [end], "usageMetadata": usage, "modelVersion": "gemini-2.5-flash"}


def openai(called: bool) -> Iterator[JSON]:
    for delta in [{"content": word} for word in WORDS] if called else _openai_calls():
        yield _openai_chunk(delta)
    yield _openai_chunk({}, "stop" if called else "tool_calls")
    yield _openai_usage()


def json_mode(called: bool) -> Iterator[JSON]:
    calls = None if called else [{"name": name, "arguments": ARGUMENTS} for name in TOOLS]
    text = json.dumps(
        {"thought": "So be it.", "tool_calls": calls, "reply": ANSWER if called else ""}
    )
    length = len(text) // len(WORDS) + 1
    for start in range(0, len(text), length):
        yield _openai_chunk({"content": text[start : start + length]})
    yield _openai_chunk({}, "stop")
    yield _openai_usage()


def anthropic(called: bool) -> Iterator[JSON]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [],
    }
    yield {
        "type": "message_start",
        "message": {**head, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }
    if called:
        yield from _block(
            0,
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": word} for word in WORDS],
        )
    else:
        grown = [{"type": "input_json_delta", "partial_json": piece} for piece in PIECES]
        for index, name in enumerate(TOOLS):
            yield from _block(
                index,
                {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}},
                grown,
            )
    delta = {"stop_reason": "end_turn" if called else "tool_use", "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


def ollama(called: bool) -> Iterator[JSON]:
    line = {"model": "qwen3", "created_at": "2026-11-22T00:00:00Z", "done": False}
    calls = [
        {"content": "", "tool_calls": [{"function": {"name": name, "arguments": ARGUMENTS}}]}
        for name in TOOLS
    ]
    for message in [{"content": word} for word in WORDS] if called else calls:
        yield {**line, "message": {"role": "assistant", **message}}
    counts = {"prompt_eval_count": 10, "eval_count": 10, "total_duration": 1}
    yield {
        **line,
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        **counts,
    }


def _openai_calls() -> Iterator[JSON]:
    for index, name in enumerate(TOOLS):
        function: JSON = {"name": name, "arguments": ""}
        yield {
            "tool_calls": [
                {"index": index, "id": f"call_{index}", "type": "function", "function": function}
            ]
        }
        for piece in PIECES:
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _openai_chunk(delta: JSON, finish: str | None = None) -> JSON:
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-5-mini",
    }
    return {
        **head,
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }


def _openai_usage() -> JSON:
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    return {**_openai_chunk({}), "choices": [], "usage": usage}


def _block(index: int, begun: JSON, deltas: list[JSON]) -> Iterator[JSON]:
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _data(event: JSON) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def _streams() -> dict[tuple[str, bool], list[bytes]]:
    """The events of each vendor's two answers, ready to leave."""
    streams: dict[tuple[str, bool], list[bytes]] = {}
    for called in (False, True):
        done = [b"data: [DONE]\n\n"]
        streams["gemini", called] = [_data(event) for event in gemini(called)]
        streams["openai", called] = [_data(event) for event in openai(called)] + done
        streams["json", called] = [_data(event) for event in json_mode(called)] + done
        streams["anthropic", called] = [_data(event) for event in anthropic(called)]
        streams["ollama", called] = [json.dumps(line).encode() + b"\n" for line in ollama(called)]
    return streams


STREAMS = _streams()


def answer_to(path: bytes, body: JSON) -> tuple[str, bool]:
    """Whose format is spoken, and whether the calls have been made."""
    if b"streamGenerateContent" in path:
        return "gemini", any("functionResponse" in part for part in body["contents"][-1]["parts"])
    last = body["messages"][-1]
    if path.startswith(b"/v1/messages"):
        content = last["content"]
        return "anthropic", isinstance(content, list) and content[0]["type"] == "tool_result"
    if path.startswith(b"/api/chat"):
        return "ollama", last["role"] == "tool"
    if "response_format" in body:
        return "json", last["content"].startswith("Result of")
    return "openai", last["role"] == "tool"


async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one connection's requests."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.split(b"\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in lines if b": " in line)
            body = json.loads(await reader.readexactly(int(fields[b"content-length"])))
            asked = answer_to(first.split(b" ")[1], body)
            kind = LINES if asked[0] == "ollama" else EVENT_STREAM
            writer.write(
                f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n"
                "Transfer-Encoding: chunked\r\n\r\n".encode()
            )
            for event in STREAMS[asked]:
                await asyncio.sleep(PAUSE_S)
                writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def serve() -> None:
    """Serve on a free port of loopback."""
    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
