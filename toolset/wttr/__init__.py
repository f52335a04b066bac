"""wttr.in: its client, the parser of its reports, a cache, and the check which place a report is for."""
