"""A page of the web: fetched from a checked address, its text extracted in a process of its own."""
