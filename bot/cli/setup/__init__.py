"""``kaiwa setup``: asks for the values of a platform, tests each there, writes ``.env``, and ends
when a first message is answered.

    command   what runs, and how it ends
    answers   the values: from the environment, the keyboard or standard input
    env_file  writes ``.env``
    address   the public address, and a tunnel's command
    running   ``kaiwa run`` beside it, which takes the first message
    line, slack, gemini   what is asked, and what is to be clicked
"""
