"""Checksums of large files, computed in blocks on several cores, and the two disk waits that make a rename safe."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BLOCK = 16 << 20
ALGORITHM = f"blake2b-256 of blake2b-256 of {BLOCK >> 20} MiB blocks"
"""Written beside every checksum: a file whose checksum was made otherwise is not believed."""

_THREADS = 4


def file_checksum(path: Path) -> str:
    """Checksum of a file's bytes as hex. Reads the file once, about 1 GB/s for each core. Raises OSError."""
    size = path.stat().st_size
    # hashlib and pread release the interpreter lock, so threads are enough.
    with ThreadPoolExecutor(max_workers=min(_THREADS, os.cpu_count() or 1)) as pool:
        whole = hashlib.blake2b(digest_size=32)
        for digest in pool.map(lambda start: _block(path, start), range(0, size, BLOCK)):
            whole.update(digest)
    whole.update(struct.pack("<Q", size))
    return whole.hexdigest()


def _block(path: Path, start: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        digest = hashlib.blake2b(digest_size=32)
        left = BLOCK
        while left > 0:
            piece = file.read(min(left, 1 << 20))
            if not piece:
                break
            digest.update(piece)
            left -= len(piece)
    return digest.digest()


def token_hash(ids: Sequence[int]) -> str:
    """Hash of a token sequence as hex."""
    return hashlib.sha256(pack_tokens(ids)).hexdigest()


def prefix_hashes(ids: Sequence[int], lengths: Sequence[int]) -> dict[int, str]:
    """`token_hash(ids[:n])` for every n of `lengths` (each ≤ len(ids)), in one walk over the tokens."""
    running = hashlib.sha256()
    done = 0
    found: dict[int, str] = {}
    for length in sorted(set(lengths)):
        running.update(pack_tokens(ids[done:length]))
        done = length
        found[length] = running.copy().hexdigest()
    return found


def pack_tokens(ids: Sequence[int]) -> bytes:
    """Token ids as little-endian 32-bit integers, as they lie in a slot file."""
    return struct.pack(f"<{len(ids)}i", *ids)


def sync_file(path: Path) -> None:
    """Wait until the file's bytes are on disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until the folder's names are on disk; Windows has no such call and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
