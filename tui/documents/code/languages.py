"""How each language begins a function, a class or a method, and which files are written in it."""

from __future__ import annotations

import functools
import re
from pathlib import PurePath

import msgspec


class Language(msgspec.Struct, frozen=True):
    """One language: `family` says what its comments and strings look like."""

    name: str
    family: str
    lines: tuple[str, ...] = ()
    """Patterns of a line that defines something, after its indentation; the last group that matched is the name."""
    calls: str = ""
    """For languages whose methods have no keyword: which grammar of heads applies (`c`, `java`, `csharp`, `script`)."""
    ignore_case: bool = False


@functools.cache
def pattern_of(language: Language) -> re.Pattern[str]:
    """Finds definitions in a masked text that begins with a newline; the last group that matched is the name."""
    return re.compile(rf"\n[ \t]*+(?:{'|'.join(language.lines)})", re.I if language.ignore_case else 0)


_S = r"[ \t]++"
_O = r"[ \t]*+"
_WORD = r"([^\W\d]\w*+)"


def _mods(words: str) -> str:
    """Any of the words, each with the space after it, in any order and number."""
    return rf"(?:(?:{'|'.join(words.split())})\b{_O})*+"


_GENERICS = r"(?:<[^>\n]*+>[ \t]*+)?"
_RUST_VISIBLE = rf"(?:pub(?:\([^)\n]*+\))?{_S})?"
_JS_NAME = r"([\w$]++)"
_JS_FUNCTION = (
    rf"(?:async\b{_O})?(?:function\b|{_GENERICS}\([^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)*+\)[^=\n;]{{0,80}}=>"
    rf"|[\w$]++{_O}=>|{_GENERICS}\([ \t]*+\n[^;{{}}]{{0,800}}?\)[^=\n;]{{0,80}}=>)"
)

