"""What several tools need to read from services on the web."""
