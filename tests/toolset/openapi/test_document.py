"""OpenAPI documents: what becomes of their operations and schemas, also where nothing has the form
it should have."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.fakes.pets import document
from toolset.openapi.api_file import ApiFile, Credential, Parameter
from toolset.openapi.document import Document
from toolset.openapi.schemas import MAX_NODES, BadDocument

ANY = {"type": ["string", "number", "boolean", "null"], "maxLength": 2000}


def api(
    operation: dict[str, Any], *, path: str = "/x", method: str = "get", **parts: Any
) -> ApiFile:
    """The only operation of a document, chosen."""
    root = {
        "openapi": "3.1.0",
        "servers": [{"url": "https://api.example"}],
        "paths": {path: {method: operation}},
    }
    made = Document({**root, **parts}, "my")
    return made.choose(list(made.operations), "", "")


def argument(schema: Any, **parts: Any) -> Any:
    """What becomes of the schema of an optional query parameter; None if it is left out."""
    raw = {"name": "q", "in": "query", "content": {"application/json": {"schema": schema}}}
    made = api({"parameters": [raw]}, **parts).operations[0].arguments
    Draft202012Validator.check_schema(made)
    found = made["properties"].get("q")
    if found:
        assert found.pop("description")
    return found


@pytest.mark.parametrize(
    ("schema", "bounded"),
    [
        (True, ANY),
        ({}, ANY),
        (False, None),
        (7, None),
        ({"type": "string"}, {"type": "string", "maxLength": 2000}),
        (
            {"type": "string", "maxLength": 10**9, "minLength": 3},
            {"type": "string", "maxLength": 10_000, "minLength": 3},
        ),
        (
            {"type": "string", "pattern": "(a+)+$", "format": "date"},
            {"type": "string", "maxLength": 2000},
        ),
        ({"type": "string", "maxLength": "x"}, {"type": "string", "maxLength": 2000}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"], "maxLength": 2000}),
        (
            {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
            {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
        ),
        (
            {"type": "number", "maximum": 9, "exclusiveMaximum": True, "multipleOf": 0.5},
            {"type": "number", "exclusiveMaximum": 9},
        ),
        ({"type": "boolean"}, {"type": "boolean"}),
        ({"type": "file"}, ANY),
        ({"enum": ["a", 1, None, {"no": 1}]}, {"enum": ["a", 1, None]}),
        ({"const": "a"}, {"enum": ["a"]}),
        ({"type": "array"}, {"type": "array", "items": ANY, "maxItems": 50}),
        (
            {"items": {"type": "integer"}, "maxItems": 3, "minItems": 1},
            {"type": "array", "items": {"type": "integer"}, "maxItems": 3, "minItems": 1},
        ),
        (
            {"type": "object"},
            {
                "type": "object",
                "additionalProperties": ANY,
                "maxProperties": 50,
                "propertyNames": {"maxLength": 100},
            },
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"type": "object", "properties": {}, "additionalProperties": False},
        ),
        (
            {
                "properties": {"a": {"type": "boolean"}, "b": False},
                "additionalProperties": True,
                "required": ["a", 7],
            },
            {
                "type": "object",
                "properties": {"a": {"type": "boolean"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
        ({"properties": {"a": False}, "required": ["a"]}, None),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}, False], "nullable": True},
            {
                "anyOf": [
                    {"type": "string", "maxLength": 2000},
                    {"type": "integer"},
                    {"type": "null"},
                ]
            },
        ),
        ({"anyOf": [False], "type": "boolean"}, {"type": "boolean"}),
        (
            {
                "allOf": [
                    {"properties": {"a": {"type": "null"}}},
                    {"properties": {"b": {"type": "null"}}, "required": ["b"]},
                ]
            },
            {
                "type": "object",
                "properties": {"a": {"type": "null"}, "b": {"type": "null"}},
                "required": ["b"],
                "additionalProperties": False,
            },
        ),
        ({"allOf": [{"allOf": [{"type": "boolean"}]}, 7]}, {"type": "boolean"}),
    ],
)
def test_every_schema_has_limits(schema: Any, bounded: Any) -> None:
    """And is one of Draft 2020-12, whichever version it was written in."""
    assert argument(schema) == bounded


def test_references_are_followed_and_end() -> None:
    """Escaped ones, those into lists, those in allOf, and those that lead back."""
    components = {
        "a/b~c": {"type": "boolean", "title": "A title"},
        "list": {"anyOf": [{"type": "integer"}]},
        "tree": {
            "type": "object",
            "properties": {"leaf": {"type": "null"}, "inner": {"$ref": "#/components/tree"}},
        },
        "must": {
            "type": "object",
            "properties": {"me": {"$ref": "#/components/must"}},
            "required": ["me"],
        },
        "whole": {"allOf": [{"$ref": "#/components/tree"}, {"$ref": "#/components/whole"}]},
        "circle": {"$ref": "#/components/circle"},
    }
    leaf = {
        "type": "object",
        "properties": {"leaf": {"type": "null"}},
        "required": [],
        "additionalProperties": False,
    }
    expected = {
        "a~1b~0c": {"type": "boolean"},
        "list/anyOf/0": {"type": "integer"},
        "tree": leaf,
        "must": None,
        "whole": {**leaf, "properties": {"leaf": {"type": "null"}, "inner": leaf}},
        "circle": None,
    }
    for name, bounded in expected.items():
        assert argument({"$ref": f"#/components/{name}"}, components=components) == bounded, name


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("other.json#/Pet", "is in another document"),
        ("https://evil.example/#/Pet", "is in another document"),
        ("#/components/none", "leads nowhere"),
        ("#/servers/9", "leads nowhere"),
    ],
)
def test_a_reference_that_cannot_be_followed_is_an_error(ref: str, reason: str) -> None:
    """Nothing is fetched."""
    with pytest.raises(BadDocument, match=reason):
        argument({"$ref": ref})


def test_schemas_that_explode_are_refused_soon() -> None:
    """A page of references may stand for more than there are atoms."""
    deep = {
        f"s{n}": {"properties": {f"p{i}": {"$ref": f"#/components/s{n + 1}"} for i in range(50)}}
        for n in range(9)
    }
    wide = {f"s{n}": {"allOf": [{"$ref": f"#/components/s{n + 1}"}] * 100} for n in range(9)}
    started = time.monotonic()
    for components in (deep, wide):
        with pytest.raises(BadDocument, match="its parameters are too large"):
            argument(
                {"$ref": "#/components/s0"}, components={**components, "s9": {"type": "string"}}
            )
    with pytest.raises(BadDocument, match="too large"):
        argument({"properties": {f"p{n}": {} for n in range(101)}})
    with pytest.raises(BadDocument, match="too large"):
        argument({"enum": ["x" * 400] * 150})
    nested: Any = {"type": "string"}
    for _ in range(MAX_NODES // 4):
        nested = {"type": "array", "items": nested}
    assert argument(nested)["type"] == "array"
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("raw", "form"),
    [
        ({"in": "query"}, "repeated"),
        ({"in": "query", "explode": False}, "comma"),
        ({"in": "query", "style": "spaceDelimited", "explode": False}, "space"),
        ({"in": "query", "style": "pipeDelimited", "explode": False}, "pipe"),
        ({"in": "query", "style": "deepObject", "schema": {"type": "object"}}, "deep"),
        ({"in": "query", "content": {"application/json": {}}}, "json"),
        ({"in": "header"}, "comma"),
        ({"in": "query", "style": "matrix"}, None),
        ({"in": "query", "schema": {"type": "object"}}, None),
        ({"in": "header", "name": "Content-Length"}, None),
        ({"in": "header", "name": "a b"}, None),
        ({"in": "cookie"}, None),
        ({"in": 7}, None),
    ],
)
def test_a_parameter_has_a_form_or_is_left_out(raw: dict[str, Any], form: str | None) -> None:
    """A required one that cannot be written makes the operation unusable."""
    named = {"name": "p", "schema": {"type": "string"}, **raw}
    parameters = api({"parameters": [named]}).operations[0].parameters
    assert [parameter.form for parameter in parameters] == ([form] if form else [])
    if not form:
        with pytest.raises(BadDocument, match="has a form that is not supported"):
            api({"parameters": [{**named, "required": True}]})


def test_names_are_those_that_models_take_and_differ() -> None:
    """The same name in another place, and names with other characters."""
    raw = [
        {"name": "id", "in": "path", "required": True},
        {"name": "id", "in": "query", "description": "A\n\x1b[31mtext  of two lines"},
        {"name": "filter[id]", "in": "query"},
        {"name": "filter(id)", "in": "query"},
        {"name": "query_filter_id", "in": "query"},
        {"name": "犬", "in": "query"},
        {"name": "Accept", "in": "header", "required": True},
        "nonsense",
    ]
    made = api({"parameters": raw, "operationId": "x" * 100}, path="/x/{id}").operations[0]
    assert made.parameters == [
        Parameter("id", "id", "path", "comma"),
        Parameter("query_id", "id", "query", "repeated"),
        Parameter("filter_id", "filter[id]", "query", "repeated"),
        Parameter("query_filter_id", "filter(id)", "query", "repeated"),
        Parameter("query_query_filter_id", "query_filter_id", "query", "repeated"),
        Parameter("query", "犬", "query", "repeated"),
    ]
    properties = made.arguments["properties"]
    assert properties["query_id"]["description"] == "A [31mtext of two lines"
    assert properties["query"]["description"] == "犬, in the query"
    assert re.fullmatch(r"my_x{52}_[0-9a-f]{8}", made.tool)


@pytest.mark.parametrize(
    ("schemes", "security", "credentials"),
    [
        ({}, [], {}),
        ({}, None, {}),
        (
            {"a": {"type": "http", "scheme": "Bearer"}},
            [{"a": []}],
            {"a": Credential("bearer", ["MY_TOKEN"])},
        ),
        (
            {"a": {"type": "oauth2"}},
            [{}, {"a": ["read"]}],
            {"a": Credential("bearer", ["MY_TOKEN"])},
        ),
        ({"a": {"type": "openIdConnect"}}, [{"a": []}], {"a": Credential("bearer", ["MY_TOKEN"])}),
        (
            {"a": {"type": "http", "scheme": "digest"}, "b": {"type": "http", "scheme": "basic"}},
            [{"a": []}, {"b": []}],
            {"b": Credential("basic", ["MY_USERNAME", "MY_PASSWORD"])},
        ),
        (
            {
                "a-1": {"type": "apiKey", "in": "header", "name": "K"},
                "b": {"type": "apiKey", "in": "query", "name": "k"},
            },
            [{"a-1": [], "b": []}],
            {
                "a-1": Credential("header", ["MY_API_KEY"], "K"),
                "b": Credential("query", ["MY_B_API_KEY"], "k"),
            },
        ),
    ],
)
def test_credentials_are_variables(
    schemes: Any, security: Any, credentials: dict[str, Credential]
) -> None:
    """The first alternative that can be used, with all that belongs to it."""
    operation = {} if security is None else {"security": security}
    assert api(operation, components={"securitySchemes": schemes}).credentials == credentials


@pytest.mark.parametrize(
    "scheme",
    [
        {"type": "apiKey", "in": "cookie", "name": "c"},
        {"type": "apiKey", "in": "header", "name": "a\r\nb"},
        {"type": "mutualTLS"},
        None,
    ],
)
def test_what_cannot_be_signed_in_to_is_refused(scheme: Any) -> None:
    """Rather than called without a credential."""
    with pytest.raises(BadDocument, match="signed in to in a way that is not supported"):
        api({"security": [{"a": []}]}, components={"securitySchemes": {"a": scheme}})


def test_credentials_that_cannot_be_told_apart_are_refused() -> None:
    """Two of one kind, whose names differ in punctuation alone."""
    schemes = {name: {"type": "http", "scheme": "bearer"} for name in ("x", "a-b", "a_b")}
    with pytest.raises(BadDocument, match="cannot be told from another one"):
        api({"security": [{name: [] for name in schemes}]}, components={"securitySchemes": schemes})


@pytest.mark.parametrize(
    ("body", "content_type", "has_body"),
    [
        ({}, "application/json", False),
        ({"content": {"text/plain": {}}}, "application/json", False),
        (
            {"content": {"application/json; charset=utf-8": {"schema": {"type": "object"}}}},
            "application/json",
            True,
        ),
        (
            {"content": {"application/merge-patch+json": {}}, "required": True},
            "application/merge-patch+json",
            True,
        ),
    ],
)
def test_a_body_is_json(body: dict[str, Any], content_type: str, has_body: bool) -> None:
    """Another one is left out, unless it is required."""
    made = api({"requestBody": body}, method="patch").operations[0]
    assert (made.content_type, "body" in made.arguments["properties"]) == (content_type, has_body)


@pytest.mark.parametrize(
    ("operation", "path", "reason"),
    [
        (
            {"requestBody": {"required": True, "content": {"text/plain": {}}}},
            "/x",
            "its body is not JSON",
        ),
        (
            {"requestBody": {"content": {"application/json": {"schema": False}}}},
            "/x",
            "its body is not JSON",
        ),
        ({}, "/x/{id}", "its path and its parameters do not belong together"),
        ({"parameters": [{"name": "id", "in": "path"}]}, "/x", "do not belong together"),
        ({}, "/x?a=1", "do not belong together"),
        ({}, "/x/../y", "do not belong together"),
        (
            {"servers": [{"url": "https://other.example"}]},
            "/x",
            "has a server of its own; name it with --server",
        ),
    ],
)
def test_an_operation_that_cannot_be_a_tool_says_why(
    operation: dict[str, Any], path: str, reason: str
) -> None:
    """In words for the operator."""
    with pytest.raises(BadDocument, match=reason):
        api(operation, path=path, method="post")


@pytest.mark.parametrize(
    ("servers", "given", "source", "server"),
    [
        (
            [{"url": "https://{region}.example/v1/", "variables": {"region": {"default": "eu"}}}],
            "",
            "",
            "https://eu.example/v1",
        ),
        ([{"url": "/v2"}], "", "http://10.0.0.1:8000/docs/openapi.json", "http://10.0.0.1:8000/v2"),
        ([], "", "https://a.example/docs/openapi.json", "https://a.example"),
        ([{"url": "/v2"}], "http://localhost:1/v3/", "", "http://localhost:1/v3"),
    ],
)
def test_the_server_is_the_documents_or_the_operators(
    servers: Any, given: str, source: str, server: str
) -> None:
    """A relative one is beside the document; a private one is the operator's own."""
    made = Document({"openapi": "3.0.0", "servers": servers, "paths": {"/x": {"get": {}}}}, "my")
    assert made.choose(["GET /x"], given, source).server == server


