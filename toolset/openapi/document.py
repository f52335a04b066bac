"""OpenAPI documents, versions 3.0 and 3.1 (https://spec.openapis.org): the operations in them, as
tools.

A document may come from strangers: nothing in it is trusted to have the form that it should have.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Literal, cast
from urllib.parse import unquote, urljoin

from toolset.openapi.api_file import (
    HEADER,
    ApiFile,
    Credential,
    Form,
    Operation,
    Parameter,
    Place,
    checked_server,
    has_parameters,
    may_be_header,
)
from toolset.openapi.schemas import JSON, BadDocument, SchemaReader, summary
from toolset.web.json_values import as_list, as_object, target_of

METHODS = ("get", "put", "post", "delete", "patch")
# References to references are followed so far.
MAX_HOPS = 20
MAX_OPERATIONS = 5_000
SCHEMA_CAP = 32 * 1024  # bytes of JSON
ARGUMENT_CAP = 64  # characters of a name
# A name has so many characters; a longer one is cut to so many, and a digest.
TOOL_CAP, TOOL_BEGINNING = 64, 55
DESCRIPTION_CAP = 500
QUERY_FORMS: dict[tuple[str, bool], Form] = {
    ("form", True): "repeated",
    ("form", False): "comma",
    ("spaceDelimited", False): "space",
    ("pipeDelimited", False): "pipe",
    ("deepObject", True): "deep",
}
# This holds path, method, the path's item and the operation.
Found = tuple[str, str, JSON, JSON]


class Document:
    """An OpenAPI document.

    Raises:
        BadDocument: it is none, or of another version.
    """

    def __init__(self, root: Any, name: str) -> None:
        self._root = as_object(root)
        self._name = name
        version = str(self._root.get("openapi", ""))
        if not re.match(r"3\.[01]\b", version):
            found = "none"
            if version:
                found = f"version {version[:20]}"
            elif "swagger" in self._root:
                found = "Swagger 2.0"
            raise BadDocument(
                f"an OpenAPI document of version 3.0 or 3.1 is needed; this is {found}"
            )
        self.operations: dict[str, Found] = {}
        for found_one in self._operations():
            path, method, _, operation = found_one
            given = summary(operation.get("operationId"), 200)
            if not given or given in self.operations:
                given = f"{method.upper()} {summary(path, 200)}"
            self.operations[given] = found_one

    def choose(self, ids: Sequence[str], server: str, source: str) -> ApiFile:
        """The operations as tools.

        Args:
            server: in place of the document's own.
            source: the document's address; its servers may be relative to it.

        Raises:
            BadDocument: an operation is not there or cannot be a tool; the text lists what there
                is.
        """
        if unknown := [one for one in ids if one not in self.operations]:
            known = "\n".join(f"  {one}" for one in self.operations)
            raise BadDocument(
                f"there is no operation {summary(unknown[0], 100)}. There are:\n{known}"
            )
        chosen = [self._operation(one, has_server=bool(server)) for one in dict.fromkeys(ids)]
        needed: dict[str, None] = {}
        for one in chosen:
            needed.update(dict.fromkeys(one.credentials))
        counts = Counter(one.tool for one in chosen)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise BadDocument(f"two operations would be named {min(twice)}; choose one of them")
        return ApiFile(
            self._name, self._server(server, source), self._credentials(list(needed)), chosen
        )

    def _operations(self) -> Iterator[Found]:
        count = 0
        for path, item in as_object(self._root.get("paths")).items():
            item = as_object(self._resolved(item))
            for method in METHODS:
                if isinstance(operation := item.get(method), dict) and path.startswith("/"):
                    yield path, method, item, operation
                    count += 1
                    if count >= MAX_OPERATIONS:
                        return

    def _server(self, given: str, source: str) -> str:
        first = as_object(next(iter(as_list(self._root.get("servers"))), {"url": "/"}))
        address = str(first.get("url", "/"))
        for name, variable in as_object(first.get("variables")).items():
            address = address.replace(f"{{{name}}}", str(as_object(variable).get("default", "")))
        try:
            return checked_server(given or urljoin(source, address))
        except ValueError as error:
            raise BadDocument(
                f"--server: the document names no address that can be used; {error}"
            ) from error

    def _operation(self, operation_id: str, *, has_server: bool) -> Operation:
        path, method, item, operation = self.operations[operation_id]
        if not has_server and (item.get("servers") or operation.get("servers")):
            raise BadDocument(f"{operation_id} has a server of its own; name it with --server")
        try:
            arguments = _Arguments(self)
            for raw in self._parameters(item, operation):
                arguments.add_parameter(raw)
            body_type = arguments.add_body(as_object(self._resolved(operation.get("requestBody"))))
            credentials = self._security(operation)
            arguments.finish(path)
        except BadDocument as error:
            raise BadDocument(f"{operation_id} cannot be a tool: {error}") from error
        return Operation(
            tool=_tool_name(f"{self._name}_{operation_id}"),
            operation=operation_id,
            method=cast(Literal["GET"], method.upper()),
            path=path,
            description=_description(operation, self._name),
            arguments=arguments.schema,
            parameters=arguments.parameters,
            credentials=credentials,
            content_type=body_type,
        )

    def _parameters(self, item: JSON, operation: JSON) -> list[JSON]:
        """Those of the path, then those of the operation, which replace others of the same name and
        place."""
        both = [*as_list(item.get("parameters")), *as_list(operation.get("parameters"))]
        found: dict[tuple[str, str], JSON] = {}
        for one in both:
            parameter = as_object(self._resolved(one))
            found[str(parameter.get("name")), str(parameter.get("in"))] = parameter
        return list(found.values())

    def _security(self, operation: JSON) -> list[str]:
        """The schemes of the first alternative that can be used; empty for none.

        Raises:
            BadDocument: there are only others.
        """
        alternatives = as_list(operation.get("security", self._root.get("security")))
        usable: list[list[str]] = []
        for one in alternatives:
            schemes = list(as_object(one))
            if all(map(self._credential, schemes)):
                usable.append(schemes)
        if alternatives and not usable:
            raise BadDocument("it wants to be signed in to in a way that is not supported")
        return next(filter(None, usable), [])

    def _credentials(self, schemes: list[str]) -> dict[str, Credential]:
        """By scheme; variables are named after the API, and after the scheme where that is not
        enough."""
        found: dict[str, Credential] = {}
        taken: set[str] = set()
        for scheme in schemes:
            credential = self._credential(scheme)
            if credential and taken & set(credential.variables):
                credential = self._credential(
                    scheme, re.sub(r"[^A-Z0-9]+", "_", f"_{scheme.upper()}")
                )
            if credential is None or taken & set(credential.variables):
                raise BadDocument(
                    f"the credential {summary(scheme, 50)} cannot be told from another one"
                )
            found[scheme] = credential
            taken.update(credential.variables)
        return found

    def _credential(self, scheme: str, suffix: str = "") -> Credential | None:
        schemes = as_object(as_object(self._root.get("components")).get("securitySchemes"))
        declared = as_object(self._resolved(schemes.get(scheme)))
        kind = str(declared.get("type", ""))
        place = str(declared.get("in", ""))
        name = str(declared.get("name", ""))
        prefix = f"{self._name.upper()}{suffix}"
        if kind == "apiKey" and place == "query" and name:
            return Credential("query", [f"{prefix}_API_KEY"], name)
        if kind == "apiKey" and place == "header" and HEADER.fullmatch(name):
            return Credential("header", [f"{prefix}_API_KEY"], name)
        if kind == "http" and str(declared.get("scheme")).lower() == "basic":
            return Credential("basic", [f"{prefix}_USERNAME", f"{prefix}_PASSWORD"])
        is_bearer = kind == "http" and str(declared.get("scheme")).lower() == "bearer"
        if is_bearer or kind in ("oauth2", "openIdConnect"):
            return Credential("bearer", [f"{prefix}_TOKEN"])
        return None

    def resolve(self, ref: str) -> Any:
        """What a reference in the document leads to.

        Raises:
            BadDocument: nothing, or another document.
        """
        if not ref.startswith("#/"):
            raise BadDocument(
                f"{summary(ref, 100)} is in another document; put all of it into one first"
            )
        target = target_of(unquote(ref), self._root)
        if target is None:
            raise BadDocument(f"{summary(ref, 100)} leads nowhere")
        return target

    def _resolved(self, node: Any) -> Any:
        for _ in range(MAX_HOPS):
            if not (isinstance(node, dict) and isinstance(ref := node.get("$ref"), str)):
                return node
            node = self.resolve(ref)
        return None


class _Arguments:
    """Collects the arguments of one operation."""

    def __init__(self, document: Document) -> None:
        self.parameters: list[Parameter] = []
        self.schema: JSON = {
            "type": "object",
            "properties": {},
            "required": [],
            "additionalProperties": False,
        }
        self._reader = SchemaReader(document.resolve)

    def add_parameter(self, raw: JSON) -> None:
        """Add one, unless it is optional and cannot be an argument.

        Raises:
            BadDocument: it is required and cannot be an argument.
        """
        name, place = str(raw.get("name", "")), str(raw.get("in", ""))
        if place == "header" and name.lower() in ("accept", "content-type", "authorization"):
            # The specification says so.
            return
        is_required = place == "path" or raw.get("required") is True
        form = _form(raw, place)
        schema = raw.get("schema", True)
        if form == "json":
            schema = as_object(next(iter(as_object(raw.get("content")).values()))).get(
                "schema", True
            )
        bounded = self._reader.bounded(schema) if form else None
        if (
            bounded is None
            or form is None
            or (bounded.get("type") == "object" and form not in ("deep", "json"))
        ):
            if is_required:
                raise BadDocument(
                    f"the parameter {summary(name, 50)} has a form that is not supported"
                )
            return
        self._add(
            raw, Parameter(name, name, cast(Place, place), form), bounded, is_required=is_required
        )

    def add_body(self, raw: JSON) -> str:
        """Add the body; returns its content type.

        Raises:
            BadDocument: it is no JSON, or cannot be said.
        """
        types = as_object(raw.get("content"))
        chosen = next(
            (one for one in types if re.fullmatch(r"application/([\w.+-]+\+)?json(;.*)?", one)), ""
        )
        if not raw or (not chosen and raw.get("required") is not True):
            return "application/json"
        bounded = None
        if chosen:
            bounded = self._reader.bounded(as_object(types.get(chosen)).get("schema", True))
        if bounded is None:
            raise BadDocument("its body is not JSON of a form that is supported")
        parameter = Parameter("body", "body", "body", "json")
        self._add(raw, parameter, bounded, is_required=raw.get("required") is True)
        return chosen.partition(";")[0]

    def finish(self, path: str) -> None:
        """Raises BadDocument: the path has other parameters than declared, or the schema is too
        large."""
        declared = {parameter.name for parameter in self.parameters if parameter.place == "path"}
        if not has_parameters(path, declared):
            raise BadDocument("its path and its parameters do not belong together")
        if len(json.dumps(self.schema)) > SCHEMA_CAP:
            raise BadDocument("its parameters are too large")

    def _add(self, raw: JSON, parameter: Parameter, bounded: JSON, *, is_required: bool) -> None:
        taken = self.schema["properties"]
        plain = (
            re.sub(r"[^A-Za-z0-9_-]+", "_", parameter.name)[:ARGUMENT_CAP].strip("_")
            or parameter.place
        )
        names = (
            plain,
            f"{parameter.place}_{plain}"[:ARGUMENT_CAP],
            *(f"{plain[:58]}_{number}" for number in range(2, 100)),
        )
        argument = next(name for name in names if name not in taken)
        described = summary(raw.get("description"), DESCRIPTION_CAP) or bounded.get(
            "description", ""
        )
        description = described or f"{summary(parameter.name, 100)}, in the {parameter.place}"
        taken[argument] = {**bounded, "description": description}
        if is_required:
            self.schema["required"].append(argument)
        self.parameters.append(Parameter(argument, parameter.name, parameter.place, parameter.form))


def _form(raw: JSON, place: str) -> Form | None:
    """How a parameter is written; None for a way that is not supported."""
    if as_object(raw.get("content")):
        return "json"
    if place == "query":
        style = str(raw.get("style", "form"))
        return QUERY_FORMS.get((style, bool(raw.get("explode", style in ("form", "deepObject")))))
    if place == "header" and not may_be_header(str(raw.get("name"))):
        return None
    if place in ("path", "header") and raw.get("style", "simple") == "simple":
        return "comma"
    return None


def _tool_name(text: str) -> str:
    """A name that every model's vendor takes."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_")
    if len(name) <= TOOL_CAP:
        return name
    return f"{name[:TOOL_BEGINNING]}_{sha256(text.encode(errors='replace')).hexdigest()[:8]}"


def _description(operation: JSON, name: str) -> str:
    title = summary(operation.get("summary"), DESCRIPTION_CAP).rstrip(".")
    details = summary(operation.get("description"), DESCRIPTION_CAP).rstrip(".")
    described = ". ".join(filter(None, dict.fromkeys([title, details])))
    return summary(
        f"{described or 'An operation'}. Use it for what is kept in {name}.", DESCRIPTION_CAP + 100
    )
