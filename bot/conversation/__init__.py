"""Conversations: what comes in, turns in strict order under one lease, and what goes out."""
