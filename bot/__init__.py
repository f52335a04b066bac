"""Kaiwa's bot, from a message to its answer. This is the map of the house.

    a message        channels/ (line, slack, console)  →  intake  →  store/  (inbox, due index)
    a worker         worker: hints through Docket, a sweep of the due index  →  conversation: one lease at a time
    a turn           answering: arrivals sorted out, housekeeping, context line  →  agent
    the loop         agent over turn: ask a model (providers/, with media), run calls (toolset), until it has answered
    on record        journal while it runs, history and outbox in one commit  →  store/
    the answer       delivery: outbox  →  channels/; shown live by live, broadcast and sse
    the words        transcript for models, texts/ for ourselves, prompts/ for the persona

    what runs        cli → commands → processes (run, worker, chat) → app, which builds everything from settings;
                     models builds the providers
    beside it        evictor: a store that fills up is made room in
    for operators    doctor, dead_letters, report, findings, log, metrics, web/ (page, guard, health)
    the terminal     chat, exchange, terminal/; by_hand calls a tool without a model

Imports run one way, from the top of ``pyproject.toml``'s layers to the bottom; ``errors`` is at the very bottom.
"""
