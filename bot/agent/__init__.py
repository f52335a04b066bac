"""The agent: a model, its tools, and the loop over one turn. It knows no channel and no store."""
