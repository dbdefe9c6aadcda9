"""What every test stands on: a home of its own, the real llama-server, the real demo model, tiny models.

No test reads the developer's own settings or state. The demo model is fetched once for this machine by the program's
own `fetch_demo` and shared between runs through the user's cache folder (LONGSCROLL_TEST_MODELS overrides the place).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tui.paths import Paths, get_paths

if TYPE_CHECKING:
    from tui.server.binary import ServerBinary

_OURS = ("LONGSCROLL_", "LLAMA_")

# A run in the background (nohup, `&` in a script) hands ignored signals down to the programs under test.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long suites whole instead of a seeded sample")


@pytest.fixture(scope="session")
def long_run(request: pytest.FixtureRequest) -> bool:
    """Whether the long suites run whole; a test that samples asks this."""
    return bool(request.config.getoption("--long"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    skip = pytest.mark.skip(reason="a long suite: run with --long")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty LONGSCROLL_HOME for each test, and none of the developer's variables."""
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    monkeypatch.setenv("LONGSCROLL_HOME", str(home))
    return home


@pytest.fixture
def paths(own_home: Path) -> Paths:
    return get_paths()


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """Where the demo model is kept between runs of the tests."""
    place = os.environ.get("LONGSCROLL_TEST_MODELS")
    without_home = {name: value for name, value in os.environ.items() if name != "LONGSCROLL_HOME"}
    return Path(place) if place else get_paths(without_home).models


@pytest.fixture(scope="session")
def demo_model(shared_models: Path) -> Path:
    """The real demo model, fetched and checked by the program's own code."""
    from tui.models.demo import fetch_demo

    return fetch_demo(shared_models, lambda done, total: None)


@pytest.fixture
def demo_in_home(demo_model: Path, paths: Paths) -> Path:
    """The demo model linked into this test's own home, so that `--model demo` does not fetch it again."""
    paths.models.parent.mkdir(parents=True, exist_ok=True)
    if not paths.models.exists():
        paths.models.symlink_to(demo_model.parent, target_is_directory=True)
    return demo_model


@pytest.fixture(scope="session")
def server_binary() -> ServerBinary:
    """The real llama-server of the extra `local`."""
    from tui.server.binary import find_server

    return find_server(env={"PATH": ""})


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the tiny random-weight models that `tests.support.tiny_models.build` writes."""
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="session", autouse=True)
def no_orphans() -> Iterator[None]:
    """After the last test no llama-server started by this run may be alive."""
    import psutil

    yield
    left = [
        child.pid
        for child in psutil.Process().children(recursive=True)
        if child.is_running() and child.status() != psutil.STATUS_ZOMBIE and "llama-server" in child.name()
    ]
    assert not left, f"llama-server left running: {left}"
