"""What every test gets: no settings from outside, no internet, and the shared fixtures."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from socket import AF_INET, AF_INET6
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest

import toolset
from bot.ops.variable_names import own_variables
from tests.plain_log import use_plain_log
from tests.project import AUTHORITY, NO_OPEN_METEO, ROOT

# A busy machine makes and plays examples slowly; that is no fault of a test.
PATIENT: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [hypothesis.HealthCheck.too_slow],
}
# The gate plays the same examples each time, the nightly run many others.
hypothesis.settings.register_profile("gate", derandomize=True, **PATIENT)
hypothesis.settings.register_profile("quick", derandomize=True, max_examples=10, **PATIENT)
hypothesis.settings.register_profile("nightly", max_examples=1_000, **PATIENT)
hypothesis.settings.load_profile("gate")
use_plain_log()
gc.disable()  # until all tests are collected: nothing of them is garbage
pytest_plugins = ["tests.fixtures_fakes", "tests.fixtures_store", "tests.quick"]


class Internet:
    """Refuses every connection and every name beyond this machine, and remembers who asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def guard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook of the interpreter; it sees the sockets of every library."""
        if event == "socket.getaddrinfo":
            host = arguments[0]
        elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            inet = arguments[0].family in (AF_INET, AF_INET6)
            host = arguments[1][0] if inet and arguments[1] else None
        else:
            return
        if not is_this_machine(host):
            self.asked.append(str(host))
            raise OSError(f"tests do not touch the internet: {host}")


def is_this_machine(host: object) -> bool:
    """Whether an address or name is loopback, or no address at all."""
    name = host.decode() if isinstance(host, bytes) else str(host or "")
    if name in ("", "localhost"):
        return True
    try:
        return ip_address(name).is_loopback or ip_address(name).is_unspecified
    except ValueError:
        return False


@pytest.fixture(scope="session")
def internet() -> Internet:
    """The guard, in force until the process ends: an audit hook cannot be taken back."""
    internet = Internet()
    sys.addaudithook(internet.guard)
    return internet


@pytest.fixture(autouse=True)
def no_internet(internet: Internet) -> Iterator[None]:
    """Fail a test that reached for the internet, even where the code under test swallowed the
    refusal."""
    yield
    asked, internet.asked = internet.asked, []
    assert asked == []


@pytest.fixture(scope="session")
def variables_of_settings() -> set[str]:
    """What the environment may hold for us."""
    configs = [tool.Config for tool in toolset.find()]
    tools = [field.upper() for config in configs for field in config.model_fields]
    return {*own_variables(), *tools}


@pytest.fixture(scope="session")
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where tests without a ``tmp_path`` begin: one for all, for pytest reads the names of all
    folders to make one."""
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(autouse=True)
def no_settings_from_outside(
    request: pytest.FixtureRequest,
    variables_of_settings: set[str],
    monkeypatch: pytest.MonkeyPatch,
    empty_folder: Path,
) -> Iterator[None]:
    """Neither the developer's environment nor the ``.env`` of the working folder reaches a test."""
    for name in variables_of_settings & os.environ.keys():
        monkeypatch.delenv(name)
    for name, address in NO_OPEN_METEO.items():
        monkeypatch.setenv(name, address)
    monkeypatch.chdir(
        request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else empty_folder
    )
    yield
    left = list(empty_folder.iterdir())
    for path in left:
        path.unlink()
    assert left == [], "take tmp_path for what is written into the working folder"


@pytest.fixture(scope="session", autouse=True)
def one_authority() -> Iterator[None]:
    """Every HTTP client reads the authorities it trusts, 20 ms of work for all of them; no test
    meets any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(AUTHORITY))
        yield


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard() -> None:
    """A script's ``&`` switches them off, in every process that the tests start too."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What was loaded to collect the tests stays: the garbage collector need not look through it
    again and again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def modules_that_log() -> list[str]:
    """The names of ours, loaded or not."""
    logging = [path for path in ROOT.glob("bot/**/*.py") if "get_logger" in path.read_text("utf-8")]
    paths = (path.relative_to(ROOT).with_suffix("") for path in logging)
    return [".".join(path.parts).removesuffix(".__init__") for path in paths]


@pytest.fixture(autouse=True)
def loggers_of_this_test(modules_that_log: list[str]) -> Iterator[None]:
    """A logger remembers how logs were set up when it was first used; the next test may set them up
    otherwise."""
    yield
    for name in modules_that_log:
        vars(getattr(sys.modules.get(name), "log", None) or SimpleNamespace()).pop("bind", None)
