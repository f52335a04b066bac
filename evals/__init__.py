"""Questions for models, data only: ``questions/*.toml``, and in ``results.toml`` what the tools
answer meanwhile."""
