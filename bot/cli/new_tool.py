"""``kaiwa tools new``: writes a working tool and its test, as a start: a function, or a class with
its two schemas."""

from __future__ import annotations

import json
import keyword
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from string import Template

import toolset
from bot.cli.as_typed import program
from bot.errors import BadInput
from toolset.openapi.api_file import read_api_files
from toolset.sources import folder_tools, installed_tools, own_tools
from toolset.tool import ToolSetupError
from toolset.tool_map import FIND_TOOLS

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
OWN = Path(toolset.__file__).parent
# The written file uses these names.
TAKEN = {
    "Any",
    "BaseModel",
    "Tool",
    "ToolContext",
    "ToolError",
    "str",
}

FUNCTION = Template('''\
"""``$name``: what it does, in one sentence."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from toolset.decorator import tool
from toolset.tool import ToolError


@tool(risk="low")  # low reads, high acts: a person is asked before each call
async def $name(text: Annotated[str, Field(min_length=1, max_length=200)]) -> str:
    """Gives a text back in capitals. Use it when somebody wants to have a text shouted.

    Args:
        text: The text, in the user's words.

    Raises:
        ToolError: with a text for the model.
    """
    if not text.strip():
        raise ToolError("there is nothing to shout")
    return text.strip().upper()
''')

CLASS = Template('''\
"""``$name``: what it does, in one sentence."""

from __future__ import annotations

from typing import Any

import httpx
from pydantic import BaseModel

from toolset.tool import Tool, ToolContext, ToolError


class ${kind}Config(BaseModel):
    """The tool's own variables: a field ``$name`` would be read from ``$variable`` or .env."""


class $kind(Tool):
    """Gives a text back in capitals."""

    name = "$name"
    description = (
        "Gives a text back in capitals. Use it when somebody wants to have a text shouted."
    )
    risk = "low"  # low reads, high acts: a person is asked before each call
    Config = ${kind}Config

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: ${kind}Config) -> $kind:
        """Keep what ``call`` needs: ``http`` is shared by all tools, ``config`` the variables."""
        return cls()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Do the work with arguments that fit the schema.

        Raises:
            ToolError: with a text for the model.
        """
        text = arguments["text"].strip()
        if not text:
            raise ToolError("there is nothing to shout")
        return {"text": text.upper()}
''')

PARAMETERS = {
    "type": "object",
    "properties": {
        "text": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "description": "The text, in the user's words.",
        }
    },
    "required": ["text"],
    "additionalProperties": False,
}

RESPONSE = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "The text in capitals."}},
    "required": ["text"],
    "additionalProperties": False,
}

TEST = Template('''\
"""``$name``, called as a model calls it."""

from __future__ import annotations
$imports

def test_it_answers() -> None:
    """What fits the schema gets the tool's own response."""
    assert call_tool("$name", {"text": "hello"}$folder).response == {"$result": "HELLO"}


def test_it_refuses_in_words_for_the_model() -> None:
    """A ToolError is a result."""
    result = call_tool("$name", {"text": " "}$folder)
    assert result.response == {"error": "there is nothing to shout"}


def test_what_does_not_fit_the_schema_never_reaches_it() -> None:
    """The model reads which argument is wrong."""
    error = call_tool("$name", {"text": 1}$folder).response["error"]
    assert error == "invalid parameters: text: 1 is not of type 'string'"
''')

OWN_IMPORTS = """
from toolset.testing import call_tool
"""
FOLDER_IMPORTS = """
from pathlib import Path

from toolset.testing import call_tool

FOLDER = Path(__file__).parents[1]
"""

STEPS = Template("""\
$files

It works as it is. Change the work, $schemas, and the description: it says when to use the tool.
Try it:

  $call
  $test""")


@dataclass(frozen=True, slots=True)
class Written:
    """The files of a new tool; a function has no schemas."""

    tool: Path
    schemas: Path
    test: Path


