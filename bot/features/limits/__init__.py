"""Limits: what people, conversations and the whole bot may use in a day, and what they have used
(/usage, ``kaiwa usage``)."""