@pytest.mark.parametrize(
    "url",
    [
        "/v1",
        "ftp://x",
        "https://",
        "https://user:pass@x",
        "https://x?a=1",
        "https://{x}",
        "https://x/../y",
        7,
    ],
)
def test_a_server_that_is_none_is_refused(url: Any) -> None:
    """A file's document needs a whole address."""
    with pytest.raises(BadDocument, match="--server: "):
        api({}, servers=[{"url": url}])


@pytest.mark.parametrize(
    ("root", "found"),
    [
        ({"swagger": "2.0"}, "Swagger 2.0"),
        ({"openapi": "4.0.0"}, "version 4.0.0"),
        ({"openapi": "3.10"}, "version 3.10"),
        ([], "none"),
        (None, "none"),
    ],
)
def test_other_documents_are_refused(root: Any, found: str) -> None:
    """By what they are."""
    with pytest.raises(BadDocument, match=found):
        Document(root, "my")


def test_nothing_need_have_its_form() -> None:
    """Whatever stands in place of what should: there is an error, or less."""
    for key in ("paths", "components", "servers", "security", "info"):
        nonsenses: tuple[Any, ...] = (
            None,
            7,
            "x",
            [],
            [7],
            {"/pets": 7},
            {"/pets": {"get": 7}},
            {"x": {"get": {}}},
        )
        for nonsense in nonsenses:
            made = Document({**document(), key: nonsense}, "my")
            with suppress(BadDocument):
                made.choose(list(made.operations), "https://x.example", "")


