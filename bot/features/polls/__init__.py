"""Polls: a tool starts them, presses of buttons are counted without a turn, and the outbox shows
how they stand."""
