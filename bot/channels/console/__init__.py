"""The console: the page and the terminal, watched live while a turn runs.

channel  the Protocol's class             inbound  the page's HTTP endpoints, and its event stream
live     live events between processes    entries  the history as the page shows it
"""
