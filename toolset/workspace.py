"""The workspace: the files of a conversation, and commands that work on them. Off unless WORKSPACE_DIR is set."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

import httpx
from pydantic import AfterValidator, BaseModel

from toolset.confined import carrying, reading, writing
from toolset.confined.box import Box, require
from toolset.confined.sandbox import PROGRAMS, NoSandbox, Sandbox
from toolset.confined.workspace import Workspace
from toolset.ordering import OrderedLocks
from toolset.tool import Risk, ToolContext, ToolError

COMMANDS = "ls,cat,head,tail,wc,sort,uniq,cut,tr,grep,diff"
PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
COMMAND_CAP = 1_000  # characters as they are shown: whoever approves a command sees all of it
NOTHING_KEPT = "nothing the command did was kept"
NO_SANDBOX = "commands are switched off: they cannot be confined on this machine"

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


def _programs(value: str) -> str:
    if wrong := [name for name in _split(value) if not PROGRAM.fullmatch(name)]:
        raise ValueError(f"write names of programs, without folders and spaces, not {wrong[0]}")
    return value


def _split(value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


class WorkspaceConfig(BaseModel):
    """Where the folders are, what may be run in them, and what must not be seen there."""

    workspace_dir: str = ""
    kaiwa_data_dir: str = ".kaiwa"
    workspace_commands: Annotated[str, AfterValidator(_programs)] = COMMANDS


class _InWorkspace:
    """What the family shares."""

    Config: ClassVar[type[BaseModel]] = WorkspaceConfig

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: WorkspaceConfig) -> Self | None:
        """None without a folder to work in."""
        return cls(Workspace.at(config.workspace_dir)) if config.workspace_dir else None

    async def forget(self, conversation: str) -> int:
        """Delete the conversation's folder; how many files were in it."""
        return await asyncio.to_thread(self._workspace.forget, conversation)

    async def _in_folder(self, context: ToolContext, work: Callable[[int], Answer]) -> Answer:
        """Do something with the conversation's open folder, off the event loop, and to its end even when cancelled:
        what follows must not meet it half done."""

        def done() -> Answer:
            with self._workspace.folder(context.conversation) as folder:
                return work(folder)

        working = asyncio.ensure_future(asyncio.to_thread(done))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait({working})
            raise


class ReadFile(_InWorkspace):
    """Text by lines."""

    name: ClassVar[str] = "read_file"
    description: ClassVar[str] = (
        "Text of a file in this conversation's workspace. Use it to see what a file holds before you speak about it or "
        "change it. Paths are relative, such as notes/today.txt. For a long file ask for a range of lines."
    )
    risk: ClassVar[Risk] = "low"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Read a file, or some of its lines.

        Raises:
            ToolError: no such file, or no text.
        """
        lines = await self._in_folder(context, lambda folder: reading.lines_of(folder, arguments["path"]))
        first = arguments.get("first_line", 1)
        chosen = lines[first - 1 : arguments.get("last_line")]
        return {
            "content": reading.capped("\n".join(chosen)),
            "first_line": first,
            "last_line": first - 1 + len(chosen),
            "lines_in_file": len(lines),
        }


class ListFiles(_InWorkspace):
    """Files and folders, with all below."""

    name: ClassVar[str] = "list_files"
    description: ClassVar[str] = (
        "Files and folders in this conversation's workspace, with sizes in bytes. Use it to find out what is there, "
        "before you read or write. Without `path` it lists everything."
    )
    risk: ClassVar[Risk] = "low"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """List a folder.

        Raises:
            ToolError: no such folder.
        """
        path = arguments.get("path", "")
        entries, more = await self._in_folder(context, lambda folder: reading.listed(folder, path))
        shown = [
            {"path": entry.path, "kind": entry.kind} | ({"bytes": entry.size} if entry.kind == "file" else {})
            for entry in entries
        ]
        return {"entries": shown, "more": more}


class SearchFiles(_InWorkspace):
    """Plain text, line by line."""

    name: ClassVar[str] = "search_files"
    description: ClassVar[str] = (
        "Lines in the files of this conversation's workspace that contain a text, word for word; no patterns. Use it "
        "to find where something stands. Without `path` it searches everything."
    )
    risk: ClassVar[Risk] = "low"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Search a folder.

        Raises:
            ToolError: no such folder.
        """
        path, text = arguments.get("path", ""), arguments["text"]
        ignore_case = arguments.get("ignore_case", False)
        matches = await self._in_folder(context, lambda folder: reading.search(folder, path, text, ignore_case))
        found = [{"path": match.path, "line": match.line, "text": match.text} for match in matches.found]
        return {"matches": found, "skipped_files": matches.skipped, "more": matches.more}


