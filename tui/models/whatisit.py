"""What a file is that is not a GGUF model, told from its first bytes. Nothing is ever opened or unpickled for it."""

from __future__ import annotations

_CONVERT = "Get the model as a .gguf file, or convert it with llama.cpp's convert_hf_to_gguf.py."
_DOWNLOAD = "Download the model file itself again."
_UNPACK = "Unpack it and give the .gguf file inside."

_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer, the placeholder of a file that was not fetched", _DOWNLOAD),
    (b"PK\x03\x04", "a zip archive (PyTorch checkpoints and wheels are such)", _CONVERT),
    (b"PK\x05\x06", "an empty zip archive", _CONVERT),
    (b"ggml", "a GGML file, the form before GGUF", _CONVERT),
    (b"lmgg", "a GGML file, the form before GGUF", _CONVERT),
    (b"tjgg", "a GGJT file, the form before GGUF", _CONVERT),
    (b"fmgg", "a GGMF file, the form before GGUF", _CONVERT),
    (b"algg", "a GGLA file, an adapter of the form before GGUF", _CONVERT),
    (b"FUGG", "a GGUF file with its bytes swapped", "Get the usual (little-endian) file."),
    (b"\x1f\x8b", "a gzip archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", _UNPACK),
    (b"\xfd7zXZ\x00", "an xz archive", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (b"Rar!", "a RAR archive", _UNPACK),
    (b"%PDF", "a PDF document", "Give documents as arguments and the model with --model."),
    (b"\x7fELF", "a program for Linux", "Give the path of a .gguf file."),
    (b"MZ", "a program for Windows", "Give the path of a .gguf file."),
    (b"SQLite format 3", "an SQLite database", "Give the path of a .gguf file."),
)


def what_it_is(head: bytes, size: int) -> tuple[str, str]:
    """What the file seems to be ("a web page …") and what to do; `head` is its first few hundred bytes."""
    for magic, what, remedy in _MAGIC:
        if head.startswith(magic):
            return what, remedy
    if b"ustar" in head[257:263]:
        return "a tar archive", _UNPACK
    # safetensors: the length of a JSON head in eight bytes, then the head
    if len(head) > 9 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < size:
        return "a safetensors file", _CONVERT
    if len(head) > 1 and head[0] == 0x80 and head[1] <= 5:
        return "a Python pickle, which can run programs when opened (it was not opened)", _CONVERT
    if not head.strip(b"\x00"):
        return "zero bytes where the header should be, as a download that did not finish leaves them", _DOWNLOAD
    return _text(head)


def _text(head: bytes) -> tuple[str, str]:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<")):
        return "a web page, as sites send for a wrong address or a missing login", _DOWNLOAD
    if start.startswith((b"{", b"[")):
        return "a JSON text", "Give the path of a .gguf file."
    if all(byte >= 0x20 or byte in b"\t\r\n\x0c" for byte in head):
        return "a text file", "Give the path of a .gguf file."
    return "something else", "Give the path of a .gguf file, or download it again."
