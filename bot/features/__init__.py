"""Features: what people can do beyond asking and being answered, one folder each.

``registry`` lists them. A feature hangs into the pipeline by the hooks of
``bot.pipeline.feature``; features do not know each other.
"""
