"""Traces: what a turn did, step by step: facts without words for days, and the words, requests and
responses among them, for hours."""
