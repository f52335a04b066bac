"""Feeds of news."""
