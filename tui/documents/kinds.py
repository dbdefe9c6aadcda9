"""What a file is: by its first bytes, then by its name."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePath
from typing import Literal

TextKind = Literal["text", "markdown", "code"]
Format = Literal["pdf", "docx", "rtf", "epub", "html", "notebook", "table", "plain"]
_HEAD = 4096
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How an old Office document begins, and one that is encrypted."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")

_PDF = re.compile(rb"%PDF-\d")
PICTURE = "a picture"
_MAGIC = (
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\x89PNG\r\n", PICTURE),
    (b"\xff\xd8\xff", PICTURE),
    (b"GIF8", PICTURE),
    (b"BM", PICTURE),
    (b"II*\x00", PICTURE),
    (b"MM\x00*", PICTURE),
    (b"\x00\x00\x01\x00", PICTURE),
    (b"GGUF", "a model (GGUF)"),
    (b"SQLite format 3\x00", "a database"),
    (b"\x1f\x8b", "a compressed archive"),
    (b"BZh", "a compressed archive"),
    (b"\xfd7zXZ\x00", "a compressed archive"),
    (b"\x28\xb5\x2f\xfd", "a compressed archive"),
    (b"7z\xbc\xaf\x27\x1c", "a compressed archive"),
    (b"Rar!\x1a", "a compressed archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"ID3", "a sound file"),
    (b"OggS", "a sound file"),
    (b"fLaC", "a sound file"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
    (OLE, "an old Office document"),
    (b"{\\rtf", "an RTF document"),
)
_LETTERS = re.compile(rb"[A-Za-z0-9]+")
_BY_SUFFIX = {
    ".docx": "a Word document",
    ".docm": "a Word document",
    ".doc": "an old Word document",
    ".odt": "an OpenDocument text",
    ".epub": "an EPUB book",
    ".pptx": "a presentation",
    ".xlsx": "a spreadsheet",
    ".xls": "a spreadsheet",
    ".ods": "a spreadsheet",
    ".rtf": "an RTF document",
}
_WORD = frozenset({".docx", ".docm"})
DOCUMENT_SUFFIXES = frozenset({".pdf", *_BY_SUFFIX})
READABLE_SUFFIXES = frozenset({".pdf", ".docx", ".docm", ".epub", ".rtf", ".html", ".htm", ".xhtml", ".ipynb"})
"""Of documents that a reader of ours opens; text and tables are known without."""
_MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mkdn", ".qmd", ".rmd"})
_CODE = frozenset(
    "." + suffix
    for line in (
        "ada adb ads asm awk bash bat bzl c cc cfg cjs clj cljs cmake cmd cpp cs css cu cxx d dart el",
        "elm erl ex exs f f90 fish fs fsx glsl go gradle groovy h hh hpp hs htm html hxx idl ini java jl",
        "js json jsonc jsx kt kts less lisp lua m mjs ml mli mm nim nix pas php pl pm proto ps1 py pyi",
        "pyx r rb rkt rs s sass scala scm scss sh sql svelte swift tcl tf toml ts tsx v vb vhd vim vue",
        "xhtml xml xsl yaml yml zig zsh",
    )
    for suffix in line.split()
)
_CODE_NAMES = frozenset(
    {"makefile", "gnumakefile", "dockerfile", "containerfile", "cmakelists.txt", "meson.build", "rakefile", "gemfile"}
    | {"jenkinsfile", "vagrantfile", "justfile", "build", "workspace", "sconstruct", "sconscript", "procfile"}
)
# Markup and data are written in such files as well as programs, and pages are saved with them.
_NO_PROGRAM = frozenset(
    {".cfg", ".css", ".htm", ".html", ".idl", ".ini", ".json", ".jsonc", ".less", ".sass", ".scss", ".toml"}
    | {".xhtml", ".xml", ".xsl", ".yaml", ".yml"}
)
_HTML = re.compile(rb"^\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)


def is_pdf(head: bytes) -> bool:
    """Whether the first kilobyte holds a PDF header; junk before it is allowed, as readers allow it."""
    return _PDF.search(head[:1024]) is not None


def is_html(head: bytes) -> bool:
    """Whether the file starts as a web page does."""
    return _HTML.match(head[:4096].removeprefix(b"\xef\xbb\xbf")) is not None


def is_rtf(head: bytes) -> bool:
    """Whether the file starts as RTF does; a byte order mark and space before it are allowed, as Word allows them."""
    return head[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{\\rtf")


def file_format(data: bytes, name: str) -> Format:
    """Which reader a file belongs to: by what it holds, then by its name; `plain` for whatever no other one takes.

    A zip or an OLE container that is no format of ours stays `plain`, whose reader says what it is. A damaged Word
    document and an encrypted one go to the reader that tells why it cannot read them.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix == ".pdf" or data.startswith(b"%PDF-") or (is_pdf(data) and _no_source(name) and b" obj" in data):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _zip_format(data, suffix)
    if data.startswith(OLE) and (suffix in _WORD or is_encrypted_office(data)):
        return "docx"
    if is_rtf(data):
        return "rtf"
    if suffix == ".ipynb":
        return "notebook"
    if suffix in (".csv", ".tsv", ".tab"):
        return "table"
    if suffix in (".html", ".htm", ".xhtml") or (is_html(data[:_HEAD]) and _no_source(name)):
        return "html"
    return "plain"


def is_encrypted_office(data: bytes) -> bool:
    """Whether an OLE container holds an Office document that is encrypted; its table of contents says so."""
    return data.startswith(OLE) and _ENCRYPTED in data


def _no_source(name: str) -> bool:
    """Whether a name says nothing of source code or Markdown, which may speak of PDF and hold HTML."""
    return text_kind(name, b"") == "text"


def _zip_format(data: bytes, suffix: str) -> Format:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, EOFError):
        return "docx" if suffix in _WORD else "epub" if suffix == ".epub" else "plain"
    if "META-INF/container.xml" in names:
        return "epub"
    # The main part of a Word document may have any name; its content types say so.
    return "docx" if "[Content_Types].xml" in names and any(name.startswith("word/") for name in names) else "plain"


def known_format(head: bytes, name: str) -> str | None:
    """What a file is that is no text, in words (`a Word document`), or None when its first bytes do not say so."""
    for magic, words in _MAGIC:
        if head.startswith(magic):
            # Letters prove nothing alone: a text may begin with them too. (RTF is letters all through.)
            if _LETTERS.fullmatch(magic) and b"\x00" not in head[:512]:
                continue
            # A zip, an old Office container or RTF is told apart by its name.
            return _BY_SUFFIX.get(PurePath(name).suffix.lower(), words)
    return None


def text_kind(name: str, head: bytes) -> TextKind:
    """How a text file is to be read, by its name, or by a `#!` line when the name says nothing."""
    path = PurePath(name)
    suffix = path.suffix.lower()
    if suffix in _MARKDOWN:
        return "markdown"
    if suffix in _CODE or path.name.lower() in _CODE_NAMES:
        return "code"
    return "code" if not suffix and head.startswith(b"#!") else "text"


def is_program(name: str, head: bytes) -> bool:
    """Whether a file is program code, not markup or data, by its name or its `#!` line."""
    return text_kind(name, head) == "code" and PurePath(name).suffix.lower() not in _NO_PROGRAM
