"""What a whole turn costs a process, from a signed webhook to the answer on the platform, beside a naive bot.

.venv/bin/python -m benchmarks.cost [turns [at once]]
"""
