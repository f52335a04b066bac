"""Memory: what people have had remembered in a place is read before their messages, seen and
deleted by commands, and on the page about themselves."""
