"""Kaiwa's bot. ``docs/architecture.md`` is the map: packages, the way of a message, a glossary, recipes."""
