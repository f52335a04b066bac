"""The open data of the Japan Meteorological Agency, as its own pages read it (``/bosai``)."""
