"""What a whole turn costs a process, from a signed webhook to the answer on the platform, beside
two naive bots.

.venv/bin/python -m benchmarks.cost [turns [at once [rounds]]]
"""
