"""Which model is asked: the chosen one, and its fallbacks while it fails."""
