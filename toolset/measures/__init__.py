"""Units of measurement: their registry and the notation people write them in."""
