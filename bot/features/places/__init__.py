"""Places: another persona, model, tools and more for a channel, a person or a platform, from a file
that is read anew while Kaiwa runs."""
