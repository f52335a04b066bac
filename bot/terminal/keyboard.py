"""What is typed: lines with editing, and with what was said before under the arrow keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PROMPT = "› "
COLOURED = "\001\x1b[1;36m\002›\001\x1b[0m\002 "  # readline must not count what is between \001 and \002


def typed(said: Iterable[str]) -> Iterator[str]:
    """The lines typed at this terminal, until Ctrl-C or Ctrl-D.

    Args:
        said: earlier lines, oldest first.
    """
    prompt = COLOURED if _begin_editing(said) else PROMPT
    while True:
        try:
            line = input(prompt)
        except (EOFError, KeyboardInterrupt):
            print()
            return
        yield line


def _begin_editing(said: Iterable[str]) -> bool:
    try:
        import readline  # changes what input() does, which is this module's business alone
    except ImportError:  # a Python built without it
        return False
    for line in said:
        readline.add_history(line)
    return True
