"""``kaiwa tools add openapi``: from a document to tools that are listed and called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.add_api import DOCUMENT_CAP, write_api
from bot.errors import BadInput
from tests.bot.command_line import Call
from tests.fakes.pets import TOKEN, PetsFake
from tests.fakes.sources import SourceAnswer

pytestmark = pytest.mark.usefixtures("restored_logging")


@pytest.fixture
def pets() -> Iterator[PetsFake]:
    with PetsFake().served() as fake:
        yield fake


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """TOOLS_DIR."""
    (tmp_path / "tools").mkdir()
    monkeypatch.setenv("TOOLS_DIR", str(tmp_path / "tools"))
    return tmp_path / "tools"


@pytest.mark.long
def test_it_writes_tools_that_are_listed_and_called(
    pets: PetsFake, folder: Path, call: Call
) -> None:
    """Which variable is needed is told; its value is written nowhere."""
    source = f"{pets.base_url}/openapi.json"
    code, out, _ = call(
        "tools", "add", "openapi", source, "--only", "listPets,addPet", "--only", "elsewhere"
    )
    path = folder / "openapi" / "pets_demo.json"
    assert code == 0
    assert out.splitlines() == [
        str(path),
        "  pets_demo_listPets  GET /pets  low",
        "  pets_demo_addPet  POST /pets  high",
        "  pets_demo_elsewhere  GET /elsewhere  low",
        "",
        f"They call {pets.base_url}/v1.",
        (
            f"Set PETS_DEMO_TOKEN in the environment or in .env; it is sent to {pets.base_url}/v1 "
            "and "
            "written nowhere."
        ),
        "Then see them: kaiwa tools",
    ]
    code, out, errors = call("tools")
    assert code == 2
    assert errors.startswith(f"kaiwa: tools: {path}: set PETS_DEMO_TOKEN, which ")
    code, out, errors = call("tools", PETS_DEMO_TOKEN=TOKEN)
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("pets_demo_addPet")]
    assert line.split("\t")[:4] == ["pets_demo_addPet", "high", "body", str(path)]
    code, out, errors = call(
        "tools", "call", "pets_demo_listPets", '{"limit": 3}', LOG_LEVEL="DEBUG"
    )
    assert (code, json.loads(out)) == (
        0,
        {"status": 200, "body": {"query": {"limit": ["3"]}, "trace": None}},
    )
    assert TOKEN not in path.read_text("utf-8") + out + errors
    code, _, errors = call("tools", "add", "openapi", source, "--only", "listPets")
    assert (code, errors) == (
        2,
        f"kaiwa: {path} is there already; choose another --name, or move it away\n",
    )


def test_without_operations_it_lists_them(pets: PetsFake, folder: Path, call: Call) -> None:
    """And writes nothing."""
    code, _, errors = call("tools", "add", "openapi", f"{pets.base_url}/openapi.json")
    assert code == 2
    assert errors.splitlines()[:3] == [
        "kaiwa: --only: name at least one operation. There are:",
        "  listPets  (GET /pets)",
        "  addPet  (POST /pets)",
    ]
    code, _, errors = call(
        "tools", "add", "openapi", f"{pets.base_url}/openapi.json", "--only", "nothing"
    )
    assert "there is no operation nothing. There are:\n  listPets\n" in errors
    assert list(folder.iterdir()) == []


def test_a_file_will_do_in_any_folder(pets: PetsFake, tmp_path: Path, call: Call) -> None:
    """With a name and a server of the operator's."""
    (tmp_path / "pets.json").write_text(json.dumps(pets.document), "utf-8")
    wanted = (
        "--only",
        "GET /old/{petId}",
        "--name",
        "shop",
        "--server",
        f"{pets.base_url}/v1/",
        "--dir",
        "else where",
    )
    code, out, _ = call("tools", "add", "openapi", "pets.json", *wanted)
    assert code == 0
    assert out.endswith(
        f"They call {pets.base_url}/v1.\nThen see them: TOOLS_DIR='else where' kaiwa tools\n"
    )
    code, out, _ = call(
        "tools", "call", "shop_GET_old_petId", '{"petId": "7"}', TOOLS_DIR="else where"
    )
    assert (code, json.loads(out)) == (0, {"status": 200, "body": {"moved": "7"}})


