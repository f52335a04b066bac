"""Courtesy: stickers that ask nothing, such as one that says thanks, get a sentence and no request
to the model."""
