"""Slot files: whole or not at all, believed only after a check, within their budget."""

from __future__ import annotations

import os
import random
import re
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tui.errors import StorageProblem
from tui.store import checksum
from tui.store.checksum import file_checksum, prefix_hashes, token_hash
from tui.store.slotfiles import FORMAT, SlotFiles, SlotIdentity, SlotManifest

ROOT = Path(__file__).resolve().parents[2]
HERE = SlotIdentity(fingerprint="f" * 64, build="7e4c0a9", parallel=1, flags=("--swa-full",))


@pytest.fixture
def files(tmp_path: Path) -> SlotFiles:
    return SlotFiles(tmp_path / "slots", headroom=0)


def state_of(ids: list[int], size: int = 5000) -> bytes:
    """What a llama-server would write: head, tokens, state."""
    head = struct.pack(f"<III{len(ids)}i", 0x67677371, 2, len(ids), *ids)
    return head + b"\x5a" * (size - len(head))


def save(
    files: SlotFiles, ids: list[int], *, data: bytes | None = None, who: SlotIdentity = HERE, session: str | None = None
) -> SlotManifest:
    temp = files.temp_name()
    data = state_of(ids) if data is None else data
    files.path(temp).write_bytes(data)
    return files.commit(temp, ids=ids, identity=who, n_written=len(data), n_ctx=4096, session_id=session)


def names(files: SlotFiles) -> set[str]:
    return {path.name for path in files.folder.iterdir()}


def test_committed_pair(files: SlotFiles) -> None:
    manifest = save(files, [1, 2, 3], session="s")
    assert names(files) == {manifest.filename, f"{manifest.key}.json"}
    found = files.find(HERE.key([1, 2, 3]))
    assert found is not None
    assert msgspec.structs.replace(found, last_used=0) == msgspec.structs.replace(manifest, last_used=0)
    assert (found.n_tokens, found.size, found.session_id, found.identity) == (3, 5000, "s", HERE)
    assert files.verify(found, HERE) == ""
    assert files.find("0" * 64) is None
    if os.name != "nt":
        assert {stat.S_IMODE(path.stat().st_mode) for path in files.folder.iterdir()} == {0o600}
        assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700


def test_saving_again_replaces_the_pair(files: SlotFiles) -> None:
    first = save(files, [1, 2, 3])
    second = save(files, [1, 2, 3], data=state_of([1, 2, 3], 6000))
    assert first.filename != second.filename
    assert names(files) == {second.filename, f"{second.key}.json"}
    assert files.verify(second, HERE) == ""


@pytest.mark.parametrize("fails", ["rename", "manifest"])
def test_a_save_that_fails_leaves_the_earlier_pair(
    files: SlotFiles, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    first = save(files, [1, 2, 3])

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    target = Path.rename if fails == "rename" else Path.replace
    monkeypatch.setattr(Path, target.__name__, full)
    with pytest.raises(StorageProblem, match="No space left"):
        save(files, [1, 2, 3], data=state_of([1, 2, 3], 6000))
    monkeypatch.undo()
    assert names(files) == {first.filename, f"{first.key}.json"}
    found = files.find(first.key)
    assert found is not None
    assert files.verify(found, HERE) == ""


def test_another_size_than_the_server_wrote(files: SlotFiles) -> None:
    temp = files.temp_name()
    files.path(temp).write_bytes(state_of([1, 2]))
    with pytest.raises(StorageProblem, match="5,000 bytes where the server wrote 5,001"):
        files.commit(temp, ids=[1, 2], identity=HERE, n_written=5001, n_ctx=4096)
    assert names(files) == set()


@pytest.mark.parametrize("held", [[1, 2, 4], [1, 2, 3, 4], []])
def test_other_tokens_than_were_asked_for(files: SlotFiles, held: list[int]) -> None:
    with pytest.raises(StorageProblem, match="another request came between"):
        save(files, [1, 2, 3], data=state_of(held))
    assert names(files) == set()


def test_a_head_of_another_format_is_taken_as_it_is(files: SlotFiles) -> None:
    save(files, [1, 2, 3], data=b"\x71\x73\x67\x67\x09\x00\x00\x00" + bytes(100))


def test_nothing_was_saved(files: SlotFiles) -> None:
    with pytest.raises(StorageProblem, match="cannot be written"):
        files.commit(files.temp_name(), ids=[1], identity=HERE, n_written=36, n_ctx=4096)
    with pytest.raises(StorageProblem, match="bytes only"):
        save(files, [1], data=b"")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"fingerprint": "g" * 64}, "another model file"),
        ({"build": "other"}, "another llama-server build"),
        ({"parallel": 4}, "another number of slots"),
        ({"cache_type_k": "q8_0"}, r"another cache type \(K\) \(f16 instead of q8_0\)"),
        ({"cache_type_v": "q8_0"}, r"another cache type \(V\)"),
        ({"flags": ()}, r"other server flags \(--swa-full instead of none\)"),
    ],
)
def test_foreign_files_are_refused_unread(files: SlotFiles, change: dict[str, object], reason: str) -> None:
    manifest = save(files, [1, 2, 3])
    files.path(manifest.filename).unlink()
    other = msgspec.structs.replace(HERE, **change)
    assert files.foreign(manifest, other)
    assert re.search(reason, files.verify(manifest, other))
    assert other.key([1, 2, 3]) != manifest.key


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "4,999 bytes instead of 5,000"),
        (lambda path: path.write_bytes(path.read_bytes() + b"\0"), "5,001 bytes"),
        (lambda path: path.write_bytes(b""), "0 bytes"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x5b"), "checksum"),
        (lambda path: path.unlink(), "is gone"),
    ],
    ids=["cut", "longer", "empty", "one bit", "gone"],
)
@pytest.mark.parametrize("verified_before", [False, True])
def test_damaged_files_are_refused(
    files: SlotFiles, harm: Callable[[Path], object], reason: str, verified_before: bool
) -> None:
    manifest = save(files, [1, 2, 3])
    if verified_before:
        assert files.verify(manifest, HERE) == ""
        time.sleep(0.02)
    harm(files.path(manifest.filename))
    assert reason in files.verify(manifest, HERE)


