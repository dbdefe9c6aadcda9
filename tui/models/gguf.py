"""A small reader of GGUF headers: metadata and the tensor table, never the weights.

Large arrays (a vocabulary of 262,000 words) stay on disk as `ArrayInfo` until `read_array` is asked for one. The
file is read through a window, not mapped, so that a file which shrinks under the reader is an error, not a signal.
"""

from __future__ import annotations

import io
import stat
import struct
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from tui.errors import NoModel
from tui.models.tensortypes import TENSOR_TYPES, tensor_bytes
from tui.models.whatisit import what_it_is
from tui.text import one_line

LAZY_ABOVE = 1024
"""Arrays with more elements than this are not read with the header."""

_WINDOW = 1 << 20
_MAX_KEYS = 1 << 16
_MAX_TENSORS = 1 << 20
_MAX_NAME = 1 << 16
_MAX_STRING = 1 << 26
_MAX_DIMS = 4
_VERSIONS = (2, 3)

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_STRING, _ARRAY = 8, 9
_SCALARS: dict[int, struct.Struct] = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_AGAIN = "Download it again and compare its size and checksum with the source."


class TensorInfo(msgspec.Struct, frozen=True):
    """One entry of the tensor table. `offset` in bytes from the start of the data; `shape`: fastest dimension first."""

    name: str
    shape: tuple[int, ...]
    type: str
    """`F16`, `Q4_K`, …; `type 99` when it is not known here."""
    offset: int
    nbytes: int
    """0 when the type is not known here."""


class ArrayInfo(msgspec.Struct, frozen=True):
    """An array left on disk: `length` elements in the bytes `start` to `end` of the file."""

    element_type: int
    length: int
    start: int
    end: int


class GgufHeader(msgspec.Struct, frozen=True):
    """What a GGUF file says about itself. `data_offset` and `file_size` in bytes."""

    path: Path
    version: int
    metadata: dict[str, Any]
    """Scalars, strings, lists, or ArrayInfo for a long array."""
    tensors: tuple[TensorInfo, ...]
    data_offset: int
    file_size: int

    def number(self, key: str, default: int = 0) -> int:
        """A whole number of the metadata; of a per-layer list the largest; `default` when absent or of another kind."""
        value = self.metadata.get(key, default)
        if isinstance(value, list):
            numbers = [item for item in value if isinstance(item, int)]
            return max(numbers, default=default)
        return int(value) if isinstance(value, int | float) and value == value and abs(value) < 2**63 else default

    def string(self, key: str, default: str = "") -> str:
        value = self.metadata.get(key, default)
        return value if isinstance(value, str) else default


def read_header(path: Path) -> GgufHeader:
    """The header of the GGUF file at `path`.

    Raises NoModel that says what the file is instead, or how many bytes of it are missing.
    """
    with open_file(path) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        return _Reader(path, file, size).header()


def read_array(header: GgufHeader, key: str) -> list[Any]:
    """The whole array `key`; strings are decoded as UTF-8, bytes that are not come as surrogate escapes.

    Empty when there is none. Raises NoModel when the file changed since the header was read.
    """
    value = header.metadata.get(key)
    if isinstance(value, list):
        return value
    if not isinstance(value, ArrayInfo):
        return []
    with open_file(header.path) as file:
        file.seek(value.start)
        data = file.read(value.end - value.start)
    if len(data) != value.end - value.start:
        raise NoModel(f"{one_line(str(header.path))} became shorter while it was read.", _AGAIN)
    if value.element_type != _STRING:
        kind = _SCALARS[value.element_type]
        return [item[0] for item in kind.iter_unpack(data)]
    strings: list[str] = []
    position = 0
    unpack = _U64.unpack_from
    for _ in range(value.length):
        end = position + 8 + unpack(data, position)[0] if position + 8 <= len(data) else len(data) + 1
        if end > len(data):
            raise NoModel(f"{one_line(str(header.path))} changed while it was read.", _AGAIN)
        strings.append(data[position + 8 : end].decode("utf-8", "surrogateescape"))
        position = end
    return strings


def open_file(path: Path) -> BinaryIO:
    """Open `path` for reading; NoModel when it is missing, a folder, or not ours to read."""
    name = one_line(str(path))
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise _is_folder(path)
        if not stat.S_ISREG(mode):  # a pipe would be waited for, a device never ends
            raise NoModel(f"{name} is not an ordinary file.", "Give the path of a .gguf file.")
        return path.open("rb")
    except FileNotFoundError as error:
        raise NoModel(f"There is no model file {name}.", "Check the path given to --model.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NoModel(
            f"The model file {name} cannot be opened ({reason}).", "Check its path and permissions."
        ) from error


def _is_folder(path: Path) -> NoModel:
    found = sorted(one_line(file.name) for file in path.glob("*.gguf"))
    remedy = f"Name a file in it: {', '.join(found[:5])}." if found else "Give the path of a .gguf file."
    return NoModel(f"{one_line(str(path))} is a folder, not a model file.", remedy)


