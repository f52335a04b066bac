"""Workspace tools: the files of a conversation, and commands that work on them. Off unless
WORKSPACE_DIR is set."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

import httpx
from pydantic import AfterValidator, BaseModel

from toolset.confined import files
from toolset.confined.archive import copy_back, pack
from toolset.confined.box import Box, check_sandbox
from toolset.confined.sandbox import PROGRAMS, NoSandbox, Sandbox
from toolset.confined.workspace import Workspace
from toolset.shares import Shares
from toolset.titles import Words, words
from toolset.tool import Tool, ToolContext, ToolError, truncated

COMMANDS = "ls,cat,head,tail,wc,sort,uniq,cut,tr,grep,diff"
PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
COMMAND_CAP = 1_000  # characters of JSON: the approval question shows all of it
NOTHING_KEPT = "nothing the command did was kept"
NO_SANDBOX = "commands cannot be confined on this machine now"

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


def _check_programs(value: str) -> str:
    if wrong := [name for name in _split(value) if not PROGRAM.fullmatch(name)]:
        raise ValueError(f"write names of programs, without folders and spaces, not {wrong[0]}")
    return value


def _split(value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


class WorkspaceConfig(BaseModel):
    """The folder of all workspaces, the programs that may be run, and Kaiwa's own folder, which is
    hidden from them."""

    workspace_dir: str = ""
    kaiwa_data_dir: str = ".kaiwa"
    workspace_commands: Annotated[str, AfterValidator(_check_programs)] = COMMANDS


class _InWorkspace(Tool):
    """What all workspace tools share."""

    Config = WorkspaceConfig
    needs_conversation = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: WorkspaceConfig) -> Self | None:
        """None without WORKSPACE_DIR."""
        return cls(Workspace.at(config.workspace_dir)) if config.workspace_dir else None

    async def forget(self, conversation: str) -> int:
        """Delete the conversation's folder; returns the number of its files."""
        return await asyncio.to_thread(self._workspace.forget, conversation)

    async def _with_folder(self, context: ToolContext, work: Callable[[int], Answer]) -> Answer:
        """Call ``work`` in a thread with the conversation's open folder; a cancelled call waits
        until it has ended."""

        def call() -> Answer:
            with self._workspace.folder(context.conversation) as folder:
                return work(folder)

        working = asyncio.ensure_future(asyncio.to_thread(call))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait({working})
            raise


class ReadFile(_InWorkspace):
    """Reads a text file by lines."""

    name = "read_file"
    description = (
        "Text of a file in this conversation's workspace. Use it to see what a file holds before "
        "you speak about it or change it. Paths are relative, such as notes/today.txt. For a long "
        "file ask for a range of lines."
    )
    risk = "low"
    titles = words(en="Read a file", ja="ファイルを読む")

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Read a file, or some of its lines.

        Raises:
            ToolError: no such file, or no text.
        """
        lines = await self._with_folder(
            context, lambda folder: files.read_lines(folder, arguments["path"])
        )
        first = arguments.get("first_line", 1)
        chosen = lines[first - 1 : arguments.get("last_line")]
        return {
            "content": truncated("\n".join(chosen).encode(), files.TEXT_CAP),
            "first_line": first,
            "last_line": first - 1 + len(chosen),
            "lines_in_file": len(lines),
        }


class ListFiles(_InWorkspace):
    """Lists files and folders recursively."""

    name = "list_files"
    description = (
        "Files and folders in this conversation's workspace, with sizes in bytes. Use it to find "
        "out what is there, "
        "before you read or write. Without `path` and `glob` it lists everything."
    )
    risk = "low"
    titles = words(en="List files", ja="ファイル一覧")

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """List a folder.

        Raises:
            ToolError: no such folder, or a wrong glob.
        """
        path, glob = arguments.get("path", ""), arguments.get("glob", "")
        entries, more = await self._with_folder(
            context, lambda folder: files.list_entries(folder, path, glob)
        )
        shown = [
            {"path": entry.path, "kind": entry.kind}
            | ({"bytes": entry.size} if entry.kind == "file" else {})
            for entry in entries
        ]
        return {"entries": shown, "more": more}


class SearchFiles(_InWorkspace):
    """Searches files for a text or a regular expression."""

    name = "search_files"
    description = (
        "Lines in the files of this conversation's workspace that contain a text, word for word, "
        "or with `regex` fit a regular expression. Use it to find where something stands. Without "
        "`path` it searches everything."
    )
    risk = "low"
    titles = words(en="Search files", ja="ファイルを検索")

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Search a folder.

        Raises:
            ToolError: no such folder, no regular expression, or the search takes too long.
        """
        ignore_case, is_regex = arguments.get("ignore_case", False), arguments.get("regex", False)

        def search(folder: int) -> dict[str, Any]:
            fits = files.line_matcher(arguments["text"], ignore_case=ignore_case, is_regex=is_regex)
            return files.search(folder, arguments.get("path", ""), fits)

        return await self._with_folder(context, search)


