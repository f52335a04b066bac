"""The agent: a model, its tools, and the loop of one turn. It imports no channel and no store."""
