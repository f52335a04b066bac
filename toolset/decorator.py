"""``@tool``: makes a tool of a function, of its types and its docstring. What needs more than one
function is a class (``toolset.tool.Tool``).

The schemas are pydantic's. A call is validated by them as that of a class is; then pydantic makes
what the types say of the arguments, such as a date of a text.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from importlib.resources.abc import Traversable
from textwrap import dedent
from typing import Any, ClassVar, Required, TypedDict, TypeVar, Unpack, get_type_hints
from warnings import catch_warnings

import httpx
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from toolset.shown import Shown
from toolset.titles import Words
from toolset.tool import (
    NoConfig,
    Risk,
    Tool,
    ToolContext,
    ToolError,
    ToolSetupError,
    read_schemas,
)

MARK = "declared_as_tool"
MOST_THREADS = 64  # of one tool, those that go on after their time included
SECTION = re.compile(r"^(Args|Returns|Raises|Examples?|Notes?):[ \t]*$", re.MULTILINE)
ENTRY = re.compile(r"^(\w+)[^:\n]*:(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
# Of arguments whose types give no limit: no input is without one.
LIMITS = {
    "string": ("maxLength", 4000),
    "array": ("maxItems", 100),
    "object": ("maxProperties", 100),
}
LIMITED = {"enum", "const", "properties"}
USABLE = "str, int, float, bool, a date, Literal, an Enum, a list of these, or a pydantic model"

JSON = dict[str, Any]
F = TypeVar("F", bound=Callable[..., Any])


class Config(BaseModel):
    """A tool's own variables, such as ``dice_most``, which is read from ``DICE_MOST``."""


class Declared(TypedDict, total=False):
    """What a class declares by attributes; see ``Tool``."""

    risk: Required[Risk]
    name: str
    idempotent: bool
    timeout_s: float
    concurrency: int
    foreign: bool
    per_turn: int
    per_day: int
    strict: bool
    writes: bool
    needs_conversation: bool
    public: bool
    addresses: tuple[str, ...]
    keywords: str
    declares_response: str
    commands: tuple[str, ...]
    titles: Words
    labels: Mapping[str, Words]


def tool(bare: Any = None, /, **declared: Unpack[Declared]) -> Callable[[F], F]:
    """Declare that a function is a tool: ``@tool(risk="low")``. It can be called as before.

    The docstring is the description for the model; its ``Args:`` are those of the parameters. A
    parameter of type ``httpx.AsyncClient``, ``ToolContext`` or a ``Config`` is filled by Kaiwa.
    """

    def mark(function: F) -> F:
        if not inspect.isfunction(function):
            raise TypeError(f"@tool stands above a function, and {function!r} is none")
        setattr(function, MARK, declared)
        return function

    # Without parentheses there is no risk either, which is complained of with file and function.
    return mark if bare is None else mark(bare)


def is_declared(member: object) -> bool:
    """Whether it is a function below ``@tool``."""
    return inspect.isfunction(member) and hasattr(member, MARK)


@cache
def tool_of(function: Callable[..., Any], origin: str) -> type[Tool]:
    """The tool class of a declared function; always the same one.

    Raises:
        ToolSetupError: it cannot be one; the text names origin, function, and what to change.
    """
    try:
        return _tool_of(function)
    except (NameError, TypeError, PydanticUserError) as error:
        reason = " ".join(str(error).split())
        if isinstance(error, NameError):
            reason += "; its types are read at the start: import them, also outside TYPE_CHECKING"
        raise ToolSetupError(f"{origin}: {function.__name__}: {reason}") from error


def is_function(kind: type[Tool]) -> bool:
    """Whether it is the class of a function, and needs no files of schemas."""
    return issubclass(kind, _FunctionTool)


def schemas_of(kind: type[Tool], folder: Traversable | None = None) -> tuple[Any, Any]:
    """The two schemas of a tool, parameters and response; those of a class are files.

    Raises:
        ToolSetupError: a file is missing or is not JSON.
    """
    if issubclass(kind, _FunctionTool):
        return kind.schemas
    return read_schemas(kind.name, folder)


class _FunctionTool(Tool):
    """A function as a tool.

    Attributes:
        given: its parameters that the model does not fill, with their types.
        arguments: a model of the others.
        is_object: it returns an object; else what it returns becomes ``result`` of one.
    """

    schemas: ClassVar[tuple[JSON, JSON]]
    function: ClassVar[Callable[..., Any]]
    given: ClassVar[dict[str, type]]
    arguments: ClassVar[type[BaseModel]]
    returns: ClassVar[TypeAdapter[Any]]
    is_object: ClassVar[bool]

    def __init__(self, http: httpx.AsyncClient, config: BaseModel) -> None:
        self._known: dict[type, Any] = {httpx.AsyncClient: http, self.Config: config}
        # Threads of its own: a function that never ends delays no other tool.
        self._threads = ThreadPoolExecutor(MOST_THREADS)

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: Any) -> _FunctionTool:
        return cls(http, config)

    async def call(self, arguments: JSON, context: ToolContext) -> JSON | Shown:
        """Call the function; in a thread if it is not async."""
        try:
            values = dict(self.arguments.model_validate(arguments))
        except ValidationError as error:  # whose own text quotes the value
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise ToolError(f"invalid parameters: {where}: {first['msg']}") from None
        known = {**self._known, ToolContext: context}
        values |= {name: known[kind] for name, kind in self.given.items()}
        if inspect.iscoroutinefunction(self.function):
            returned = await self.function(**values)
        else:
            work = partial(copy_context().run, self.function, **values)
            returned = await asyncio.get_running_loop().run_in_executor(self._threads, work)
        if isinstance(returned, Shown):
            return returned
        # What does not fit the type is for the response's schema to say.
        written = self.returns.dump_python(returned, mode="json", by_alias=True, warnings=False)
        return written if self.is_object else {"result": written}


