"""Diary: what is done in each turn, for whoever may read the page."""
