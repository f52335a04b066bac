"""Kaiwa as an MCP server: its tools that only read, for other programs. Only ``server`` imports the
SDK."""
