"""The GGUF reader: what it reads, and that broken and foreign files are named for what they are."""

from __future__ import annotations

import io
import os
import pickle
import random
import struct
import tarfile
import zipfile
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.models.broken import ARRAY, BASIC, I32, STRING, U32, gguf_bytes, key, string, tensor
from tests.support.tiny_models import KINDS, build
from tui.errors import NoModel
from tui.models.gguf import LAZY_ABOVE, ArrayInfo, read_array, read_header
from tui.models.modelfile import open_model
from tui.models.tensortypes import TENSOR_TYPES
from tui.models.vocabulary import read_vocabulary


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


@pytest.mark.parametrize("kind", KINDS)
def test_it_reads_what_the_reference_package_wrote(tiny_models: Path, kind: str) -> None:
    path = build(kind, tiny_models)
    header, reference = read_header(path), gguf.GGUFReader(path)
    assert header.file_size == path.stat().st_size
    assert {t.name: (t.shape, t.type, t.nbytes) for t in header.tensors} == {
        t.name: (tuple(int(n) for n in t.shape), t.tensor_type.name, int(t.n_bytes)) for t in reference.tensors
    }
    assert {t.name: header.data_offset + t.offset for t in header.tensors} == {
        t.name: int(t.data_offset) for t in reference.tensors
    }
    fields = {name: field.contents() for name, field in reference.fields.items() if not name.startswith("GGUF.")}
    assert set(header.metadata) == set(fields)
    for name, expected in fields.items():
        found = header.metadata[name]
        assert (read_array(header, name) if isinstance(found, ArrayInfo) else found) == pytest.approx(expected)


def test_the_sizes_of_all_tensor_types_are_the_reference_packages() -> None:
    reference = {kind.value: (kind.name, *gguf.GGML_QUANT_SIZES[kind]) for kind in gguf.GGMLQuantizationType}
    # Q8_1 is never stored in files, and the package has its older size.
    known = {
        number: tuple(kind) for number, kind in TENSOR_TYPES.items() if number in reference and kind.name != "Q8_1"
    }
    assert known == {number: reference[number] for number in known}
    assert set(TENSOR_TYPES) >= {kind.value for kind in gguf.GGMLQuantizationType if kind.value <= 39}


def test_long_arrays_stay_on_disk_until_they_are_asked_for(file: Path) -> None:
    words = [f"word {i} \udcff ü" for i in range(LAZY_ABOVE + 1)]
    numbers = list(range(-5, LAZY_ABOVE))
    keys = (*BASIC, key("words", ARRAY, (STRING, words)), key("numbers", ARRAY, (I32, numbers)))
    file.write_bytes(gguf_bytes((*keys, key("few", ARRAY, (U32, [1, 2]))), ()))
    header = read_header(file)
    assert isinstance(header.metadata["words"], ArrayInfo)
    assert read_array(header, "words") == words
    assert read_array(header, "numbers") == numbers
    assert read_array(header, "few") == [1, 2]
    assert read_array(header, "none") == []


def safetensors() -> bytes:
    head = b'{"__metadata__":{}}' + b" " * 45
    return struct.pack("<Q", len(head)) + head + bytes(100)


