"""``/stop``, in words or by a button.

How a turn under way ends is the pipeline's (``bot.pipeline.services``): commands of the kind
``stops`` end it, and so does the action ``STOP`` of a platform's own button.
"""
