"""Whole processes, measured from outside: what `cost`, `growth`, `scale`, `flood` and `ack` share.

processes  starts and reads processes     store   Redis: one server or a cluster, its counters
platforms  LINE, Slack, Gemini, wttr.in   people  new people's turns, by channel
bench      a bot with all of these        tables  the results as markdown
"""