def test_it_needs_a_folder(pets: PetsFake, call: Call) -> None:
    """No default: the file is the operator's."""
    code, _, errors = call(
        "tools", "add", "openapi", f"{pets.base_url}/openapi.json", "--only", "listPets"
    )
    assert (code, errors) == (2, "kaiwa: --dir: say where, or set TOOLS_DIR to a folder of yours\n")


@pytest.mark.parametrize("title", ["Console", "OpenAI", "brave", "SLACK  bot"])
def test_a_document_does_not_get_kaiwas_own_secrets(
    title: str, pets: PetsFake, tmp_path: Path
) -> None:
    """Whatever it calls itself."""
    kinds = {"OpenAI": "getPet", "brave": "getPet"}
    pets.document["info"]["title"] = title
    with pytest.raises(BadInput, match="is a setting of Kaiwa itself"):
        write_api(
            f"{pets.base_url}/openapi.json",
            [kinds.get(title, "listPets")],
            name="",
            server="",
            folder=tmp_path,
        )
    assert list(tmp_path.iterdir()) == []


def test_installed_packages_are_not_asked(
    pets: PetsFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is broken keeps nobody from a tool of their own."""
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[kaiwa.tools]\nany = no_such_module\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    source = f"{pets.base_url}/openapi.json"
    path, _ = write_api(source, ["listPets"], name="", server="", folder=tmp_path / "tools")
    assert path.exists()


@pytest.mark.parametrize("name", ["Pets", "1pets", "../pets", "a" * 33, "a-b"])
def test_a_name_becomes_a_file_and_variables(name: str, pets: PetsFake, tmp_path: Path) -> None:
    """So only plain ones will do; a title without letters needs one."""
    with pytest.raises(BadInput, match="--name: "):
        write_api(
            f"{pets.base_url}/openapi.json", ["listPets"], name=name, server="", folder=tmp_path
        )
    pets.document["info"] = {"title": "動物"}
    with pytest.raises(BadInput, match="--name: "):
        write_api(
            f"{pets.base_url}/openapi.json", ["listPets"], name="", server="", folder=tmp_path
        )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"openapi: 3.0.3\npaths: {}\n", "YAML is not read: convert it first"),
        (b"[" * 100_000, "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"7", "this is none"),
        (
            b'\xef\xbb\xbf{"openapi": "3.0.3", "info": {"title": "x"}}',
            "name at least one operation",
        ),
    ],
)
def test_a_file_that_is_no_document_is_one_line(body: bytes, reason: str, tmp_path: Path) -> None:
    """With the mend."""
    (tmp_path / "api").write_bytes(body)
    with pytest.raises(BadInput, match=reason):
        write_api(
            str(tmp_path / "api"),
            [],
            name="" if b"title" in body else "x",
            server="",
            folder=tmp_path,
        )


def test_a_document_that_cannot_be_read_is_one_line(pets: PetsFake, tmp_path: Path) -> None:
    """A status, nobody there, no address, no file, too much."""
    pets.replay(SourceAnswer(200, b" " * (DOCUMENT_CAP + 1)))
    (tmp_path / "large").write_bytes(b" " * (DOCUMENT_CAP + 1))
    for source, reason in [
        (f"{pets.base_url}/v1/large", r"is larger than 16 MiB"),
        (str(tmp_path / "large"), r"is larger than 16 MiB"),
        ("http://127.0.0.1:1/openapi.json", r"cannot be read \(ConnectError\)"),
        ("http://127.0.0.1:port/openapi.json", r"cannot be read \(InvalidURL\)"),
        (str(tmp_path / "missing.json"), r"cannot be read \(No such file or directory\)"),
    ]:
        with pytest.raises(BadInput, match=reason):
            write_api(source, ["x"], name="x", server="", folder=tmp_path)
    pets.fail("status 500")
    with pytest.raises(BadInput, match=r"cannot be read \(status 500\)"):
        write_api(f"{pets.base_url}/v1/x", ["x"], name="x", server="", folder=tmp_path)


def test_a_folder_that_cannot_be_written_is_one_line(pets: PetsFake, tmp_path: Path) -> None:
    """With the reason."""
    (tmp_path / "openapi").write_text("a file", "utf-8")
    with pytest.raises(BadInput, match=r"cannot be written to \(File exists\)"):
        write_api(
            f"{pets.base_url}/openapi.json", ["listPets"], name="", server="", folder=tmp_path
        )
