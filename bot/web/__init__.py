"""The web server, its routes beside those of the channels, and access to them."""
