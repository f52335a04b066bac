"""The answer as people see it, or the apology in its place."""

from __future__ import annotations

from functools import partial

import structlog
from msgspec.structs import replace

from bot.agent.loop import Agent
from bot.agent.turn import RecordedResponse, Turn
from bot.channels import MOST_FILES, Reply, say_buttons
from bot.pipeline.feature import Feature
from bot.pipeline.history import own_message
from bot.pipeline.services import Services
from bot.safe_text.links import LinkFilter, source_lists
from bot.texts import language_for
from bot.transcript import FileRef, Message, Text, cards_of, channel_of, choices_of
from toolset.shown import Card

log = structlog.stdlib.get_logger(__name__)

FENCE = "```"


def sentence(services: Services, key: str, turn: Turn) -> str:
    """A sentence of the catalogue in the language of the turn."""
    default = services.default_language(turn.asker.id)
    language = language_for(turn.last_user_text, turn.asker.locale, default)
    return services.texts.get(key, language)


def reply_of(services: Services, turn: Turn, agent: Agent, answer: Message) -> Reply:
    """The answer with its cards, files, buttons and sources; one without text where the model stays
    silent, as it may with background."""
    text = answer.text
    for edit in services.features.hooks(Feature.edit_answer):
        if (edited := edit(text, turn.history)) is None:
            return Reply("")
        text = edited
    links = agent.provenance(turn).link_filter(turn.context.withheld)
    if links and (safe := links.text(text)) != text:
        text = safe
        # Without the vendor's own form, so that the model reads what people have read.
        answer = replace(answer, parts=(Text(text),), opaque=None)
    cut = "" if turn.stop_reason == "end_turn" else sentence(services, "reply.cut", turn)
    footer = "\n\n".join(source_lists(turn.grounding, partial(sentence, services, turn=turn)))
    turn.added[-1] = replace(answer, footer=footer)
    shown, files = turn.shown, list[FileRef]()
    for result in shown:
        files += result.files
    reply = Reply(
        "\n\n".join(filter(None, (text, cut, footer))),
        files=tuple(files[-MOST_FILES:]),
        cards=cards_of(shown),
        buttons=say_buttons(choices_of(shown)),
    )
    return _without_links(reply, links) if links else reply


async def apologise(
    services: Services, turn: Turn, agent: Agent, failure: str, cause: str
) -> Reply | None:
    """The apology, after which the turn is complete; None if all its messages were taken back
    meanwhile."""
    log.warning("turn.apologised", apology=failure, cause=cause)
    await services.alerts.notice_failure(failure, cause)
    stopped = failure == "stopped"
    channel = services.channels[channel_of(turn.context.conversation)]
    shown = "".join(turn.unfinished).strip() if channel.abilities.streams else ""
    await agent.close(turn, stopped=stopped)
    if stopped:
        await turn.check_inbox(certain=True)  # the apology answers the stop
    if turn.withdrawn:
        return None
    apology = sentence(services, f"apology.{failure}", turn)
    if stopped and shown:
        mark = sentence(services, "reply.stopped", turn)
        apology = f"{_with_closed_fence(shown)}\n\n{mark}"
    # Recorded by the commit only: after a crash the turn goes on, and may succeed.
    turn.restore(RecordedResponse(own_message(apology), "end_turn"))
    return Reply(apology, failure="" if stopped else cause or failure)


def _without_links(reply: Reply, links: LinkFilter) -> Reply:
    """The reply without composed links in what is shown below its text."""
    cards, files = [], []
    for card in reply.cards:
        rows = tuple((links.text(label), links.text(value)) for label, value in card.rows)
        cards.append(Card(links.text(card.title), rows, links.text(card.note), card.key))
    for file in reply.files:
        files.append(replace(file, name=links.text(file.name), text=links.text(file.text)))
    buttons = say_buttons(links.text(button.value) for button in reply.buttons)
    return replace(reply, cards=tuple(cards), files=tuple(files), buttons=buttons)


def _with_closed_fence(markdown: str) -> str:
    """The text; a code block that it leaves open is closed, so that what follows is not part of
    it."""
    fences = sum(line.lstrip().startswith(FENCE) for line in markdown.splitlines())
    return f"{markdown}\n{FENCE}" if fences % 2 else markdown
