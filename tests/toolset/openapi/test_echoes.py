"""A server repeats a secret in another form than it has."""

from __future__ import annotations

from base64 import b64encode

import httpx
import pytest

from toolset.openapi.api_file import ApiFile, Credential, Operation
from toolset.openapi.tool import OperationTool


@pytest.mark.parametrize(
    "spoken", [b64encode(b"alice:s3/cr+t==").decode(), "s3%2Fcr%2Bt%3D%3D", "s3\\/cr+t=="]
)
def test_a_secret_is_hidden_in_every_form(spoken: str) -> None:
    """Encoded as it was sent, or as JSON writes it."""
    operation = Operation("t", "t", "GET", "/x", "d", {"type": "object"}, [], ["c"])
    api = ApiFile("n", "https://api.example", {"c": Credential("basic", ["A", "B"])}, [operation])
    tool = OperationTool(httpx.AsyncClient(), api, operation, {"A": "alice", "B": "s3/cr+t=="})
    assert spoken.encode() not in tool._without_secrets(f'{{"echo": "{spoken}"}}'.encode())
