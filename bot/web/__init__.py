"""Routes that are no channel's, who may reach them, and the server under all."""
