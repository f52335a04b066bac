"""How the cost of a turn grows: with its history, with the tools, with the conversations in the store; and memory.

    .venv/bin/python -m benchmarks.growth [history] [tools] [conversations] [memory]

All are LINE turns through one `kaiwa run`; see `benchmarks.whole`.
"""
