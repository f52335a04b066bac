"""What a conversation on the page can begin with: questions for the tools that are on, and the
commands."""

from __future__ import annotations

from bot.texts import LANGUAGES, Texts, language_of
from bot.web.page import PageCommand
from toolset.tool_map import ToolMap

FOR_ANY = "any_"  # how the names of questions begin that need no tool


def starters(tools: ToolMap, texts: Texts, *, demo: bool) -> dict[str, tuple[str, ...]]:
    """The questions of the catalogue's table ``starter`` that can be answered, by language.

    Args:
        demo: the demo model answers, which understands those that it names itself.
    """
    names: list[str] = []
    for name in texts.table("starter", LANGUAGES[0]):
        if demo:
            is_open = name in tools and f"can_{name}" in texts.table("demo", LANGUAGES[0])
        else:
            is_open = name in tools or name.startswith(FOR_ANY)
        if is_open:
            names.append(name)
    return {
        language: tuple(texts.get(f"starter.{name}", language) for name in names)
        for language in LANGUAGES
    }


def commands(tools: ToolMap, texts: Texts) -> tuple[PageCommand, ...]:
    """The commands that the table ``about`` describes, and those of tools."""
    found: list[PageCommand] = []
    for row in texts.table("words", LANGUAGES[0]):
        name = row.rpartition(".")[2]
        if name not in texts.table("about", LANGUAGES[0]):
            continue
        words = {language: _first(texts.get(f"words.{row}", language)) for language in LANGUAGES}
        about = {language: texts.get(f"about.{name}", language) for language in LANGUAGES}
        found.append(PageCommand(words, about))
    for tool in tools.values():
        if tool.commands:
            words = dict.fromkeys(LANGUAGES, ())
            for word in tool.commands:
                words[language_of(word, LANGUAGES[0])] += (f"/{word}",)
            about = {language: tool.definition.title(language) for language in LANGUAGES}
            found.append(PageCommand(words, about, more=True))
    return tuple(found)


def _first(row: str) -> tuple[str, ...]:
    """The first of a command's words that begins with a slash."""
    words = [word.strip() for word in row.split(",") if word.strip().startswith("/")]
    return tuple(words[:1])
