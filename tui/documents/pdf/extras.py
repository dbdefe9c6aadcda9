"""What stands on a page but in no text layer: the values of form fields, notes and comments."""

from __future__ import annotations

from typing import Any

import msgspec
from pypdf import PageObject
from pypdf.generic import ArrayObject, ByteStringObject, DictionaryObject, NameObject, StreamObject

from tui.documents.clean import REPLACEMENT, without_forbidden

_HIDDEN = 1 << 1
_RADIO_OR_PUSH = 1 << 16
_PUSH = 1 << 16
_COMBO = 1 << 17
_PASSWORD = 1 << 13
_OFF = "Off"
_SILENT = frozenset({"/Link", "/Popup", "/PrinterMark", "/TrapNet", "/Watermark", "/Movie", "/Sound", "/Screen"})


class Extras(msgspec.Struct, frozen=True):
    """Of one page: lines of form fields, lines of notes, names of files that are attached to notes."""

    fields: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()

    def text(self) -> str:
        """As it is put after the page's text; empty when there is nothing."""
        blocks = []
        if self.fields:
            blocks.append("Form fields:\n" + "\n".join(self.fields))
        if self.notes:
            blocks.append("Notes on this page:\n" + "\n".join(self.notes))
        return "\n\n".join(blocks)


def extras_of(page: PageObject) -> Extras:
    """The form values and notes of one page, in the file's order. Raises whatever pypdf raises on a damaged file."""
    fields: dict[str, None] = {}
    notes: dict[str, None] = {}
    attached: dict[str, None] = {}
    annotations = page.get("/Annots")
    entries = annotations.get_object() if annotations is not None else []
    for entry in entries if isinstance(entries, ArrayObject) else []:
        annotation = entry.get_object()
        if not isinstance(annotation, DictionaryObject) or _number(annotation.get("/F")) & _HIDDEN:
            continue
        subtype = str(annotation.get("/Subtype", ""))
        if subtype == "/Widget":
            line = _field_line(annotation)
            if line:
                fields[line] = None
        elif subtype == "/FileAttachment":
            attached[_attachment_name(annotation)] = None
        if subtype not in _SILENT and subtype != "/Widget":
            words = _words(annotation.get("/Contents"))
            if words:
                author = _words(annotation.get("/T"))
                kind = _words(NameObject(subtype)) or "Note"
                notes[f"- {kind}{f' ({author})' if author else ''}: {words}"] = None
    return Extras(tuple(fields), tuple(notes), tuple(attached))


def _field_line(widget: DictionaryObject) -> str:
    kind = _words(_inherited(widget, "/FT"))
    flags = _number(_inherited(widget, "/Ff"))
    name = _words(_inherited(widget, "/TU")) or _field_name(widget)
    if kind == "Sig":
        return _signature_line(name, _inherited(widget, "/V"))
    value = _words(_inherited(widget, "/V"))
    if kind == "Btn":
        return _button_line(widget, flags, name, value)
    if kind == "Tx" and flags & _PASSWORD:
        return ""
    if kind == "Ch":
        # A list box shows all its choices on the page, a drop-down list shows the chosen one.
        options = "" if flags & _COMBO else "; ".join(_options(_inherited(widget, "/Opt")))
        if options:
            return f"- {name}: {value or 'none chosen'} (of: {options})"
    return f"- {name}: {value}" if value else ""


def _signature_line(name: str, signature: Any) -> str:
    """Who signed and why; the signature itself is no text."""
    signature = signature.get_object() if hasattr(signature, "get_object") else signature
    if not isinstance(signature, DictionaryObject):
        return ""
    signer, why = _words(signature.get("/Name")), _words(signature.get("/Reason"))
    return f"- {name}: signed{f' by {signer}' if signer else ''}{f' ({why})' if why else ''}"


def _button_line(widget: DictionaryObject, flags: int, name: str, value: str) -> str:
    if flags & _PUSH:
        look = widget.get("/MK")
        look = look.get_object() if look is not None else None
        caption = _words(look.get("/CA")) if isinstance(look, DictionaryObject) else ""
        return f"- Button: {caption}" if caption else ""
    state = _words(widget.get("/AS"))
    if state:
        return "" if state == _OFF else f"- {name}: {state}"
    return f"- {name}: {value}" if value and value != _OFF else ""


def _inherited(widget: DictionaryObject, key: str) -> Any:
    """`key` of the field, or of the nearest parent that has it."""
    node: Any = widget
    for _ in range(32):
        if key in node:
            return node[key]
        parent = node.get("/Parent")
        node = parent.get_object() if parent is not None else None
        if not isinstance(node, DictionaryObject):
            break
    return None


def _field_name(widget: DictionaryObject) -> str:
    names: list[str] = []
    node: Any = widget
    for _ in range(32):
        if not isinstance(node, DictionaryObject):
            break
        own = _words(node.get("/T"))
        if own:
            names.append(own)
        parent = node.get("/Parent")
        node = parent.get_object() if parent is not None else None
    return ".".join(reversed(names)) or "Field"


def _options(options: Any) -> list[str]:
    """The displayed texts of a choice field; an option may be a pair of stored and displayed value."""
    shown = []
    for option in options if isinstance(options, ArrayObject) else []:
        option = option.get_object()
        if isinstance(option, ArrayObject):
            option = option[-1].get_object() if option else ""
        shown.append(_words(option))
    return [text for text in shown if text]


def _attachment_name(annotation: DictionaryObject) -> str:
    specification = annotation.get("/FS")
    specification = specification.get_object() if specification is not None else None
    if isinstance(specification, DictionaryObject):
        name = _words(specification.get("/UF")) or _words(specification.get("/F"))
        if name:
            return name
    return _words(specification) or "a file without a name"


def _number(value: Any) -> int:
    value = value.get_object() if hasattr(value, "get_object") else value
    return int(value) if isinstance(value, int | float) else 0


def _words(value: Any) -> str:
    """Any PDF value as text: strings, names, streams, lists of these; lines kept, edges trimmed."""
    value = value.get_object() if hasattr(value, "get_object") else value
    if value is None:
        return ""
    if isinstance(value, ArrayObject):
        return ", ".join(filter(None, map(_words, value)))
    if isinstance(value, StreamObject):
        value = value.get_data()
    elif isinstance(value, DictionaryObject):
        # A structure, such as what a signature or an action holds: nothing that stands on the page.
        return ""
    if isinstance(value, ByteStringObject | bytes):
        value = bytes(value).decode("latin-1")
    if isinstance(value, NameObject):
        value = str(value).removeprefix("/")
    text = str(value).replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return without_forbidden(text)[0].strip().replace(REPLACEMENT * 2, REPLACEMENT)
