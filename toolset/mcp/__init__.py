"""Tools of MCP servers (Model Context Protocol): a connection to each server, and its tools as
tools of Kaiwa.

    config       the file that names the servers
    connection   one server: connected, listed, lost, connected again
    session      an open connection; only session, relay and stdio import the SDK
    relay        what the SDK does not bound: a server's requests, and one malformed tool of a list
    stdio        a server that is a process of ours
    http         a server with an address
    guard        how much a server may say, and how fast; the program that a process is run by
    catalog      a server's list, as tools with names, schemas and risks
    schema       a server's schema in a form that is cheap to check
    pins         what was seen of a tool for the first time
    answer       the answer to a call, as data and files

What a server says is not trusted: its lists, descriptions, schemas and answers are bounded, and its
failure stops nothing else.
"""
