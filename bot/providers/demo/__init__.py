"""Rules in the place of a model."""
