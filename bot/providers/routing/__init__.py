"""Routing of requests: to the chosen model, and to its fallbacks while it fails."""
