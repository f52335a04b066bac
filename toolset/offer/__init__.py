"""Which of the tools a turn is offered: rules for places and people, and a search where there are
many."""
