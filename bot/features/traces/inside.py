"""The page ``/inside``: turns as facts, for whoever may see the page, and words for who has
INSIDE_TOKEN as well."""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable
from html import escape
from importlib.resources import files
from string import Template
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import unquote

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import decode, encode
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bot.errors import StoreUnavailable
from bot.features.traces.ask import AskAgain, Refused
from bot.features.traces.question import question_of
from bot.features.traces.reading import (
    TracedTurn,
    TurnWords,
    Wanted,
    find_turn,
    find_turns,
    read_words,
)
from bot.features.traces.records import Act
from bot.features.traces.settings import Config
from bot.features.traces.shown import difference, pretty, step_words, turn_row, turn_steps
from bot.features.traces.store import HOUR_MS, Traces
from bot.http import MEDIA_TYPES, Throttle, read_body, serving
from bot.pipeline.services import Services
from bot.texts import LANGUAGES, preferred_language
from bot.transcript import UNREADABLE

HEADER = "inside-token"
MOST_BODY = 4096
MOST_ROWS = 200
OLDEST = 10  # turns under way that are named
MOST_BEFORE = 20  # turns among which the one before is looked for
NO_STORE = {"Cache-Control": "no-store"}
ID = re.compile(r"[\w-]{1,64}", re.ASCII)
Time = Annotated[int, Meta(ge=0, le=10**14)]
Endpoint = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")


class Query(Struct, frozen=True, forbid_unknown_fields=True):
    """Which turns are listed.

    Attributes:
        where: a conversation or a place, its id or its digest.
        since, until: milliseconds since the epoch.
        usd: at least.
    """

    where: Annotated[str, Meta(max_length=300)] = ""
    channel: Annotated[str, Meta(max_length=64)] = ""
    tool: Annotated[str, Meta(max_length=64)] = ""
    persona: Annotated[str, Meta(max_length=8)] = ""
    failed: Literal["", "1"] = ""
    rated: Literal["", "good", "bad"] = ""
    usd: Annotated[float, Meta(ge=0, le=1_000_000)] = 0.0
    since: Time = 0
    until: Time = 0
    rows: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 100


class StepQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """With what a step is compared."""

    against: Literal["", "step", "turn"] = ""


class AgainBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Which model is asked again."""

    model: Annotated[str, Meta(min_length=1, max_length=200)]


class Inside:
    """The routes of the page (``Feature.routes``).

    Args:
        hours: for which words are kept.
    """

    def __init__(
        self, services: Services, config: Config, traces: Traces, hours: Callable[[], int]
    ) -> None:
        self._services = services
        self._traces = traces
        self._hours = hours
        self._token = config.inside_token.get_secret_value().encode()
        self._tries = Throttle()
        self._ask = AskAgain(services, config, traces)

    def routes(self) -> list[BaseRoute]:
        """The page, its files, and what it asks."""
        step = "/inside/turns/{turn}/steps/{share}/{number}"
        asked: dict[tuple[str, str], Endpoint] = {
            ("GET", "/inside/turns"): self._list,
            ("GET", "/inside/turns/{turn}"): self._turn,
            ("POST", "/inside/token"): self._enter,
            ("GET", step): self._step,
            ("GET", f"{step}/raw"): self._raw,
            ("POST", f"{step}/again"): self._again,
            ("POST", "/inside/turns/{turn}/question"): self._question,
        }
        answered: list[BaseRoute] = []
        for (method, path), endpoint in asked.items():
            answered.append(Route(path, self._answering(endpoint), methods=[method]))
        return [*self._files(), *answered]

    def _files(self) -> list[BaseRoute]:
        static = files(__package__) / "static"
        defaults = self._services.defaults
        page = Template((static / "inside.html").read_text("utf-8")).substitute(
            language=defaults.language, bot_name=escape(defaults.bot_name)
        )
        texts = self._services.texts
        catalogue = {language: texts.table("inside", language) for language in LANGUAGES}
        served = {
            "/inside": serving(page.encode(), "text/html"),
            "/inside/static/texts.json": serving(encode(catalogue), "application/json"),
        }
        for file in static.iterdir():
            if media_type := MEDIA_TYPES.get(file.name.rpartition(".")[2]):
                served[f"/inside/static/{file.name}"] = serving(file.read_bytes(), media_type)
        return [Route(path, endpoint) for path, endpoint in served.items()]

    def _answering(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint, which says in one line why it refuses."""

        async def answer(request: Request) -> Response:
            try:
                return await endpoint(request)
            except Refused as refused:
                language = preferred_language(
                    request.headers.get("accept-language", ""), self._services.defaults.language
                )
                sentence = self._services.texts.get(
                    f"inside.{refused.key}", language, detail=refused.detail
                )
                status = refused.status
            except StoreUnavailable:
                sentence, status = "the store does not answer; try again in a moment", 503
            return JSONResponse({"error": sentence}, status, NO_STORE)

        return answer

    # Facts:

    async def _list(self, request: Request) -> Response:
        query = _converted(dict(request.query_params), Query)
        now = self._traces.clock()
        wanted = Wanted(
            query.since,
            query.until,
            where=await self._traces.digest_of(query.where),
            channel=query.channel,
            tool=query.tool,
            persona=query.persona,
            failed=bool(query.failed),
            rated=query.rated,
            usd=query.usd,
        )
        turns = await find_turns(self._traces, wanted, query.rows + 1)
        lately = await find_turns(self._traces, Wanted(since=max(now - HOUR_MS, 0)))
        under_way = [turn for turn in lately if turn.is_under_way(now)]
        oldest = sorted(under_way, key=lambda turn: turn.at)[:OLDEST]
        return _json(
            {
                "turns": [turn_row(turn, now) for turn in turns[: query.rows]],
                "more": len(turns) > query.rows,
                "under_way": {
                    "count": len(under_way),
                    "oldest": [turn_row(turn, now) for turn in oldest],
                },
                "now": now,
                "readable": bool(self._token),
                "hours": self._hours(),
                "models": self._ask.models,
            }
        )

    async def _turn(self, request: Request) -> Response:
        turn = await self._wanted(request)
        now = self._traces.clock()
        first = turn.first
        steps = turn_steps(turn, now)
        ends = [1, turn.ms]
        ends += [step["began"] + step["ms"] for step in steps]
        shown = {
            "version": first.version,
            "shares": len(turn.shares),
            "whole": max(ends),  # what the bars are measured by
            "steps": steps,
        }
        return _json(turn_row(turn, now) | shown)

    async def _wanted(self, request: Request) -> TracedTurn:
        """The turn in the path."""
        turn_id = request.path_params["turn"]
        turn = await find_turn(self._traces, turn_id) if ID.fullmatch(turn_id) else None
        if turn is None:
            raise Refused(404, "no_turn")
        return turn

    # Words:

    def _check(self, request: Request) -> None:
        """Refuse who has not the token. The right one passes even after too many wrong ones."""
        if not self._token:
            raise Refused(403, "words_off")
        given = unquote(request.headers.get(HEADER, "")[:MOST_BODY])
        if not given:
            raise Refused(403, "words_locked")
        if hmac.compare_digest(given.encode("utf-8", "replace"), self._token):
            return
        address = request.client.host if request.client else ""
        if self._tries.wait_s(address) > 0:
            raise Refused(429, "too_many")
        self._tries.wrong(address)
        raise Refused(403, "wrong_token")

    async def _enter(self, request: Request) -> Response:
        self._check(request)
        return Response(status_code=204, headers=NO_STORE)

    async def _step(self, request: Request) -> Response:
        self._check(request)
        query = _converted(dict(request.query_params), StepQuery)
        turn, kept, place = await self._look(request, "words")
        words = kept.by_fact[place]
        body = kept.body(words.pieces)
        shown = step_words(words, body, kept.cached(words)) | {"damaged": kept.damaged}
        if query.against:
            before = await self._before(turn, kept, place, query.against)
            shown["difference"] = None
            if before is not None and body is not None:
                shown["difference"] = difference(pretty(before), pretty(body))
        return _json(shown)

    async def _raw(self, request: Request) -> Response:
        self._check(request)
        turn, kept, place = await self._look(request, "words")
        words = kept.by_fact[place]
        body = kept.body(words.pieces)
        if body is None:
            raise Refused(404, "incomplete")
        data = body or words.result or words.text.encode()
        return _attachment(data, f"{turn.id}-{place[0]}-{place[1]}.txt")

    async def _again(self, request: Request) -> Response:
        self._check(request)
        body = await read_body(request, MOST_BODY)
        try:
            asked = decode(body or b"", type=AgainBody)
        except UNREADABLE as error:
            raise Refused(400, "bad_input", str(error)) from None
        self._ask.check(asked.model)
        turn, kept, place = await self._look(request, "again")
        return _json(await self._ask.ask(turn, kept, kept.by_fact[place], asked.model))

    async def _question(self, request: Request) -> Response:
        self._check(request)
        turn = await self._wanted(request)
        kept = await self._read(turn, "question")
        return _attachment(question_of(turn, kept).encode(), f"{turn.id}.toml")

    async def _look(
        self, request: Request, what: str
    ) -> tuple[TracedTurn, TurnWords, tuple[str, int]]:
        """The words of the step in the path, once the look at them is in the record of acts."""
        turn = await self._wanted(request)
        places = {
            (share.share, str(number)): (share.share, number) for share, number, _ in turn.facts
        }
        place = places.get((request.path_params["share"], request.path_params["number"]))
        if place is None:
            raise Refused(404, "no_step")
        kept = await self._read(turn, what)
        if place not in kept.by_fact:
            raise Refused(404, "damaged" if kept.damaged else "no_words")
        return turn, kept, place

    async def _read(self, turn: TracedTurn, what: str) -> TurnWords:
        """The words of a turn, once the look at them is in the record of acts."""
        act = Act(self._traces.clock(), turn.id, "page", what)
        await self._traces.keep_acts([act])
        kept = await read_words(self._traces, turn)
        if not kept.by_fact:
            raise Refused(404, "damaged" if kept.damaged else "no_words")
        return kept

    async def _before(
        self, turn: TracedTurn, kept: TurnWords, place: tuple[str, int], against: str
    ) -> bytes | None:
        """The request or response before this one: of this turn, or the last one of the turn before
        in the conversation that asked a model."""
        kind = next(
            fact.kind for share, number, fact in turn.facts if (share.share, number) == place
        )
        if against == "turn":
            wanted = Wanted(conversation=turn.first.conversation, until=turn.at)
            found = await find_turns(self._traces, wanted, MOST_BEFORE)
            asking = [one for one in found if one.asks_model]
            if not asking:
                return None
            turn = asking[0]
            try:
                kept = await self._read(turn, "words")
            except Refused:  # they are deleted
                return None
        last = None
        for share, number, fact in turn.facts:
            if (share.share, number) == place:
                break
            if fact.kind == kind and (share.share, number) in kept.by_fact:
                last = share.share, number
        return kept.body(kept.by_fact[last].pieces) if last else None


def _converted(given: Any, kind: type[T]) -> T:
    """What was asked, checked."""
    try:
        return convert(given, kind, strict=False)
    except ValidationError as error:
        raise Refused(400, "bad_input", str(error)) from None


def _json(content: dict[str, Any]) -> Response:
    return Response(encode(content), media_type="application/json", headers=NO_STORE)


def _attachment(data: bytes, name: str) -> Response:
    headers = NO_STORE | {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, media_type="application/octet-stream", headers=headers)
