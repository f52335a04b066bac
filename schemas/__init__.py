"""The tools' JSON Schemas (Draft 2020-12), data only: ``schemas/<tool>/parameters.json`` and
``response.json``."""