class WriteFile(_InWorkspace):
    """Writes whole files; one after another within a conversation, so that its limits hold."""

    name = "write_file"
    description = (
        "Writes a text file in this conversation's workspace, and replaces what it held. Use it "
        "when the user wants something kept in a file or a file changed; read a file before you "
        "change it, and write all of it. Missing folders are made."
    )
    risk = "high"
    titles = words(en="Write a file", ja="ファイルに書き込む")
    labels: ClassVar[Mapping[str, Words]] = {
        "path": words(en="File", ja="ファイル"),
        "content": words(en="Content", ja="内容"),
    }
    idempotent = True

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._locks = Shares(1)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Write a file.

        Raises:
            ToolError: the path is not allowed, or the workspace is full.
        """
        path, content = arguments["path"], _encode(arguments["content"])
        async with self._locks.of(context.conversation):
            await self._with_folder(
                context, lambda folder: files.write(folder, path, content, self._workspace.owner)
            )
        return {"path": path, "bytes": len(content)}


class DeleteFile(_InWorkspace):
    """Deletes files, links, and folders with their content."""

    name = "delete_file"
    description = (
        "Deletes a file of this conversation's workspace, or a folder with everything in it. Use "
        "it when the user wants something gone, or agrees to make room in a full workspace."
    )
    risk = "high"
    titles = words(en="Delete a file or folder", ja="ファイルかフォルダーを削除")
    labels: ClassVar[Mapping[str, Words]] = {"path": words(en="Path", ja="場所")}
    idempotent = True

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Delete a file or a folder.

        Raises:
            ToolError: there is none.
        """
        path = arguments["path"]
        await self._with_folder(context, lambda folder: files.delete(folder, path))
        return {"path": path}


class RunCommand(_InWorkspace):
    """Runs a program in a sandbox with the conversation's files only."""

    name = "run_command"
    description = (
        "Runs one program on the files of this conversation's workspace, which is its current "
        "folder. Use it for what the other tools cannot do: counting, sorting, comparing. "
        "`command` is the program and its arguments, one each; there is no shell, so no pipes, "
        "wildcards or redirections, and no network. An unknown program is answered with the list "
        "of those that may be run. Plain files and folders are kept when the command has ended; of "
        "one that is stopped nothing is."
    )
    risk = "high"
    titles = words(en="Run a command", ja="コマンドを実行")
    labels: ClassVar[Mapping[str, Words]] = {"command": words(en="Command", ja="コマンド")}
    concurrency = 4

    def __init__(self, workspace: Workspace, programs: tuple[str, ...], sandbox: Sandbox) -> None:
        super().__init__(workspace)
        self._programs = programs
        self._sandbox = sandbox

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: WorkspaceConfig) -> Self | None:
        """None without WORKSPACE_DIR, and where no sandbox works; then the log says why."""
        if not config.workspace_dir:
            return None
        workspace = Workspace.at(config.workspace_dir)
        sandbox = open_sandbox(workspace, _private_folders(config))
        return cls(workspace, _split(config.workspace_commands), sandbox) if sandbox else None

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Run a command.

        Raises:
            ToolError: it is not allowed, or exceeded a limit.
        """
        command = arguments["command"]
        self._require_allowed(command)
        archive = await self._with_folder(context, pack)
        with Box(self._sandbox, command) as box:
            try:
                finished = await box.run(archive)
                if finished.is_whole:
                    await self._with_folder(
                        context, lambda folder: copy_back(box.work, folder, self._workspace.owner)
                    )
            except NoSandbox as reason:
                log.error("sandbox.failed", extra={"cause": str(reason)})
                raise ToolError(NO_SANDBOX) from None
            except ToolError as error:
                raise ToolError(f"{error}; {NOTHING_KEPT}") from error
        stopped = "" if finished.is_whole else f"[stopped: {NOTHING_KEPT}]"
        return {"exit_code": finished.code, "output": finished.output + stopped}

    def _require_allowed(self, command: list[str]) -> None:
        if command[0] not in self._programs:
            raise ToolError(
                f"only these programs may be run: {', '.join(self._programs) or 'none'}"
            )
        if len(json.dumps(command)) > COMMAND_CAP:
            raise ToolError(
                f"the command is longer than {COMMAND_CAP} characters; put what is long into a file"
            )
        for word in command:
            if b"\0" in _encode(word):
                raise ToolError("invalid parameters: command: it has a NUL character")


def open_sandbox(
    workspace: Workspace, private: Iterable[Path], programs: str = PROGRAMS
) -> Sandbox | None:
    """Open a sandbox and try it; None where it does not work, which is logged.

    Args:
        private: folders that no command may see.
        programs: search path for the programs of the sandbox itself.
    """
    try:
        sandbox = Sandbox(workspace.owner is not None, private, programs)
        check_sandbox(sandbox)
    except NoSandbox as reason:
        log.warning("sandbox.unavailable", extra={"cause": str(reason)})
        return None
    return sandbox


def _private_folders(config: WorkspaceConfig) -> list[Path]:
    """Folders that may hold keys or conversations."""
    named = [config.workspace_dir, config.kaiwa_data_dir, "~"]
    installed = [
        Path(__file__).parents[1],
        *([Path(sys.prefix)] if sys.prefix != sys.base_prefix else []),
    ]
    return [*(Path(os.path.expanduser(name)).absolute() for name in named), Path.cwd(), *installed]


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError("invalid parameters: it has characters that are no Unicode text") from error
