"""Open-Meteo: its client, the search of places, the parser of its forecasts, and the words of its
weather codes."""
