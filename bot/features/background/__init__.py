"""Background: what the people of a group wrote to each other before they asked, where GROUP_MEMORY
is on.

It is data for the model's next answer, and no part of the history.
"""
