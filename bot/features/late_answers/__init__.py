"""Late answers: a button fetches an answer whose reply token ran out before it was ready."""
