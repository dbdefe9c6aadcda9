"""RTF: its tokens, its code pages, and the text."""

from tui.documents.rtf.reader import read_rtf

__all__ = ["read_rtf"]
