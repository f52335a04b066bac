"""The stand-in of Google's Files API refuses what the real one refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fakes.gemini_files import GRANULARITY, Refused, UploadedFiles

STARTED = {
    "x-goog-upload-protocol": "resumable",
    "x-goog-upload-command": "start",
    "x-goog-upload-header-content-length": "4",
    "x-goog-upload-header-content-type": "video/mp4",
}


def begin(files: UploadedFiles, size: int = 4, mime: str = "video/mp4") -> str:
    headers = {
        "x-goog-upload-header-content-length": str(size),
        "x-goog-upload-header-content-type": mime,
    }
    files.start(STARTED | headers, b'{"file": {}}')
    return list(files.uploads)[-1]


def send(
    files: UploadedFiles, key: str, piece: bytes, command: str = "upload, finalize", offset: int = 0
) -> str:
    headers = {"x-goog-upload-command": command, "x-goog-upload-offset": str(offset)}
    return files.proceed(key, headers, piece)[0]["x-goog-upload-status"]


@pytest.mark.parametrize("name", STARTED)
def test_an_upload_begins_with_all_its_headers(name: str) -> None:
    """And with a body that it knows."""
    with pytest.raises(Refused):
        UploadedFiles().start({**STARTED, name: ""}, b"{}")
    with pytest.raises(Refused):
        UploadedFiles().start(STARTED, b'{"file": {"size": 4}}')


@pytest.mark.parametrize(
    "wrong",
    [
        lambda files, key: send(files, "another", b"film"),
        lambda files, key: send(files, key, b"film", "start"),
        lambda files, key: send(files, key, b"film", offset=1),
        lambda files, key: send(files, key, b"film", "upload"),
        lambda files, key: send(files, key, b"fil"),
        lambda files, key: (send(files, key, b"film"), send(files, key, b"film")),
    ],
    ids=["another upload", "another command", "a gap", "a small piece", "too little", "once more"],
)
def test_pieces_follow_each_other(wrong: Callable[[UploadedFiles, str], object]) -> None:
    """Whole ones but for the last, and as many bytes as were announced."""
    files = UploadedFiles()
    key = begin(files)
    with pytest.raises(Refused):
        wrong(files, key)


def test_a_file_is_read_when_it_is_active() -> None:
    """And not after it was deleted."""
    files = UploadedFiles()
    key = begin(files, GRANULARITY + 4)
    assert send(files, key, b"x" * GRANULARITY, "upload") == "active"
    assert files.proceed(key, {"x-goog-upload-command": "query"}, b"")[0][
        "x-goog-upload-size-received"
    ] == str(GRANULARITY)
    assert send(files, key, b"film", offset=GRANULARITY) == "final"
    [upload] = files.kept
    body = {
        "contents": [{"parts": [{"fileData": {"mimeType": "video/mp4", "fileUri": upload.uri}}]}]
    }
    with pytest.raises(Refused, match="not in an ACTIVE state"):
        files.check(body)
    assert files.serve("GET", key)["state"] == "ACTIVE"
    files.check(body)
    body["contents"][0]["parts"][0]["fileData"]["mimeType"] = "audio/mp4"
    with pytest.raises(Refused, match="mime type"):
        files.check(body)
    files.serve("DELETE", key)
    with pytest.raises(Refused, match="do not have permission"):
        files.check(body)
