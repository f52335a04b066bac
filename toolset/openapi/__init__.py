"""Tools made of an OpenAPI document: ``document`` reads it, ``api_file`` keeps what was chosen,
``tool`` calls it."""
