"""wttr.in: its client, the parser of its reports, and the check which place a report is for."""
