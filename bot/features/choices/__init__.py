"""Choices: short answers to the bot's question, as buttons that say them."""
