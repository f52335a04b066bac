"""What becomes of answers whose messages are edited or taken back.

The messages themselves are the pipeline's: a change is made in the inbox, in the turn under way and
in the history, in this order (``bot.pipeline.select``, ``prepare`` and ``answer``).
"""
