"""What people, and platforms for them, have deleted: a conversation, or all that is kept of
somebody."""
