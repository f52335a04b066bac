"""The console: the page and the terminal, watched live while a turn runs.

channel  the Protocol's class             inbound  the page's HTTP endpoints
live     live events between processes    sse      these as a stream the page reads
entries  the history as the page shows it uploads  files that go with a message
"""
