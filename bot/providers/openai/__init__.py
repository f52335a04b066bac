"""OpenAI's models, and every server that speaks like it."""
