"""Kaiwa's bot. Imports run from the top to the bottom of the map in ``docs/architecture.md``."""
