"""The workspace tools' folders, one per conversation, and the sandbox for commands; nothing leads
out of either."""
