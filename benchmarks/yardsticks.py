"""What the text of a document should be, by other programs or by the document's own parts: for `benchmarks.documents`.

    PDF    pdftotext (poppler) where it is installed, and PyMuPDF where it can be imported
    DOCX   every w:t, m:t and a:t of every part but the glossary, which is no part of the text; the older twin of a
           drawing (mc:Fallback) and what was moved (w:moveFrom) count once
    HTML   selectolax's text of the body without scripts, styles, hidden elements and readings (`<rt>`)
    EPUB   the same over the reading order, by an XML parser where the page is XML
    text   the bytes in the encoding that was decided

A file `<document>.txt` beside the document goes before all of them.
"""

from __future__ import annotations

import importlib.util
import io
import posixpath
import re
import shutil
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from html.entities import html5
from pathlib import Path
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

# The older twin of a drawing, and text that was moved elsewhere, where it stands too.
_TWICE = re.compile(rb"<mc:Fallback\b.*?</mc:Fallback>|<w:moveFrom\b.*?</w:moveFrom>", re.S)
_UNSEEN = "script, style, template, title, rt, rp, [hidden]"
_NONE = re.compile(r"display\s*:\s*none", re.I)
_MUPDF = "import sys, pymupdf; d = pymupdf.open(sys.argv[1]); d.needs_pass and d.authenticate(sys.argv[2]); \
sys.stdout.buffer.write(chr(10).join(p.get_text() for p in d).encode('utf-8', 'replace'))"


def yardsticks(file: Path, kind: str, encoding: str, password: str, mupdf: str) -> dict[str, str]:
    """Texts by the name of what made them; empty where nothing here can tell."""
    beside = file.with_name(f"{file.name}.txt")
    if beside.exists():
        return {"text beside it": beside.read_text(encoding="utf-8")}
    if kind == "pdf":
        return _pdf(file, password, mupdf)
    data = file.read_bytes()
    if kind == "docx":
        return {"XML": _docx(data)}
    if kind == "html":
        return {"selectolax": _body(data.decode(encoding or "utf-8", "replace"))}
    if kind == "epub":
        return {"spine": _epub(data)}
    if kind in ("text", "markdown", "code"):
        return {"bytes": data.decode(encoding or "utf-8", "replace")}
    return {}


def characters(text: str) -> Counter[str]:
    """The characters that count: after NFKC, without white space, controls and signs that have no shape."""
    folded = unicodedata.normalize("NFKC", text)
    return Counter(c for c in folded if not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf", "Cn"))


def recall(text: Counter[str], yardstick: Counter[str]) -> float:
    """Share (0-1) of the yardstick's characters that are in the text, each as often."""
    total = sum(yardstick.values())
    return 1 - sum((yardstick - text).values()) / total if total else 1.0


def mupdf_python(named: str) -> str:
    """An interpreter that can import PyMuPDF: the one named, this one, or none."""
    if named:
        return named
    return sys.executable if importlib.util.find_spec("pymupdf") else ""


def versions(mupdf: str) -> str:
    """What measures the PDFs, with versions."""
    found = []
    if shutil.which("pdftotext"):
        done = subprocess.run(["pdftotext", "-v"], capture_output=True, text=True, check=False)
        found.append("poppler " + done.stderr.split("version", 1)[-1].split()[0])
    if mupdf:
        code = "import importlib.metadata as m; print(m.version('pymupdf'))"
        found.append("PyMuPDF " + subprocess.run([mupdf, "-c", code], capture_output=True, text=True).stdout.strip())
    return ", ".join(found) or "none installed"


def _pdf(file: Path, password: str, mupdf: str) -> dict[str, str]:
    ways = {}
    if shutil.which("pdftotext"):
        secret = ["-upw", password, "-opw", password] if password else []
        ways["poppler"] = ["pdftotext", "-q", "-enc", "UTF-8", *secret, str(file), "-"]
    if mupdf:
        ways["PyMuPDF"] = [mupdf, "-c", _MUPDF, str(file), password]
    texts = {}
    for name, command in ways.items():
        try:
            done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0:
            texts[name] = done.stdout.decode("utf-8", "replace")
    return texts


def _docx(data: bytes) -> str:
    words = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if not name.startswith("word/") or name.startswith("word/glossary/") or not name.endswith(".xml"):
                continue
            root = ET.fromstring(_TWICE.sub(b"", archive.read(name)))
            words.extend(e.text or "" for e in root.iter() if e.tag.rpartition("}")[2] == "t")
    return " ".join(words)


def _body(page: str) -> str:
    tree = LexborHTMLParser(page)
    for node in tree.css(_UNSEEN):
        node.decompose()
    for node in tree.css("[style]"):
        if _NONE.search(node.attributes.get("style") or ""):
            node.decompose()
    return tree.body.text(separator=" ") if tree.body else ""


def _epub(data: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        container = ET.fromstring(archive.read("META-INF/container.xml"))
        place = next(e.get("full-path") or "" for e in container.iter() if e.tag.endswith("rootfile"))
        root = ET.fromstring(archive.read(place))
        items = {e.get("id"): e.get("href") or "" for e in root.iter() if e.tag.endswith("}item")}
        texts = []
        for reference in (e for e in root.iter() if e.tag.endswith("}itemref")):
            name = posixpath.join(posixpath.dirname(place), unquote(items[reference.get("idref")]))
            if name in archive.namelist():
                texts.append(_page(archive.read(name).decode("utf-8", "replace")))
    return "\n".join(texts)


def _page(page: str) -> str:
    try:
        known = re.sub(r"&(?!amp;|lt;|gt;|quot;|apos;)(\w+;)", lambda m: html5.get(m[1], m[0]), page)
        root = ET.fromstring(re.sub(r"<!DOCTYPE[^>]*>|<\?xml[^>]*\?>", "", known))
    except ET.ParseError:
        return _body(page)
    body = next((e for e in root.iter() if e.tag.endswith("}body")), root)
    for parent in list(body.iter()):
        for child in list(parent):
            name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else "script"
            hidden = child.get("hidden") is not None or _NONE.search(child.get("style") or "")
            if hidden or name in ("script", "style", "rt", "rp", "annotation", "annotation-xml"):
                child.text = None
                for inner in list(child):
                    child.remove(inner)
    return " ".join(body.itertext())
