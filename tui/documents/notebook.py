"""Jupyter notebooks (formats 3 and 4): text cells as they are, code and its output in fences."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeGuard

from tui.documents.clean import number_list, title_safe, without_forbidden
from tui.documents.encodings import decode
from tui.documents.headings import markdown_headings
from tui.documents.model import Document, Heading, Span
from tui.documents.options import ReadOptions
from tui.documents.refusal import Refusal
from tui.documents.tables import markdown_tables
from tui.units import plural

MAX_OUTPUT = 50_000
"""Characters of one output that are kept whole; of a longer one, this many from its two ends."""
_HEAD = 40_000
_FENCE = re.compile(r"^\s*(`{3,})", re.M)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_INLINE_DATA = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=\s]{200,}")
_OBJECT = re.compile(r"<[\w.]+(?: object)?(?: at 0x[0-9a-fA-F]+)?>")
_OLD_NAMES = {"text": "text/plain", "html": "text/html", "latex": "text/latex", "json": "application/json",
              "svg": "image/svg+xml", "png": "image/png", "jpeg": "image/jpeg", "javascript": "text/javascript",
              "pdf": "application/pdf"}  # fmt: skip
_WRITTEN = ("text/markdown", "text/latex", "text/plain")


def read_notebook(data: bytes, path: str, name: str) -> Document:
    """The notebook's cells in order, in the manner of Markdown.

    Raises Refusal when it is no sound JSON, no notebook, or holds no text.
    """
    decoded = decode(data)
    book = _parsed(decoded.text)
    writer = _Writer(_language(book))
    odd: list[int] = []
    for number, cell in enumerate(_cells(book), 1):
        if _sound(cell):
            writer.cell(number, cell)
        else:
            odd.append(number)
    text, forbidden = without_forbidden("".join(writer.parts))
    warnings = [*decoded.warnings, *writer.warnings()]
    if not text.strip():
        raise Refusal(" ".join(["is a notebook without text.", *warnings]), "Give one whose cells hold something.")
    if odd:
        one = len(odd) == 1
        warnings.append(
            f"{'Cell' if one else 'Cells'} {number_list(odd)} {'is' if one else 'are'} no cell of a notebook "
            f"and {'was' if one else 'were'} not read."
        )
    if forbidden:
        warnings.append(f"{plural(forbidden, 'character')} that no text may hold (such as NUL) stand as \ufffd.")
    return Document(
        path=path,
        name=name,
        kind="notebook",
        text=text,
        spans=(Span("file", name, 1, 0, len(text)),),
        headings=tuple(writer.headings),
        tables=markdown_tables(text),
        warnings=tuple(warnings),
    )


def _parsed(text: str) -> dict[str, Any]:
    try:
        book = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise Refusal(
            f"is a notebook whose JSON is damaged ({where}).",
            "Open it in Jupyter and save it anew; a merge conflict in it must be resolved by hand.",
        ) from error
    except (RecursionError, ValueError) as error:
        raise Refusal(
            "is a notebook whose JSON is nested too deeply or holds a number too long.",
            "Clear its outputs in Jupyter and save it anew.",
        ) from error
    if not isinstance(book, dict) or not isinstance(book.get("cells", book.get("worksheets")), list):
        raise Refusal("is no Jupyter notebook: it has no cells.", "Rename it if it is some other kind of file.")
    return book


def _cells(book: dict[str, Any]) -> Iterator[object]:
    sheets = [book] if isinstance(book.get("cells"), list) else book["worksheets"]
    for sheet in sheets:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        yield from cells if isinstance(cells, list) else ()


def _sound(cell: object) -> TypeGuard[dict[str, Any]]:
    """Whether a cell is an object whose source is text or lines of text."""
    if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
        return False
    source = cell.get("source", cell.get("input", ""))
    return isinstance(source, str) or (isinstance(source, list) and all(isinstance(line, str) for line in source))


def _language(book: dict[str, Any]) -> str:
    metadata = _dict(book.get("metadata"))
    for part, key in (("language_info", "name"), ("kernelspec", "language"), ("kernel_info", "language")):
        found = _dict(metadata.get(part)).get(key)
        if isinstance(found, str) and found.strip():
            return title_safe(found).lower()
    return "python" if "kernelspec" not in metadata else ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _joined(value: object) -> str:
    """Text that is one string or a list of its lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


