"""Conversations: intake of events, turns in strict order under one lease, and delivery of
answers."""