class _Schemas(GenerateJsonSchema):
    """Without titles, which repeat names; of arguments, nothing is without a type and a limit."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def any_schema(self, schema: Any) -> JsonSchemaValue:
        if self.mode == "validation":
            return self.handle_invalid_for_json_schema(schema, "anything")
        return super().any_schema(schema)

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        made = super().generate_inner(schema)
        limit = LIMITS.get(made.get("type", ""))
        if limit and self.mode == "validation" and not made.keys() & LIMITED:
            made.setdefault(*limit)
        return made


def _tool_of(function: Callable[..., Any]) -> type[Tool]:
    declared: JSON = getattr(function, MARK)
    if "risk" not in declared:
        low, high = '@tool(risk="low") if it only reads', '@tool(risk="high") if it acts'
        raise TypeError(f"it has no risk; write {low}, {high}")
    if unknown := sorted(declared.keys() - Declared.__annotations__.keys()):
        raise TypeError(f"@tool has no {unknown[0]}; it has {', '.join(Declared.__annotations__)}")
    parameters = inspect.signature(function).parameters
    description, described = _described(function, parameters)
    hints = get_type_hints(function, include_extras=True)
    given, arguments = _read_parameters(parameters, hints)
    schema = arguments.model_json_schema(schema_generator=_Schemas)
    schema |= {"properties": schema.get("properties", {})}
    del schema["title"]
    for name, rule in zip(arguments.model_fields, schema["properties"].values(), strict=True):
        noted = [one for one in getattr(hints[name], "__metadata__", ()) if isinstance(one, str)]
        if text := (*noted, described.get(name, ""))[0]:
            rule.setdefault("description", text)
    configs = {kind for kind in given.values() if issubclass(kind, Config)}
    if len(configs) > 1:
        raise TypeError("it has two types of Config; put their variables into one")
    returns, is_object, response = _read_return(hints.get("return"))
    attributes = {
        "name": function.__name__,
        **declared,
        "description": description,
        "Config": configs.pop() if configs else NoConfig,
        "schemas": (schema, response),
        "function": staticmethod(function),
        "given": given,
        "arguments": arguments,
        "returns": returns,
        "is_object": is_object,
    }
    return type(function.__name__, (_FunctionTool,), attributes)


def _described(
    function: Callable[..., Any], parameters: Iterable[str]
) -> tuple[str, dict[str, str]]:
    """The descriptions of a function and of its parameters."""
    text, *sections = SECTION.split(inspect.getdoc(function) or "")
    if not text.strip():
        raise TypeError("it has no docstring; write what it does and when to use it")
    described: dict[str, str] = {}
    for title, section in zip(sections[::2], sections[1::2], strict=True):
        entries = ENTRY.findall(dedent(section.strip("\n"))) if title == "Args" else ()
        described |= {name: " ".join(words.split()) for name, words in entries}
    for name in described.keys() - set(parameters):
        raise TypeError(f"Args: describes {name}, which is no parameter; rename one of them")
    return " ".join(text.split()), described


def _read_parameters(
    parameters: Mapping[str, inspect.Parameter], hints: JSON
) -> tuple[dict[str, type], type[BaseModel]]:
    """The parameters that Kaiwa fills, and a model of the others."""
    given: dict[str, type] = {}
    fields: JSON = {}
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"the model cannot name {parameter}; write each parameter by itself")
        if name not in hints:
            raise TypeError(f"{name} has no type; write one, such as {name}: str")
        kind = hints[name]
        is_config = inspect.isclass(kind) and issubclass(kind, Config)
        if is_config or kind in (httpx.AsyncClient, ToolContext):
            given[name] = kind
        else:
            _schema(kind, name)
            fields[name] = kind, ... if parameter.default is parameter.empty else parameter.default
    config = ConfigDict(extra="forbid", protected_namespaces=())
    with catch_warnings(action="ignore"):  # of a name that models have too, such as json
        model = create_model("Arguments", __config__=config, **fields)
    for name in fields.keys() - model.model_fields.keys():
        raise TypeError(f"pydantic has no field named {name}; rename the parameter")
    return given, model


def _read_return(kind: Any) -> tuple[TypeAdapter[Any], bool, JSON]:
    """What writes a result, whether that is an object, and the schema of the response."""
    if kind in (None, type(None)):
        raise TypeError("it has no type of what it returns; write one, such as -> str")
    kind = JSON if kind is Shown else kind
    schema = _schema(kind, "what it returns", "serialization")
    is_object = schema.get("type") == "object"
    if not is_object:
        defs = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        schema = {
            "type": "object",
            "properties": {"result": schema},
            "required": ["result"],
            **defs,
        }
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return TypeAdapter(kind), is_object, schema


def _schema(kind: Any, what: str, mode: Any = "validation") -> JSON:
    try:
        return TypeAdapter(kind).json_schema(mode=mode, schema_generator=_Schemas)
    except PydanticUserError as error:
        shown = inspect.formatannotation(kind)
        raise TypeError(f"{what}: {shown} has no JSON Schema; write {USABLE}") from error