def test_unknown_operations_are_answered_with_what_there_is() -> None:
    """Without control characters."""
    made = Document(
        {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a\x1b[31m"}, "put": {}}}},
        "my",
    )
    with pytest.raises(BadDocument) as raised:
        made.choose(["b"], "", "")
    assert str(raised.value) == "there is no operation b. There are:\n  a[31m\n  PUT /a"


def test_two_operations_do_not_become_one_tool() -> None:
    """Their names differ in characters that no model takes."""
    paths = {
        "/a": {
            "get": {"operationId": "a.b"},
            "put": {"operationId": "a/b"},
            "post": {"operationId": "a.b"},
        }
    }
    made = Document({"openapi": "3.1.0", "paths": paths}, "my")
    assert list(made.operations) == ["a.b", "a/b", "POST /a"]
    with pytest.raises(BadDocument, match="two operations would be named my_a_b; choose one"):
        made.choose(["a.b", "a/b"], "https://x.example", "")


def test_what_is_written_says_what_it_is() -> None:
    """The document's words, in one line, and when to use the tool."""
    operation = {"summary": "Lists pets.", "description": "Lists pets.\nAll of them. " + "x" * 1000}
    (made,) = api(operation).operations
    assert made.description.startswith("Lists pets. Lists pets. All of them. xxx")
    assert len(made.description) <= 600
    assert api({}).operations[0].description == "An operation. Use it for what is kept in my."
    assert json.dumps(made.arguments)
