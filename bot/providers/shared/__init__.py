"""What the providers share, each part in one file."""
