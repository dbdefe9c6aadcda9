"""Word documents for tests: zips written by hand."""

from __future__ import annotations

import io
import zipfile

MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_SPACES = (
    f'xmlns:r="{_RELATIONS}" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"'
)
_NOTES = ("styles", "numbering", "footnotes", "endnotes", "comments")


def part(tag: str, inner: str, main: str = MAIN) -> str:
    """A part whose root is `tag`, with all name spaces."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{tag} xmlns:w="{main}" {_SPACES}>{inner}</{tag}>'


def paragraph(text: str, style: str = "", more: str = "") -> str:
    """`w:p` with one run; `more` goes into its properties."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{more}</w:pPr>{run(text)}</w:p>"


def run(text: str, properties: str = "") -> str:
    """`w:r` with one text."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def relations(links: dict[str, tuple[str, str]]) -> str:
    """A `.rels` part: id to kind and target."""
    inner = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONS}/{kind}" Target="{target}"/>'
        for name, (kind, target) in links.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}">{inner}</Relationships>'


def docx(body: str, *, main: str = MAIN, others: dict[str, str] | None = None, **parts: str) -> bytes:
    """A document with this body. `parts`: `styles`, `numbering`, `footnotes` …, the inside of that part's root.

    `others`: whole parts by file name in `word/`, linked to by that name's stem as id and kind (`header1`: `header`).
    """
    roots = {"styles": "w:styles", "numbering": "w:numbering"}
    files = {f"word/{kind}.xml": part(roots.get(kind, f"w:{kind}"), inner, main) for kind, inner in parts.items()}
    links = {kind: (kind, f"{kind}.xml") for kind in _NOTES if kind in parts}
    for name, content in (others or {}).items():
        stem = name.rsplit("/", 1)[-1].partition(".")[0]
        links[stem] = (stem.rstrip("0123456789"), name)
        files[f"word/{name}"] = content
    files["word/document.xml"] = part("w:document", f"<w:body>{body}</w:body>", main)
    files["word/_rels/document.xml.rels"] = relations(links)
    files["_rels/.rels"] = relations({"rId1": ("officeDocument", "word/document.xml")})
    files["[Content_Types].xml"] = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
    return zipped(files)


def zipped(files: dict[str, str | bytes]) -> bytes:
    """A deflated zip of these files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()
