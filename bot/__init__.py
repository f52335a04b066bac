"""Kaiwa's bot. ``docs/architecture.md`` has the map of packages, the steps of one message, a glossary and recipes."""
