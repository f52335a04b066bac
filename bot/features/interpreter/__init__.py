"""The interpreter of a group: it translates each message that is not for the bot, until it is
switched off.

A translation is one request to the model, with a short prompt and no tools. It is no part of the
history.
"""
