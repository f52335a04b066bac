"""Models without function calling."""
