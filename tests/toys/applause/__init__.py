"""Applause: people clap by a button."""
