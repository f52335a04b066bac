"""Asks a model the questions of ``evals/`` and counts the right answers.

questions  what is asked, and what a right answer is    judge    compares an answer with that
canned     the real tools with fixed results            runner   asks, several questions at once
report     counts, intervals, the table, the changes    results  the files of runs
"""
