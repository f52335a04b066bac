"""Quotes: which earlier message somebody quotes, and how the model reads it."""
