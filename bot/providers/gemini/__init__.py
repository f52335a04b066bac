"""Gemini, by an API key or on Vertex AI."""
