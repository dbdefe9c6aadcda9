"""What RTF's control words mean for the text: code pages, characters, and groups that hold no text."""

from __future__ import annotations

CODE_PAGES = {
    437: "cp437", 708: "iso8859_6", 709: "iso8859_6", 710: "iso8859_6", 711: "iso8859_6", 720: "cp720", 819: "latin-1",
    850: "cp850", 852: "cp852", 860: "cp860", 862: "cp862", 863: "cp863", 864: "cp864", 865: "cp865", 866: "cp866",
    874: "cp874", 932: "cp932", 936: "gb18030", 949: "cp949", 950: "big5hkscs", 1250: "cp1250", 1251: "cp1251",
    1252: "cp1252", 1253: "cp1253", 1254: "cp1254", 1255: "cp1255", 1256: "cp1256", 1257: "cp1257", 1258: "cp1258",
    1361: "johab", 10000: "mac_roman", 10001: "shift_jis", 10006: "mac_greek", 10007: "mac_cyrillic",
    10029: "mac_latin2", 10081: "mac_turkish", 20866: "koi8_r", 21866: "koi8_u", 54936: "gb18030", 65001: "utf-8",
}  # fmt: skip
CHARSETS = {
    0: 1252, 77: 10000, 78: 10001, 80: 936, 81: 950, 85: 10006, 86: 10081, 89: 10007, 128: 932, 129: 949, 130: 1361,
    134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874,
    238: 1250, 254: 437, 255: 850,
}  # fmt: skip
"""Code page of a font's `\\fcharset`. 1 is the document's own, 2 the symbol fonts'."""
DEFAULTS = {"ansi": 1252, "mac": 10000, "pc": 437, "pca": 850}

CHARACTERS = {
    "tab": "\t", "line": "\n", "softline": "\n", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’",
    "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": "\u2003", "enspace": "\u2002", "qmspace": "\u2005",
    "zwj": "\u200d", "zwnj": "\u200c", "zwbo": "\u200b", "zwnbo": "\u2060", "~": "\u00a0", "_": "\u2011", "-": "",
    "{": "{", "}": "}", "\\": "\\",
}  # fmt: skip
PARAGRAPH_ENDS = frozenset({"par", "page", "sect", "column", "\n", "\r"})

SILENT = frozenset(
    word
    for line in (
        "fonttbl shprslt colortbl stylesheet info listtable listoverridetable revtbl rsidtbl xmlnstbl themedata",
        "fldinst datafield colorschememapping latentstyles datastore generator filetbl xe tc tcn bkmkstart",
        "bkmkend atnid atndate atnref atntime atnparent atrfstart atrfend objdata objclass objname objalias",
        "objsect nonshppict nonesttables pn pntxta pntxtb sp sn sv background template operator author title",
        "subject category comment doccomm hlinkbase company manager creatim revtim printim buptim",
        "passwordhash protusertbl userprops wgrffmtfilter mailmerge factoidname ftnsep ftnsepc ftncn aftnsep",
        "aftnsepc aftncn do ffname ffdeftext ffformat ffhelptext ffstattext ffentrymcr ffexitmcr ffl blipuid",
        "picprop pgptbl listpicture falt panose fontemb fontfile defchp defpap mmathPict mhtml oldcprops",
        "oldpprops oldtprops oldsprops keycode gridtbl nesttableprops ebcstart ebcend fname htmltag mhtmltag",
        "svb hl hlloc hlsrc hlfr shptype docvar",
    )
    for word in line.split()
)
"""Destinations whose text is not the document's."""
READ_ANYWAY = frozenset(
    word
    for line in (
        "shppict shpinst shptxt footnote annotation atnauthor ud upr listtext pntext fldrslt moMath",
        "moMathPara nesttableprops result field formfield",
    )
    for word in line.split()
)
"""Destinations marked `\\*` whose text is read."""
STORIES = {
    "footnote": "note", "annotation": "comment", "shptxt": "box", "header": "header", "headerl": "header",
    "headerr": "header", "headerf": "header", "footer": "footer", "footerl": "footer", "footerr": "footer",
    "footerf": "footer",
}  # fmt: skip
MATHS = {"mden": "/", "msup": "^", "msub": "_", "mlim": "_", "mrad": "√"}
"""What stands before a part of a formula."""
