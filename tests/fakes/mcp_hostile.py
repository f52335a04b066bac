"""An MCP server over stdio that lies, written without the SDK, which would not let it.

Its form is that of https://modelcontextprotocol.io/specification/2025-11-25. The argument is a JSON
file, read anew for each message; a file beside it, ``.called``, tells that a tool has been called,
with the ``_meta`` of the call:

    tools      what tools/list answers; with "endless" on page after page
    answers    what tools/call answers, by tool; a tool without an answer gets none, ever
    levels     of the data that tools/call answers, more than json writes
    exits      tools whose call ends the process
    hangs      true: nothing is answered, and SIGTERM is ignored
    flood      true: the answer to tools/list is a line without an end
    spam       true: after the list, notifications without an end
    asks       true: after the list, requests without an end, whose answers it does not read
    child      true: starts a process that outlives its parent; its id is written to a file beside
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

INFO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}}
PING = {"jsonrpc": "2.0", "id": "x" * 1_000, "method": "ping"}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def say(message: object) -> None:
    """One line."""
    print(json.dumps(message), flush=True)


def answer(request: dict[str, Any], script: dict[str, Any]) -> object:
    """The result of a request; None for none."""
    match request["method"]:
        case "initialize":
            return {**INFO, "serverInfo": {"name": "hostile", "version": "1"}}
        case "tools/list":
            if script.get("flood"):
                while True:
                    sys.stdout.write("x" * 65_536)
            return {
                "tools": script.get("tools", []),
                **({"nextCursor": "more"} if script.get("endless") else {}),
            }
        case "tools/call":
            name = request["params"]["name"]
            meta = json.dumps(request["params"].get("_meta"))
            Path(sys.argv[1]).with_suffix(".called").write_text(meta, "utf-8")
            if name in script.get("exits", ()):
                os._exit(1)
            if name == "poke":
                say(CHANGED)
            return script.get("answers", {}).get(name)
    return {}


def deep_answer(request_id: int, levels: int) -> str:
    """The answer to a call, with data of so many levels."""
    data = '{"a": ' * levels + "1" + "}" * levels
    result = f'{{"content": [], "structuredContent": {data}}}'
    return f'{{"jsonrpc": "2.0", "id": {request_id}, "result": {result}}}'


def serve(path: Path) -> None:
    """Answer until the input ends, and even longer where the script says so."""
    first = json.loads(path.read_text("utf-8"))
    if first.get("child"):
        child = subprocess.Popen(["sleep", "600"])
        path.with_suffix(".pid").write_text(str(child.pid), "utf-8")
    if first.get("hangs"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        path.with_suffix(".pid").write_text(str(os.getpid()), "utf-8")
        while True:
            signal.pause()
    print("this line is not of the protocol", flush=True)
    for line in sys.stdin:
        request, script = json.loads(line), json.loads(path.read_text("utf-8"))
        if "id" not in request:
            continue
        if request["method"] == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            say({"jsonrpc": "2.0", "id": request["id"], "error": error})
        elif (levels := script.get("levels")) and request["method"] == "tools/call":
            print(deep_answer(request["id"], levels), flush=True)
        elif (result := answer(request, script)) is not None:
            say({"jsonrpc": "2.0", "id": request["id"], "result": result})
            while script.get("spam") and request["method"] == "tools/list":
                say(CHANGED)
            while script.get("asks") and request["method"] == "tools/list":
                say(PING)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
