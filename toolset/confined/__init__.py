"""One folder per conversation that nothing leads out of: for the workspace tools."""