def tarball() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x"))
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("data.pkl", "x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "a web page"),
        (b"\n  <HTML>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n", "Git LFS pointer"),
        (b'{"error": "Repository not found"}', "JSON"),
        (zipped(), "zip archive"),
        (tarball(), "tar archive"),
        (safetensors(), "safetensors"),
        (pickle.dumps({"weights": [1]}), "pickle"),
        (b"ggml" + bytes(50), "GGML"),
        (b"tjgg" + bytes(50), "GGJT"),
        (b"\x1f\x8b\x08" + bytes(50), "gzip"),
        (b"\x28\xb5\x2f\xfd" + bytes(50), "zstd"),
        (b"%PDF-1.7", "PDF"),
        (bytes(4096), "zero bytes"),
        (b"just some words", "a text file"),
        (b"G", "a text file"),
        (b"\x00\x01\xfe\xff" * 9, "something else"),
        (b"GGUF", "ends inside its header"),
        (gguf_bytes(version=1), "version 1"),
        (gguf_bytes(version=99), "version 99"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(60), "big-endian"),
        (gguf_bytes()[:200], "ends inside its header"),
        (gguf_bytes()[:-1], "1 of its"),
        (gguf_bytes(data=bytes(28)), "100 of its"),
        (gguf_bytes((*BASIC, BASIC[0])), "twice"),
        (gguf_bytes((string("a") + struct.pack("<I", 77),)), "unknown kind"),
        (gguf_bytes((string("a") + struct.pack("<IIQ", 9, 9, 1),)), "list of lists"),
        (gguf_bytes((string("a") + struct.pack("<IIQ", 9, 4, 1 << 62),)), "ends inside its header"),
        (gguf_bytes((string("a") + struct.pack("<IIQ", 9, 8, 1 << 40),)), "ends inside its header"),
        (gguf_bytes((string("a") + struct.pack("<IQ", 8, (1 << 64) - 1),)), "ends inside its header"),
        (gguf_bytes((key("general.alignment", U32, 3),)), "alignment"),
        (gguf_bytes((key("general.alignment", U32, 0),)), "alignment"),
        (gguf_bytes(tensors=(tensor("a", (1 << 40, 1 << 40)),)), "impossible size"),
        (gguf_bytes(tensors=(string("a") + struct.pack("<I", 4_000_000),)), "dimensions"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 40, 1), "tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 1 << 40), "keys"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_a_whole_gguf_file_is_named(file: Path, content: bytes, said: str) -> None:
    file.write_bytes(content)
    with pytest.raises(NoModel) as caught:
        read_header(file)
    assert said in caught.value.what
    assert str(file) in caught.value.what
    assert caught.value.remedy


def test_a_missing_file_a_folder_and_a_pipe(tmp_path: Path) -> None:
    with pytest.raises(NoModel, match="There is no model file"):
        read_header(tmp_path / "none.gguf")
    (tmp_path / "one.gguf").write_bytes(gguf_bytes())
    with pytest.raises(NoModel, match="is a folder") as caught:
        read_header(tmp_path)
    assert "one.gguf" in caught.value.remedy
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(NoModel, match="not an ordinary file"):
            read_header(tmp_path / "pipe")
    with pytest.raises(NoModel):
        read_header(tmp_path / "bad\x00name")


def test_a_name_with_control_characters_is_shown_safely(tmp_path: Path) -> None:
    bad = tmp_path / "evil\x1b[31m\n.gguf"
    try:
        bad.write_bytes(b"no")
    except OSError:
        pytest.skip("this file system has no such names")
    with pytest.raises(NoModel) as caught:
        read_header(bad)
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_tensor_type_is_no_reason_to_refuse(file: Path) -> None:
    file.write_bytes(gguf_bytes(tensors=(tensor("new", (8,), kind=77),)))
    assert read_header(file).tensors[0].type == "type 77"
    assert read_header(file).tensors[0].nbytes == 0


def test_a_file_that_changed_since_its_header_was_read(file: Path) -> None:
    words = [f"word {i}" for i in range(3000)]
    file.write_bytes(gguf_bytes((*BASIC, key("words", ARRAY, (STRING, words))), ()))
    header = read_header(file)
    content = file.read_bytes()
    file.write_bytes(content[:2000])
    with pytest.raises(NoModel, match="shorter"):
        read_array(header, "words")
    file.write_bytes(b"\xff" * len(content))
    with pytest.raises(NoModel, match="changed"):
        read_array(header, "words")


def mutate(content: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, cut out or put in, mostly in the header."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(min(len(data), rng.choice((64, 2000, len(data)))))
        action = rng.random()
        if action < 0.6:
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif action < 0.8:
            data[at : at + 8] = struct.pack("<Q", rng.choice((0, 1, 1 << 31, 1 << 32, 1 << 63, (1 << 64) - 1)))
        elif action < 0.9:
            del data[at : at + rng.randint(1, 40)]
        else:
            data[at:at] = rng.randbytes(rng.randint(1, 40))
        if not data:
            break
    return bytes(data)


def test_thousands_of_mutations_end_in_a_header_or_in_a_sentence(file: Path, tiny_models: Path, long_run: bool) -> None:
    source = build("mamba", tiny_models).read_bytes()
    header = read_header(build("mamba", tiny_models))
    source = source[: header.data_offset + 4096]
    plain = gguf_bytes((*BASIC, key("tokenizer.ggml.tokens", ARRAY, (STRING, ["a", "b"]))))
    rng = random.Random(11)
    for turn in range(20_000 if long_run else 1_500):
        file.write_bytes(mutate(plain if turn % 2 else source, rng))
        for read in (read_header, open_model, read_vocabulary):
            try:
                read(file)
            except NoModel as error:
                assert error.what  # noqa: PT017  (most mutations are readable or refused, both are right)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400))
def test_any_bytes_after_the_magic(file: Path, content: bytes) -> None:
    file.write_bytes(b"GGUF\x03\x00\x00\x00" + content)
    try:
        read_header(file)
    except NoModel:
        return


def test_large_vocabularies_are_read_without_being_held(file: Path) -> None:
    """A vocabulary of 200,000 words and its merges: the header holds none of them."""
    words = [f"w{i}" for i in range(200_000)]
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_token_list(words)
    writer.add_tensor("a", np.zeros(4, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    header = read_header(file)
    assert isinstance(header.metadata["tokenizer.ggml.tokens"], ArrayInfo)
    assert read_array(header, "tokenizer.ggml.tokens")[-1] == "w199999"