class WriteFile(_InWorkspace):
    """Whole files; the writes of a conversation happen in the order of their calls, so that its limits hold."""

    name: ClassVar[str] = "write_file"
    description: ClassVar[str] = (
        "Writes a text file in this conversation's workspace, and replaces what it held. Use it when the user wants "
        "something kept in a file or a file changed; read a file before you change it, and write all of it. "
        "Missing folders are made."
    )
    risk: ClassVar[Risk] = "high"
    idempotent: ClassVar[bool] = True

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._locks = OrderedLocks()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Write a file.

        Raises:
            ToolError: it cannot be there, or there is no room.
        """
        path, content = arguments["path"], _encoded(arguments["content"])
        async with self._locks.hold(context.conversation, context):
            await self._in_folder(context, lambda folder: writing.write(folder, path, content, self._workspace.owner))
        return {"path": path, "bytes": len(content)}


class DeleteFile(_InWorkspace):
    """Files, links, and folders with all that is in them."""

    name: ClassVar[str] = "delete_file"
    description: ClassVar[str] = (
        "Deletes a file of this conversation's workspace, or a folder with everything in it. Use it when the user "
        "wants something gone, or agrees to make room in a full workspace."
    )
    risk: ClassVar[Risk] = "high"
    idempotent: ClassVar[bool] = True

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Delete a file or a folder.

        Raises:
            ToolError: there is none.
        """
        path = arguments["path"]
        await self._in_folder(context, lambda folder: writing.delete(folder, path))
        return {"path": path}


class RunCommand(_InWorkspace):
    """A program in its box, with the conversation's files and nothing else.

    Args:
        sandbox: None refuses every command.
    """

    name: ClassVar[str] = "run_command"
    description: ClassVar[str] = (
        "Runs one program on the files of this conversation's workspace, which is its current folder. Use it for what "
        "the other tools cannot do: counting, sorting, comparing. `command` is the program and its arguments, one "
        "each; there is no shell, so no pipes, wildcards or redirections, and no network. An unknown program is "
        "answered with the list of those that may be run. Plain files and folders are kept when the command has ended; "
        "of one that is stopped nothing is."
    )
    risk: ClassVar[Risk] = "high"
    concurrency: ClassVar[int] = 4

    def __init__(self, workspace: Workspace, programs: tuple[str, ...], sandbox: Sandbox | None) -> None:
        super().__init__(workspace)
        self._programs = programs
        self._sandbox = sandbox

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: WorkspaceConfig) -> Self | None:
        """None without a folder to work in; where there is no sandbox, the log says why."""
        if not config.workspace_dir:
            return None
        workspace = Workspace.at(config.workspace_dir)
        return cls(workspace, _split(config.workspace_commands), working_sandbox(workspace, _private(config)))

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Run a command.

        Raises:
            ToolError: it may not be run, or took too much of something.
        """
        sandbox, command = self._require_allowed(arguments["command"])
        archive = await self._in_folder(context, carrying.archived)
        with Box(sandbox, command) as box:
            try:
                finished = await box.run(archive)
                if finished.is_whole:
                    await self._in_folder(
                        context, lambda folder: carrying.keep(box.work, folder, self._workspace.owner)
                    )
            except NoSandbox as reason:
                log.error("sandbox.failed", extra={"cause": str(reason)})
                raise ToolError(NO_SANDBOX) from None
            except ToolError as error:
                raise ToolError(f"{error}; {NOTHING_KEPT}") from error
        stopped = "" if finished.is_whole else f"[stopped: {NOTHING_KEPT}]"
        return {"exit_code": finished.code, "output": finished.output + stopped}

    def _require_allowed(self, command: list[str]) -> tuple[Sandbox, list[str]]:
        if self._sandbox is None:
            raise ToolError(NO_SANDBOX)
        if command[0] not in self._programs:
            raise ToolError(f"only these programs may be run: {', '.join(self._programs) or 'none'}")
        if len(json.dumps(command)) > COMMAND_CAP:
            raise ToolError(f"the command is longer than {COMMAND_CAP} characters; put what is long into a file")
        for word in command:
            if b"\0" in _encoded(word):
                raise ToolError("invalid parameters: command: it has a NUL character")
        return self._sandbox, command


def working_sandbox(workspace: Workspace, private: Iterable[Path], programs: str = PROGRAMS) -> Sandbox | None:
    """A sandbox that has been tried, or none and a word in the log.

    Args:
        private: folders that no command may see.
        programs: where the programs are that make it.
    """
    try:
        sandbox = Sandbox(workspace.owner is not None, private, programs)
        require(sandbox)
    except NoSandbox as reason:
        log.warning("sandbox.unavailable", extra={"cause": str(reason)})
        return None
    return sandbox


def _private(config: WorkspaceConfig) -> list[Path]:
    """Where keys and people's words lie, or may lie."""
    named = [config.workspace_dir, config.kaiwa_data_dir, "~"]
    installed = [Path(__file__).parents[1], *([Path(sys.prefix)] if sys.prefix != sys.base_prefix else [])]
    return [*(Path(os.path.expanduser(name)).absolute() for name in named), Path.cwd(), *installed]


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError("invalid parameters: it has characters that are no Unicode text") from error
