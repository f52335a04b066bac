"""Lists that the people of a place share, such as what to buy."""
