"""A model that costs nothing: answers Gemini's streams with four calls, then with a sentence. Run
as a process.

    python -m benchmarks.stub [seconds to wait within each answer]

Prints its port and serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence

CALLS = [{"functionCall": {"name": "noop", "args": {"n": n}}} for n in range(4)]
WORDS = [{"text": "The four answers are in, and all of them are fine."}]


def answer(parts: Sequence[Mapping[str, object]]) -> tuple[bytes, bytes]:
    """An HTTP response in two pieces: a first word, so that nobody takes the model for dead, and
    all the rest."""
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}
    begun = {
        "candidates": [{"content": {"parts": [{"text": "Well, "}], "role": "model"}, "index": 0}]
    }
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    event = json.dumps(
        {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-flash"}
    )
    first, rest = f"data: {json.dumps(begun)}\n\n".encode(), f"data: {event}\n\n".encode()
    length = len(first) + len(rest)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + first, rest


ASKS, SAYS = answer(CALLS), answer(WORDS)


async def serve(wait_s: float) -> None:
    """Serve on a free port of loopback."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fields = dict(
                    line.lower().split(b": ", 1)
                    for line in head.split(b"\r\n")[1:]
                    if b": " in line
                )
                body = await reader.readexactly(int(fields[b"content-length"]))
                newest = json.loads(body)["contents"][-1]["parts"]
                first, rest = SAYS if any("functionResponse" in part for part in newest) else ASKS
                if wait_s:
                    writer.write(first)
                    await asyncio.sleep(wait_s)
                    writer.write(rest)
                else:
                    writer.write(first + rest)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0))
