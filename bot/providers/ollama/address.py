"""Where Ollama is, as its own clients read OLLAMA_HOST: scheme, host and port may each be left out."""

from __future__ import annotations

from urllib.parse import urlsplit

PORT = 11434
PORTS = {"http": 80, "https": 443}  # where a scheme is written
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- where a server listens is nowhere to be reached


def address_of(host: str) -> str:
    """The base URL, without a slash at its end."""
    scheme, separator, _ = host.partition("://")
    parts = urlsplit(host if separator else f"http://{host}")
    port = parts.port or (PORTS.get(scheme, PORT) if separator else PORT)
    name = parts.hostname or "127.0.0.1"
    name = EVERYWHERE.get(name, name)
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}{parts.path.rstrip('/')}"