def write_tool(name: str, folder: Path, *, as_function: bool = False) -> Written:
    """Write a new tool into ``toolset/``, whose schemas and tests are beside it, or into another
    folder of tools.

    Args:
        as_function: in place of a class with its schemas.

    Raises:
        BadInput: the name is not allowed or taken, a file exists already, or the folder cannot be
            written.
    """
    kind = "".join(map(str.capitalize, name.split("_")))
    if (
        not NAME.fullmatch(name)
        or keyword.iskeyword(name)
        or keyword.iskeyword(kind)
        or {name, kind} & TAKEN
    ):
        raise BadInput(
            f"NAME: {name!r} cannot be used; write small letters, digits and _, such as roll_dice"
        )
    own = folder.resolve() == OWN
    root, tests = folder, folder / "tests"
    if own:
        root = folder.parent
        tests = root / "tests" / "toolset"
    written = Written(folder / f"{name}.py", root / "schemas" / name, tests / f"test_{name}.py")
    for path in (written.tool, written.tool.with_suffix(""), written.schemas, written.test):
        if path.exists():
            raise BadInput(f"{path} is there already; choose another name, or move it away")
    _refuse_taken(name, folder)
    values = {"name": name, "kind": kind, "variable": name.upper()}
    values["result"] = "result" if as_function else "text"
    if own:
        test = TEST.substitute(values, imports=OWN_IMPORTS, folder="")
    else:
        test = TEST.substitute(values, imports=FOLDER_IMPORTS, folder=", FOLDER")
    texts = {
        written.tool: (FUNCTION if as_function else CLASS).substitute(values),
        written.test: test,
    }
    if not as_function:
        texts[written.schemas / "parameters.json"] = _json(PARAMETERS)
        texts[written.schemas / "response.json"] = _json(RESPONSE)
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written to ({error.strerror})") from error
    return written


def _refuse_taken(name: str, folder: Path) -> None:
    """Refuse the name of another tool: with two of one name, nothing that loads the tools starts
    any more."""
    origins = {FIND_TOOLS: "Kaiwa"}
    for found in (*own_tools(), *installed_tools()):
        origins[found.tool.name] = found.origin
    # Half a tool in the folder must not stop the next one.
    with suppress(ToolSetupError):
        for found in folder_tools(folder):
            origins[found.tool.name] = found.origin
    with suppress(ToolSetupError):
        for path, api in read_api_files(folder):
            origins.update(dict.fromkeys((one.tool for one in api.operations), str(path)))
    if name in origins:
        raise BadInput(
            f"NAME: {name} is the name of a tool already ({origins[name]}); choose another name"
        )


def next_steps(written: Written, tools_dir: Path | None) -> str:
    """The next commands; they set TOOLS_DIR for a folder that Kaiwa does not read yet."""
    folder, name = written.tool.parent, written.tool.stem
    setting = f"TOOLS_DIR={shlex.quote(str(folder))} "
    if folder.resolve() == OWN or (tools_dir and folder.resolve() == tools_dir.resolve()):
        setting = ""
    schemas = sorted(written.schemas.glob("*.json"))
    return STEPS.substitute(
        files="\n".join(map(str, (written.tool, *schemas, written.test))),
        schemas="the schemas" if schemas else "the types",
        call=f"""{setting}kaiwa tools call {name} '{{"text": "hello"}}'""",
        test=f"{_test_command()} {shlex.quote(str(written.test))}",
    )


def _test_command() -> str:
    """What runs a test here; pytest is one of the tools that ``make dev`` installs, and ``make
    run`` does not."""
    if find_spec("pytest"):
        return program("pytest")
    checkout = own_folder()
    if checkout is None:
        return f"{program('python')} -m pip install pytest && {program('python')} -m pytest"
    root = checkout.parent
    make = "make dev" if root == Path.cwd() else f"make -C {shlex.quote(str(root))} dev"
    return f"{make} && {program('python')} -m pytest"


def own_folder() -> Path | None:
    """``toolset/`` of a checkout; None for an installed package, which is not to be changed."""
    return OWN if (OWN.parent / "pyproject.toml").is_file() else None


def _json(schema: object) -> str:
    return f"{json.dumps(schema, indent=2)}\n"
