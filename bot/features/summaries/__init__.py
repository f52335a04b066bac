"""Summaries: the model writes down what older turns of a long conversation were about. Without them
old turns are left out of requests."""
