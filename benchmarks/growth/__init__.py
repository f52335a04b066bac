"""How the cost of a turn grows: with its history, with the tools, with the conversations in the
store; and memory.

    .venv/bin/python -m benchmarks.growth [history] [tools] [conversations] [forgetting] [memory]

All are LINE turns through whole processes (see `benchmarks.whole`), but `forgetting`: that is one
call of the store.
"""