_ALL = (
    Language("python", "python", (rf"(?:async{_S})?def{_S}{_WORD}", rf"class{_S}{_WORD}")),
    Language(
        "javascript",
        "script",
        (
            rf"{_mods('export default declare abstract async')}function\b{_O}\*?{_O}{_JS_NAME}",
            rf"{_mods('export default declare abstract')}(?:class|interface|(?:const{_S})?enum){_S}{_JS_NAME}",
            rf"{_mods('export declare')}(?:const|let|var){_S}{_JS_NAME}{_O}(?::[^=\n]*+)?={_O}{_JS_FUNCTION}",
            rf"{_mods('export declare')}(?:const|let|var){_S}{_JS_NAME}{_O}={_O}class\b",
            rf"((?:[\w$]++\.)++[\w$]++){_O}={_O}{_JS_FUNCTION}",
            rf"{_JS_NAME}{_O}:{_O}(?:async\b{_O})?function\b",
        ),
        "script",
    ),
    Language(
        "c",
        "c",
        (
            rf"(?:typedef{_S})?{_mods('static const')}(?:template\b[^{{}};\n]*+\n?{_O})?"
            rf"(?:class|struct|union|enum(?:{_S}(?:class|struct))?)\b{_O}"
            rf"(?:(?:[A-Z_0-9]++(?:\([^)\n]*+\))?|alignas\([^)\n]*+\)|__\w++(?:\(\([^)\n]*+\)\))?){_S})*+"
            rf"([A-Za-z_]\w*+(?:::\w++)*+)(?=[^;(){{}}=\n]*+\n?{_O}\{{)",
            rf"typedef{_S}(struct|union|enum)(?={_O}\n?{_O}\{{)",
        ),
        "c",
    ),
    Language(
        "java",
        "java",
        (
            rf"{_mods('public protected private static final abstract sealed non-sealed strictfp')}"
            rf"(?:class|interface|enum|record|@interface){_S}{_WORD}",
        ),
        "java",
    ),
    Language(
        "csharp",
        "csharp",
        (
            rf"{_mods('public protected private internal static sealed abstract partial readonly unsafe new file ref')}"
            rf"(?:class|interface|enum|record(?:{_S}(?:struct|class))?|struct){_S}{_WORD}",
        ),
        "csharp",
    ),
    Language(
        "rust",
        "rust",
        (
            rf"{_RUST_VISIBLE}{_mods('default const async unsafe')}(?:extern{_S}(?:_++{_S})?)?"
            rf"(?:fn|struct|enum|union|trait){_S}{_WORD}",
            rf"{_RUST_VISIBLE}mod{_S}{_WORD}(?={_O}\{{)",
            r"((?:unsafe[ \t]++)?impl\b[^{;\n]*+)",
            rf"macro_rules!{_O}{_WORD}",
        ),
    ),
    Language(
        "go",
        "go",
        (
            rf"func{_S}(\([^)\n]*+\){_O}[^\W\d]\w*+)",
            rf"func{_S}{_WORD}",
            rf"type{_S}{_WORD}(?:\[[^\n]*?\])?{_S}(?:struct|interface)\b",
        ),
    ),
    Language(
        "php",
        "php",
        (
            rf"{_mods('abstract final public protected private static readonly')}function\b{_O}&?{_O}{_WORD}",
            rf"{_mods('abstract final readonly')}(?:class|interface|trait|enum){_S}{_WORD}",
        ),
    ),
    Language(
        "ruby",
        "ruby",
        (
            rf"{_mods('private public protected private_class_method module_function')}def{_S}([^\s(;]++)",
            rf"(?:class|module){_S}([A-Z][\w:]*+|<<{_O}\w++)",
        ),
    ),
    Language(
        "kotlin",
        "java",
        (
            rf"{_mods('public private protected internal open abstract override final suspend inline operator infix tailrec external actual expect')}"  # noqa: E501
            rf"fun{_S}(?:<[^>\n]*+>{_O})?((?:[\w<>?, *]++\.)*+[^\W\d]\w*+|`[^`\n]*+`)",
            rf"{_mods('public private protected internal open abstract sealed data enum annotation value inner inline companion fun actual expect')}"  # noqa: E501
            rf"(?:class|interface|object){_S}{_WORD}",
        ),
    ),
    Language(
        "swift",
        "java",
        (
            rf"(?:@\w++(?:\([^)\n]*+\))?{_S})*+"
            rf"{_mods('public private fileprivate internal open static class final override mutating nonmutating required convenience indirect async nonisolated')}"  # noqa: E501
            rf"(?:func|class|struct|enum|protocol|extension|actor){_S}([^\s(<:{{]++)",
            rf"{_mods('public private fileprivate internal open override required convenience')}(init)\b[?!]?[(<]",
        ),
    ),
    Language(
        "scala",
        "java",
        (
            rf"{_mods('private protected override final implicit inline lazy abstract sealed case open transparent')}"
            rf"(?:def|class|trait|object|enum){_S}([^\s(\[:={{]++)",
        ),
    ),
    Language(
        "shell",
        "shell",
        (
            rf"function{_S}([\w:.@-]++)",
            rf"([\w:.@-]++){_O}\({_O}\)(?={_O}\n?{_O}[{{(])",
        ),
    ),
    Language(
        "sql",
        "sql",
        (
            rf"(?:create|alter){_S}(?:or{_S}(?:replace|alter){_S})?"
            rf"{_mods('global local temporary temp unique unlogged materialized recursive external virtual editionable force')}"  # noqa: E501
            rf"(?:table|view|function|procedure|proc|trigger|index|type|schema|package(?:{_S}body)?|sequence){_S}"
            rf"(?:if{_S}not{_S}exists{_S})?([^\s(;]++)",
        ),
        ignore_case=True,
    ),
    Language(
        "lua",
        "lua",
        (rf"(?:local{_S})?function{_S}([\w.:]++)", rf"(?:local{_S})?([\w.]++){_O}={_O}function\b"),
    ),
    Language(
        "haskell",
        "haskell",
        (
            rf"(?:data|newtype|type(?:{_S}family)?){_S}([^\n={{]++)",
            rf"(?:class|instance){_S}([^\n{{]+?)(?={_S}where\b|{_O}(?:[\n{{]|\Z))",
            r"([a-z_][\w']*+)(?=[ \t]*+\n?[ \t]*+::)",
        ),
    ),
    Language(
        "r",
        "hash",
        (rf"([\w.]++|`[^`\n]++`){_O}(?:<<?-|=){_O}(?:function\b|\\\()", r"(setMethod|setClass|setGeneric)\("),
    ),
    Language(
        "julia",
        "julia",
        (
            rf"(?:@\w++{_S})?(?:function|macro|(?:mutable{_S})?struct|(?:bare)?module|(?:abstract|primitive){_S}type){_S}"
            r"([^\s(<{;]++)",
            rf"([\w.!]++)\([^()\n]*+\){_O}=(?![=>])",
        ),
    ),
    Language(
        "zig",
        "go",
        (
            rf"{_mods('pub export inline noinline')}(?:extern{_S}(?:_++{_S})?)?fn{_S}{_WORD}",
            rf"(?:pub{_S})?const{_S}{_WORD}{_O}={_O}{_mods('packed extern')}(?:struct|enum|union|opaque)\b",
            rf"(test){_S}[_{{]",
        ),
    ),
    Language("perl", "perl", (rf"sub{_S}([\w:']++)", rf"package{_S}([\w:]++)")),
    Language("elixir", "elixir", (rf"(?:def|defp|defmacro|defmacrop|defmodule|defprotocol|defimpl){_S}([^\s(,]++)",)),
    Language("erlang", "percent", (rf"-spec{_S}([a-z]\w*+)\(",)),
    Language(
        "dart",
        "script",
        (rf"{_mods('abstract base sealed final interface mixin')}(?:class|mixin|enum|extension){_S}{_WORD}",),
        "java",
    ),
    Language("nim", "python", (rf"(?:proc|func|method|iterator|template|macro|converter){_S}([^\s(\[*]++)",)),
    Language("ocaml", "ml", (rf"let{_S}(?:rec{_S})?([a-z_][\w']*+)(?={_S}[^=\s])", rf"(?:module|class){_S}{_WORD}")),
    Language(
        "fsharp",
        "ml",
        (
            rf"let{_S}(?:rec{_S}|inline{_S}|private{_S})*+([a-z_][\w']*+)(?={_S}[^=\s])",
            rf"(?:module|type){_S}([\w.]++)",
            rf"(?:static{_S})?member{_S}([\w.]++)",
        ),
    ),
    Language("lisp", "lisp", (rf"\((?:def[\w*!-]*+|define[\w*!-]*+){_S}\(?([^\s()]++)",)),
    Language(
        "fortran",
        "fortran",
        (
            rf"(?:(?:recursive|pure|elemental|impure|integer|real|logical|character|complex|double{_S}precision|type)"
            rf"(?:\([^)\n]*+\))?{_S})*+(?:subroutine|function|program|module(?!{_S}procedure)){_S}{_WORD}",
        ),
        ignore_case=True,
    ),
    Language(
        "pascal",
        "pascal",
        (rf"(?:class{_S})?(?:procedure|function|constructor|destructor){_S}([\w.]++)",),
        ignore_case=True,
    ),
    Language("powershell", "power", (rf"(?:function|filter|class|enum){_S}([\w:-]++)",), ignore_case=True),
    Language(
        "objc",
        "c",
        (rf"([-+]{_O}\([^)\n]*+\){_O}\w++)", rf"@(?:interface|implementation|protocol){_S}{_WORD}"),
        "c",
    ),
    Language(
        "groovy",
        "java",
        (
            rf"{_mods('public protected private static final abstract')}(?:class|interface|enum|trait){_S}{_WORD}",
            rf"{_mods('public protected private static final')}def{_S}{_WORD}{_O}\(",
        ),
        "java",
    ),
    Language("proto", "java", (rf"(?:message|service|enum|rpc){_S}{_WORD}",)),
    Language("vim", "fortran", (rf"fu(?:nction)?!?{_S}([\w:#.]++)",)),
    Language("tcl", "hash", (rf"proc{_S}(\S++)",)),
    Language("cmake", "hash", (rf"(?:function|macro){_O}\({_O}(\w++)",), ignore_case=True),
    Language("d", "c", (rf"(?:class|struct|interface|enum|union|template){_S}{_WORD}",), "java"),
    Language(
        "vala",
        "java",
        (rf"{_mods('public private protected abstract')}(?:class|interface|enum|struct){_S}{_WORD}",),
        "java",
    ),
)
_BY_NAME = {language.name: language for language in _ALL}
_SUFFIXES = {
    "python": "py pyi pyx pyw",
    "javascript": "js mjs cjs jsx ts tsx mts cts",
    "c": "c h cc cpp cxx hh hpp hxx cu cuh ino glsl",
    "java": "java",
    "csharp": "cs",
    "rust": "rs",
    "go": "go",
    "php": "php",
    "ruby": "rb rake",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc",
    "shell": "sh bash zsh ksh fish",
    "sql": "sql",
    "lua": "lua",
    "haskell": "hs",
    "r": "r",
    "julia": "jl",
    "zig": "zig",
    "perl": "pl pm",
    "elixir": "ex exs",
    "erlang": "erl",
    "dart": "dart",
    "nim": "nim",
    "ocaml": "ml mli",
    "fsharp": "fs fsx",
    "lisp": "clj cljs el lisp rkt scm",
    "fortran": "f f90",
    "pascal": "pas",
    "powershell": "ps1",
    "objc": "m mm",
    "groovy": "groovy gradle",
    "proto": "proto",
    "vim": "vim",
    "tcl": "tcl",
    "cmake": "cmake",
    "d": "d",
    "vala": "vala",
}
_BY_SUFFIX = {f".{suffix}": name for name, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_BY_FILE = {
    "rakefile": "ruby", "gemfile": "ruby", "vagrantfile": "ruby", "sconstruct": "python", "sconscript": "python",
    "cmakelists.txt": "cmake", "jenkinsfile": "groovy",
}  # fmt: skip
_BY_PROGRAM = (
    ("python", "python"), ("node", "javascript"), ("deno", "javascript"), ("ruby", "ruby"), ("perl", "perl"),
    ("php", "php"), ("lua", "lua"), ("rscript", "r"), ("julia", "julia"), ("tclsh", "tcl"), ("sh", "shell"),
)  # fmt: skip


def language_of(name: str, first_line: str = "") -> Language | None:
    """The language of a file by its name, then by the program in its `#!` line; None for what defines nothing."""
    path = PurePath(name)
    found = _BY_SUFFIX.get(path.suffix.lower()) or _BY_FILE.get(path.name.lower())
    if found is None and not path.suffix and first_line.startswith("#!"):
        found = next((language for program, language in _BY_PROGRAM if program in first_line.lower()), None)
    return _BY_NAME[found] if found else None
