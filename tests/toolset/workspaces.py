"""The workspace tools on a folder of a test, as a model gets them."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import toolset
from tests.toolset.contexts import context, http_client
from toolset.confined.workspace import Workspace
from toolset.sources import own_tools
from toolset.tool_map import ToolMap

NAMES = ["delete_file", "list_files", "read_file", "run_command", "search_files", "write_file"]

# What bubblewrap must be able to do where run_command is offered; as root it shows the folder to
# somebody else first.
BOX = [
    "bwrap",
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--ro-bind",
    "/",
    "/",
    "true",
]
SHOWING = ["bwrap", "--dev-bind", "/", "/", "true"]


@lru_cache
def why_no_sandbox() -> str:
    """Why no sandbox can be made here, so that ``run_command`` is not offered; empty where one
    can."""
    if not shutil.which("bwrap"):
        return "no sandbox can be made here: bubblewrap is not installed"
    for trial in [BOX, *([SHOWING] if os.geteuid() == 0 else [])]:
        tried = subprocess.run(trial, capture_output=True)
        if tried.returncode:
            return f"no sandbox can be made here: {tried.stderr.decode()}"
    return ""


@dataclass(frozen=True)
class WorkspaceTools:
    """The tools, and where the files of the test's conversation lie."""

    tools: ToolMap
    folder: Path
    workspace: Workspace

    async def call(
        self, name: str, conversation: str = "console:test", index: int = 0, **arguments: Any
    ) -> Any:
        """The response to a call, an error included."""
        made = replace(context(), conversation=conversation, call_index=index)
        return (await self.tools.call(name, arguments, made)).response

    async def run(self, *command: str) -> Any:
        """The response to a command."""
        return await self.call("run_command", command=list(command))


async def workspace_tools(root: Path, commands: str = "", **more: str) -> WorkspaceTools:
    """The tools of the family on a folder."""
    given = (
        {"workspace_dir": str(root)} | more | ({"workspace_commands": commands} if commands else {})
    )
    async with http_client() as http:
        family = (found for found in own_tools() if found.tool.name in NAMES)
        tools = toolset.build(family, http, lambda config: config(**given))
    workspace = Workspace.at(str(root))
    with workspace.folder("console:test"):
        return WorkspaceTools(tools, workspace.path_of("console:test"), workspace)