class _Writer:
    """Writes cells one after the other and notes what it leaves out."""

    def __init__(self, language: str) -> None:
        self.parts: list[str] = []
        self.headings: list[Heading] = []
        self._language = language
        self._place = 0
        self._left_out: Counter[str] = Counter()
        self._cut: list[int] = []

    def cell(self, number: int, cell: dict[str, Any]) -> None:
        """Write one cell; `number` counts from 1."""
        kind = cell.get("cell_type")
        source = _joined(cell.get("source", cell.get("input")))
        if kind == "code":
            language = cell.get("language") if isinstance(cell.get("language"), str) else self._language
            self._fenced(source, title_safe(str(language or "")))
            outputs = cell.get("outputs")
            for output in outputs if isinstance(outputs, list) else ():
                self._output(number, _dict(output))
        elif kind == "heading":
            level = cell.get("level")
            self._prose("#" * min(max(level if isinstance(level, int) else 1, 1), 6) + " " + " ".join(source.split()))
        else:
            self._prose(source)
        attached = cell.get("attachments")
        if isinstance(attached, dict):
            self._left_out["picture"] += len(attached)

    def warnings(self) -> list[str]:
        """One sentence for each kind of thing that is not in the text."""
        found = [
            f"{plural(count, noun)} {'was' if count == 1 else 'were'} not read."
            for noun, count in self._left_out.items()
            if count
        ]
        if self._cut:
            one = len(set(self._cut)) == 1
            found.append(
                f"Of outputs longer than {MAX_OUTPUT:,} characters the middle was left out, in "
                f"{'cell' if one else 'cells'} {number_list(self._cut)}."
            )
        return found

    def _block(self, text: str) -> int:
        """Write a block; the offset where it begins."""
        text = text.strip("\n")
        if not text.strip():
            return -1
        if self.parts:
            self.parts.append("\n")
            self._place += 1
        start = self._place
        self.parts.append(text + "\n")
        self._place += len(text) + 1
        return start

    def _prose(self, source: str) -> None:
        text = self._without_data(source).strip("\n")
        start = self._block(text)
        if start >= 0:
            self.headings += [
                Heading(start + found.start, found.level, found.title) for found in markdown_headings(text)
            ]

    def _fenced(self, text: str, language: str) -> None:
        text = text.strip("\n")
        if text.strip():
            fence = "`" * max([3, *(len(run) + 1 for run in _FENCE.findall(text))])
            self._block(f"{fence}{language}\n{text}\n{fence}")

    def _output(self, number: int, output: dict[str, Any]) -> None:
        kind = output.get("output_type")
        if kind == "stream":
            self._result(number, _terminal(_joined(output.get("text"))))
        elif kind in ("error", "pyerr"):
            trace = "\n".join(line for line in output.get("traceback") or [] if isinstance(line, str))
            message = f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
            self._result(number, _terminal(trace) if trace.strip() else message)
        else:
            bundle = output.get("data")
            if not isinstance(bundle, dict):
                # Format 3 has the forms of a result beside its other keys.
                bundle = {long: output[short] for short, long in _OLD_NAMES.items() if short in output}
            self._bundle(number, bundle)

    def _bundle(self, number: int, bundle: dict[str, Any]) -> None:
        """The best readable form of a result that may be there in several."""
        forms = {form: _joined(content) for form, content in bundle.items()}
        plain = _terminal(forms.get("text/plain", "")).strip()
        if any(form.startswith("image/") for form in forms):
            self._block(f"[picture: {' '.join(plain.split())}]" if plain else "[picture]")
            self._left_out["picture"] += 1
            return
        self._left_out["interactive result"] += any(form.startswith("application/vnd.") for form in forms)
        markup = forms.get("text/html", "").strip() if not plain or _OBJECT.fullmatch(plain) else ""
        if markup and (text := _html_text(markup)):
            self._result(number, text)
            return
        for form in _WRITTEN:
            if forms.get(form, "").strip() and not _OBJECT.fullmatch(forms[form].strip()):
                self._result(number, _terminal(forms[form]))
                return
        structured = bundle.get("application/json")
        if structured is not None:
            self._result(number, json.dumps(structured, ensure_ascii=False, indent=1))
        elif plain:
            self._result(number, plain)

    def _result(self, number: int, text: str) -> None:
        text = self._without_data(text)
        if len(text) > MAX_OUTPUT:
            tail = MAX_OUTPUT - _HEAD
            gone = len(text) - MAX_OUTPUT
            text = f"{text[:_HEAD]}\n[… {gone:,} characters left out …]\n{text[-tail:]}"
            self._cut.append(number)
        self._fenced(text, "output")

    def _without_data(self, text: str) -> str:
        """`text` without pictures written into it as letters and digits."""
        text, count = _INLINE_DATA.subn("data:…", text)
        if count:
            self._left_out["picture inside the text"] += count
        return text


def _terminal(text: str) -> str:
    """Output as a terminal would leave it: no escape sequences, of a line that was written over its last state."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\r" not in text:
        return text
    return "\n".join(_last_state(line) for line in text.split("\n"))


def _last_state(line: str) -> str:
    return next((state for state in reversed(line.split("\r")) if state.strip()), "")


def _html_text(source: str) -> str:
    from tui.documents.html.reader import read_html

    try:
        return read_html(source.encode("utf-8", "replace"), "", "", ReadOptions(encoding="utf-8")).text
    except Refusal:
        # It draws something but says nothing.
        return ""
