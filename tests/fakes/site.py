"""The page on a real server, with a hand of ours in the model's place that shows and commits turns
step by step."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from bot import texts
from bot.app.openings import commands
from bot.channels import Button, ButtonCard, Delivery, InboundEvent, Reply, say_buttons
from bot.channels.console.channel import Console, Reads
from bot.channels.console.inbound import MOST_UPLOAD
from bot.errors import StoreUnavailable
from bot.features.approvals.questions import Question
from bot.live_events import (
    AnswerRestarted,
    AnswerText,
    Joined,
    LiveEvent,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from bot.store import DeadLetter
from bot.transcript import (
    FileRef,
    Message,
    Text,
    ToolCall,
    ToolResult,
    cards_of,
    choices_of,
    new_id,
)
from bot.web.guard import Guard
from bot.web.health import dead_letters_route
from bot.web.page import PageInfo, page_routes
from bot.web.port import listen
from bot.web.server import serving
from bot.web.signin import SignIn
from tests.bot.features.approvals.asking import card_asking
from tests.bot.harness import ours
from tests.fakes.live import LocalLive
from tests.fakes.stored_files import LocalFiles, LocalUploads
from tests.waiting import until
from toolset.tool_map import ToolMap

AT = 1_763_700_000_000
UNTIL = 1_763_703_600_000  # a question's end


class Site:
    """Page, console and guard as the app mounts them; everything behind them is here, in plain
    sight.

    Attributes:
        away: the store takes and gives nothing.
        history: the committed messages by conversation.
        questions: the open one by conversation.
        letters: what could not be delivered.
        files: of tool calls.
        uploads: of messages.
    """

    def __init__(self, *, demo: bool = False, token: str = "", bot_name: str = "Kaiwa") -> None:
        self.away = False
        self.live = LocalLive()
        self.letters = Letters()
        self.files = LocalFiles("")
        self.uploads = LocalUploads()
        self.history: defaultdict[str, list[Message]] = defaultdict(list)
        self.questions: dict[str, Question] = {}
        self.cards: list[ButtonCard] = []
        self.titles: dict[tuple[str, str], str] = {}
        self._arrivals: asyncio.Queue[tuple[str, InboundEvent]] = asyncio.Queue()
        self._seen: set[str] = set()
        catalogue, none = texts.load(), ToolMap([])
        self._info = PageInfo(
            bot_name,
            "gemini-flash-latest",
            demo,
            "en",
            bool(token),
            MOST_UPLOAD,
            {
                each: tuple(catalogue.table("starter", each).values())[:6]
                for each in texts.LANGUAGES
            },
            commands(none, catalogue),
        )
        self._token = token
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Site]:
        """Serve while the context is open; opened again, at the same address."""
        catalogue = texts.load()
        reads = Reads(self._past, self._cards, self.files, self._title)
        console = Console(self._accept, self.live, reads, catalogue, "en", self.uploads)
        guard = Middleware(
            Guard,
            signin=SignIn(SecretStr(self._token), SecretStr(""), catalogue, self._info.bot_name),
            texts=catalogue,
            language="en",
        )
        routes = [
            *page_routes(self._info, catalogue),
            dead_letters_route(self.letters.count, self.letters.read),
            *console.routes(),
        ]
        file = Route("/files/{name}", self._file)
        self.console = console
        with listen("127.0.0.1", self._port) as sock:
            self._port = sock.getsockname()[1]
            async with serving(
                Starlette(routes=[file, Mount("/", routes=routes, middleware=[guard])]), sock
            ):
                yield self
                console.close()

    @property
    def waiting(self) -> int:
        """How many messages no turn has taken."""
        return self._arrivals.qsize()

    async def watched(self, viewers: int = 1) -> None:
        """Wait until so many pages follow."""
        await until(lambda: self.live.viewers == viewers)

    def open_question(self, turn: Turn) -> str:
        """The id of what this turn waits for."""
        return self.questions[turn.conversation].id

    async def arrival(self) -> InboundEvent:
        """Wait for whatever comes in next."""
        _, arrival = await asyncio.wait_for(self._arrivals.get(), 10)
        return arrival

    async def turn(self) -> Turn:
        """Wait for a message and begin the turn that answers it."""
        conversation, arrival = await asyncio.wait_for(self._arrivals.get(), 10)
        turn = Turn(self, conversation, arrival.message)
        await turn.begin()
        return turn

    async def _file(self, request: Request) -> Response:
        content = self.files.stored.get(request.path_params["name"][:32])
        return Response(content, media_type="image/png") if content else Response(status_code=404)

    async def _accept(self, conversation: str, arrival: InboundEvent) -> bool:
        if self.away:
            raise StoreUnavailable("away")
        if arrival.message.id in self._seen:
            return False
        self._seen.add(arrival.message.id)
        self._arrivals.put_nowait((conversation, arrival))
        return True

    async def _past(self, conversation: str) -> list[Message]:
        if self.away:
            raise StoreUnavailable("away")
        return self.history[conversation]

    def _title(self, name: str, language: str) -> str:
        return self.titles.get((name, language), "")

    async def _cards(self, conversation: str, messages: Sequence[Message]) -> list[ButtonCard]:
        results = [result.response for message in messages for result in message.results]
        keys = [response.get("poll") for response in results]
        shown = [card for card in self.cards if card.buttons or card.key in keys]
        question = self.questions.get(conversation)
        return [*shown, card_asking(question)] if question else shown


class Letters:
    """Dead letters.

    Attributes:
        stored: the newest first.
        asked: how often somebody wanted to know.
    """

    def __init__(self) -> None:
        self.stored: list[DeadLetter] = []
        self.asked = 0

    def add(self, at: int) -> None:
        """Give something up."""
        self.stored.insert(
            0, DeadLetter(f"00-{at}-0", "line:U1:user:U2", "LINE answered 400", b"{}")
        )

    async def count(self) -> int:
        self.asked += 1
        return len(self.stored)

    async def read(self, limit: int) -> list[DeadLetter]:
        return self.stored[:limit]


class Turn:
    """One answer in the making: what it shows, it also puts on record.

    Attributes:
        asked: the message it answers.
    """

    def __init__(self, site: Site, conversation: str, asked: Message) -> None:
        self._site = site
        self.conversation = conversation
        self.asked = asked
        self._id = new_id("turn")
        self._added = [asked]
        self._files: tuple[FileRef, ...] = ()
        self._watcher = site.console.watcher(conversation)

    async def begin(self) -> None:
        await self._watcher.show(TurnStarted(self._id, (self.asked.id,)))

    async def says(self, words: str) -> None:
        """Stream a piece of the answer."""
        await self._watcher.show(AnswerText(words))

    async def begins_again(self) -> None:
        """Send the model's request again."""
        await self._watcher.show(AnswerRestarted())

    async def calls(self, name: str, arguments: dict[str, Any], title: str = "") -> ToolCall:
        """Let a tool run."""
        call = ToolCall(new_id("call"), name, arguments)
        self._added.append(Message(new_id("msg"), "model", (call,), AT))
        await self._watcher.show(ToolStarted(call.id, name, arguments, title))
        return call

    async def returns(
        self,
        call: ToolCall,
        response: dict[str, Any],
        ms: int = 312,
        files: tuple[FileRef, ...] = (),
        **beside: Any,
    ) -> None:
        """Let a tool finish."""
        is_error = "error" in response
        result = ToolResult(call.id, call.name, response, is_error, files=files, **beside)
        self._files += files
        self._added.append(Message(new_id("msg"), "tool", (result,), AT))
        await self._watcher.show(ToolFinished(call.id, call.name, response, is_error, ms))

    async def shows(self, event: LiveEvent) -> None:
        """Show any event."""
        await self._watcher.show(event)

    async def joins(self, message: Message) -> None:
        """Take one more message."""
        self._added.append(message)
        await self._watcher.show(Joined((message.id,)))

    async def asks(self, name: str, arguments: dict[str, Any], *remarks: str) -> ToolCall:
        """Call a tool that acts, and park until somebody has decided."""
        call = await self.calls(name, arguments)
        question = Question(
            new_id("question"), call.id, name, arguments, until=UNTIL, remarks=remarks
        )
        self._site.questions[self.conversation] = question
        await self._deliver(Reply("May I?", card=card_asking(question)))
        return call

    async def goes_on(self) -> None:
        """Somebody has decided: take the turn up again; how it was decided is told with the
        answer."""
        self._settled = self._site.questions.pop(self.conversation)
        await self.begin()

    async def replaces(self, outcome: str) -> None:
        """Tell how it was decided."""
        await self._deliver(Reply(outcome, replaces=self._settled.id))

    def commit(self, text: str) -> None:
        """End the turn on record."""
        answer = Message(new_id("msg"), "model", (Text(text),), AT)
        self._site.history[self.conversation] += [*self._added, answer]

    async def tells(self, text: str, note: str = "", *ratings: Button) -> None:
        """Deliver the reply; with a note, the turn has failed."""
        results = [result for message in self._added for result in message.results]
        beside = cards_of(results), choices_of(results)
        reply = Reply(text, failure=note, files=self._files)
        buttons = (*say_buttons(beside[1]), *ratings)
        await self._deliver(replace(reply, cards=beside[0], buttons=buttons))

    async def refuses(self, text: str) -> None:
        """Tell somebody that their decision does not count."""
        await self._deliver(Reply(text, private=True))

    async def answers(self, text: str, note: str = "") -> None:
        """End the turn on record and tell whoever watches."""
        self.commit(text)
        await self.tells(text, note)

    async def _deliver(self, reply: Reply) -> None:
        await self._site.console.deliver(
            self.conversation, Delivery(new_id("reply"), self._id, reply), ours
        )
