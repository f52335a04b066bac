"""The composition root: ``storage`` opens the store, ``services`` what every process needs,
``console`` and ``runtime`` connect it to channels and turns, ``site`` serves it."""