def test_swapped_files_are_refused(files: SlotFiles) -> None:
    one, two = save(files, [1, 2, 3]), save(files, [1, 2, 4])
    assert files.verify(one, HERE) == files.verify(two, HERE) == ""
    paths = [files.path(m.filename) for m in (one, two)]
    data = [path.read_bytes() for path in paths]
    time.sleep(0.02)
    for path, content in zip(paths, reversed(data), strict=True):
        path.write_bytes(content)
    assert "checksum" in files.verify(one, HERE)
    assert "checksum" in files.verify(two, HERE)


def test_longest_prefix_first(files: SlotFiles) -> None:
    other = msgspec.structs.replace(HERE, build="other")
    for ids, who in ([1], HERE), ([1, 2, 3], HERE), ([1, 2, 4], HERE), ([1, 2, 3, 4, 5, 6], HERE), ([1, 2], other):
        save(files, ids, who=who)
    assert [m.n_tokens for m in files.prefixes([1, 2, 3, 4, 5])] == [3, 2, 1]
    assert [m.n_tokens for m in files.prefixes([1, 2, 3, 4, 5, 6])] == [6, 3, 2, 1]
    assert [m.n_tokens for m in files.prefixes([2, 1])] == []
    assert files.prefixes([]) == []


def test_token_hashes() -> None:
    ids = [5, 0, 262143, 7]
    assert prefix_hashes(ids, [4, 0, 2, 2]) == {n: token_hash(ids[:n]) for n in (0, 2, 4)}


def test_checksum_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksum, "BLOCK", 1000)
    path = tmp_path / "f"
    seen = set()
    for data in (b"", b"a", b"a" * 1000, b"a" * 1001, b"a" * 2000, b"a" * 1999 + b"b", b"b" + b"a" * 1999):
        path.write_bytes(data)
        seen.add(file_checksum(path))
        assert file_checksum(path) in seen
    assert len(seen) == 7


def test_last_used_is_the_order(files: SlotFiles) -> None:
    manifests = [save(files, [n]) for n in range(3)]
    for age, manifest in enumerate(manifests):
        os.utime(files.folder / f"{manifest.key}.json", (1000 + age, 1000 + age))
    assert [m.n_tokens and m.key for m in files.all()] == [m.key for m in reversed(manifests)]
    files.used(manifests[0])
    assert files.all()[0].key == manifests[0].key
    files.remove(manifests[0].key)
    files.used(manifests[0])


def test_budget_least_recently_used_go_first(files: SlotFiles) -> None:
    manifests = [save(files, [n]) for n in range(4)]
    for age, manifest in enumerate(manifests):
        os.utime(files.folder / f"{manifest.key}.json", (1000 + age, 1000 + age))
    files.budget = files.total() + 4000
    assert files.make_room(4000) == []
    removed = files.make_room(6000, protect={manifests[0].key})
    assert [m.key for m in removed] == [manifests[1].key]
    assert manifests[1].filename not in names(files)
    assert {m.key for m in files.all()} == {manifests[n].key for n in (0, 2, 3)}
    with pytest.raises(StorageProblem, match=r"slot files may take .* together"):
        files.make_room(10**7)
    assert len(files.all()) == 3


