"""MediaWiki's API, as Wikipedia offers it."""