class _Reader:
    """Walks through the header once; every length is compared with the file's size before anything is read."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self._path = path
        self._name = one_line(str(path))
        self._file = file
        self._size = size
        self._buffer = b""
        self._base = 0  # where the buffer starts in the file
        self._at = 0  # where we are in the buffer

    # --- bytes ---

    @property
    def _position(self) -> int:
        return self._base + self._at

    def _need(self, n: int) -> int:
        """Make `n` bytes available from the current position; returns where they start in the buffer."""
        if self._at + n > len(self._buffer):
            position = self._position
            if position + n > self._size:
                raise self._cut()
            self._file.seek(position)
            try:
                self._buffer = self._file.read(max(n, _WINDOW))
            except OSError as error:
                raise NoModel(f"{self._name} cannot be read ({error.strerror or error}).", _AGAIN) from error
            self._base, self._at = position, 0
            if len(self._buffer) < n:
                raise self._cut()
        return self._at

    def _take(self, n: int) -> bytes:
        start = self._need(n)
        self._at = start + n
        return self._buffer[start : self._at]

    def _skip(self, n: int) -> None:
        if self._position + n > self._size:
            raise self._cut()
        if self._at + n <= len(self._buffer):
            self._at += n
        else:
            self._base, self._buffer, self._at = self._position + n, b"", 0

    def _u32(self) -> int:
        return int(_U32.unpack(self._take(4))[0])

    def _u64(self) -> int:
        return int(_U64.unpack(self._take(8))[0])

    def _string(self, limit: int) -> str:
        length = self._u64()
        if length > limit:
            if self._position + length > self._size:
                raise self._cut()
            raise self._damaged(f"a text of {length:,} bytes")
        return self._take(length).decode("utf-8", "replace")

    # --- parts ---

    def header(self) -> GgufHeader:
        version = self._start()
        n_tensors, n_keys = self._u64(), self._u64()
        if n_tensors > _MAX_TENSORS or n_keys > _MAX_KEYS:
            raise self._damaged(f"{n_tensors:,} tensors and {n_keys:,} keys announced")
        metadata: dict[str, Any] = {}
        for _ in range(n_keys):
            key = self._string(_MAX_NAME)
            if key in metadata:
                raise self._damaged(f"the key {one_line(key, 60)} twice")
            metadata[key] = self._value(self._u32())
        tensors = tuple(self._tensor() for _ in range(n_tensors))
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
            raise self._damaged("an alignment that is no power of two")
        data_offset = (self._position + alignment - 1) // alignment * alignment
        self._check_complete(tensors, data_offset)
        return GgufHeader(self._path, version, metadata, tensors, data_offset, self._size)

    def _start(self) -> int:
        head = self._take(min(self._size, 512))
        if self._size == 0:
            raise NoModel(f"{self._name} is empty.", _AGAIN)
        if head[:4] != b"GGUF":
            what, remedy = what_it_is(head, self._size)
            raise NoModel(f"{self._name} is not a GGUF model file: it is {what}.", remedy)
        self._at = 4
        version = self._u32()
        if version and version & 0xFFFF == 0:
            raise NoModel(
                f"{self._name} is a GGUF file for big-endian machines.", "Get the usual (little-endian) file."
            )
        if version not in _VERSIONS:
            age = "older" if version < _VERSIONS[0] else "newer"
            raise NoModel(
                f"{self._name} is a GGUF file of version {version}; versions 2 and 3 can be read.",
                f"Get a file made with {'a newer' if age == 'older' else 'an older'} llama.cpp.",
            )
        return version

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string(_MAX_STRING)
        if kind == _ARRAY:
            return self._list()
        scalar = _SCALARS.get(kind)
        if scalar is None:
            raise self._damaged(f"a value of unknown kind {kind}")
        return scalar.unpack(self._take(scalar.size))[0]

    def _list(self) -> Any:
        kind, length = self._u32(), self._u64()
        if kind == _ARRAY:
            raise self._damaged("a list of lists")
        if kind != _STRING and kind not in _SCALARS:
            raise self._damaged(f"a list of unknown kind {kind}")
        if length <= LAZY_ABOVE:
            return [self._value(kind) for _ in range(length)]
        start = self._position
        if kind == _STRING:
            self._skip_strings(length)
        else:
            self._skip(length * _SCALARS[kind].size)
        return ArrayInfo(kind, length, start, self._position)

    def _skip_strings(self, count: int) -> None:
        """As `_skip` for each of `count` strings, in a tight loop: a vocabulary has hundreds of thousands."""
        if count * 8 > self._size - self._position:
            raise self._cut()
        unpack = _U64.unpack_from
        for _ in range(count):
            at = self._at
            if at + 8 > len(self._buffer):
                at = self._need(8)
            end: int = at + 8 + unpack(self._buffer, at)[0]
            if end > len(self._buffer):
                self._skip(end - at)
            else:
                self._at = end

    def _tensor(self) -> TensorInfo:
        name = self._string(_MAX_NAME)
        n_dims = self._u32()
        if n_dims > _MAX_DIMS:
            raise self._damaged(f"a tensor with {n_dims:,} dimensions")
        shape = tuple(self._u64() for _ in range(n_dims))
        kind, offset = self._u32(), self._u64()
        known = TENSOR_TYPES.get(kind)
        elements = 1
        for extent in shape:
            elements *= extent
        if elements >= 1 << 63 or offset >= 1 << 63:
            raise self._damaged(f"the tensor {one_line(name, 60)} with an impossible size")
        return TensorInfo(name, shape, known.name if known else f"type {kind}", offset, tensor_bytes(kind, elements))

    def _check_complete(self, tensors: tuple[TensorInfo, ...], data_offset: int) -> None:
        end = data_offset + max((tensor.offset + tensor.nbytes for tensor in tensors), default=0)
        if tensors and end > self._size:
            missing = end - self._size
            raise NoModel(
                f"{self._name} is not complete: {missing:,} of its {end:,} bytes are missing.",
                "Finish or repeat the download.",
            )

    # --- what goes wrong ---

    def _cut(self) -> NoModel:
        return NoModel(
            f"{self._name} is not complete: it ends inside its header, after {self._size:,} bytes.",
            "Finish or repeat the download.",
        )

    def _damaged(self, what: str) -> NoModel:
        return NoModel(f"{self._name} is damaged: {what}, near byte {self._position:,}.", _AGAIN)