def test_full_disk_is_seen_before_saving(files: SlotFiles) -> None:
    save(files, [1])
    with pytest.raises(StorageProblem, match=r"needs .* TiB, and .* free on the disk") as caught:
        SlotFiles(files.folder, budget=1 << 62).make_room(1 << 60)
    assert "Free some space" in caught.value.remedy
    assert len(files.all()) == 1


def test_a_conversation_does_not_push_out_the_others(files: SlotFiles) -> None:
    ids = list(range(10))
    for count in (2, 4, 6):
        save(files, ids[:count], session="a")
    save(files, ids[:3])
    save(files, [9, 9], session="a")
    save(files, ids[:1], session="b")
    newest = save(files, ids[:8], session="a")
    assert files.retire(newest, ids[:8]) == 2
    assert sorted((m.n_tokens, m.session_id) for m in files.all() if m.session_id) == [
        (1, "b"),
        (2, "a"),
        (6, "a"),
        (8, "a"),
    ]
    assert [m.n_tokens for m in files.all() if m.session_id is None] == [3]


def test_of_a_session(files: SlotFiles) -> None:
    save(files, [1], session="a")
    save(files, [2], session="a")
    other = save(files, [3], session="b")
    assert files.remove_session("a") == 2
    assert names(files) == {other.filename, f"{other.key}.json"}


def test_leftovers_are_collected(files: SlotFiles) -> None:
    good = save(files, [1])
    lonely = save(files, [2])
    files.path(lonely.filename).unlink()
    garbled = save(files, [3])
    (files.folder / f"{garbled.key}.json").write_bytes(b"{}")
    leftovers = {files.temp_name(), f"{files.temp_name()[:-4]}.tmp", "abcdef.bin"}
    for name in leftovers:
        files.path(name).write_bytes(b"half")
    files.path("notes.txt").write_text("not ours")
    assert files.collect() == []
    gone = files.collect(older_than_s=-1)
    assert set(gone) == leftovers | {f"{lonely.key}.json", garbled.filename, f"{garbled.key}.json"}
    assert names(files) == {good.filename, f"{good.key}.json", "notes.txt"}


def test_files_of_a_newer_format_stay(files: SlotFiles) -> None:
    newer = save(files, [1])
    path = files.folder / f"{newer.key}.json"
    path.write_bytes(path.read_bytes().replace(b'"format": 1', f'"format": {FORMAT + 1}'.encode()))
    temp = files.temp_name()
    files.path(temp).write_bytes(b"half")
    assert files.all() == []
    assert files.collect(older_than_s=-1) == [temp]
    assert names(files) == {newer.filename, path.name}


def test_a_manifest_cannot_point_elsewhere(files: SlotFiles, tmp_path: Path) -> None:
    manifest = save(files, [1])
    path = files.folder / f"{manifest.key}.json"
    path.write_bytes(path.read_bytes().replace(manifest.filename.encode(), b"../../etc/passwd"))
    assert files.find(manifest.key) is None
    renamed = path.rename(files.folder / f"{'0' * 64}.json")
    assert files.find(renamed.stem) is None


SAVER = """
import random, sys
from pathlib import Path
from tests.store.test_slotfiles import HERE, SlotFiles, save, state_of
files = SlotFiles(Path(sys.argv[1]), headroom=0)
while True:
    save(files, [1, 2, 3], data=state_of([1, 2, 3], random.randrange(100, 3_000_000)))
    print("saved", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_killed_while_saving_a_whole_pair_is_left(files: SlotFiles) -> None:
    source = random.Random(3)
    for _ in range(10):
        saver = subprocess.Popen([sys.executable, "-c", SAVER, str(files.folder)], cwd=ROOT, stdout=subprocess.PIPE)
        assert saver.stdout is not None
        for _ in range(source.randrange(1, 6)):
            assert saver.stdout.readline() == b"saved\n"
        saver.kill()
        saver.wait()
        saver.stdout.close()
        manifest = files.find(HERE.key([1, 2, 3]))
        assert manifest is not None
        assert files.verify(manifest, HERE) == ""
    files.collect(older_than_s=-1)
    (manifest,) = files.all()
    assert names(files) == {manifest.filename, f"{manifest.key}.json"}
