"""The outline of source code: what is found in each language, where it begins, and that broken code does no harm."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.documents.code.languages import _ALL, _SUFFIXES, language_of
from tui.documents.code.masks import FAMILIES, masked
from tui.documents.code.outline import code_headings

PYTHON = '''"""def not_this(): class Nor: pass"""
import functools


# What it is for.
@functools.cache
@decorated(
    "with",
    several=(1, 2),
)
class Pump(Base):
    """A docstring.

    def nor_this(self): ...
    """

    async def run(self, text="def no(): pass"):
        def inner():
            pass

        return inner

    @property
    def level(self): return 1


x = 1  # def no


def last() -> None:
    pass
'''

C = """/* int no(void) { } */
#define MACRO(x) do { \\
    } while (0)
#include "a.h"

struct pump {
    int level;
};

// Runs the pump.
static const char *run(struct pump *p, int n)
{
    if (n) { return "int no() {"; }
    for (;;) { }
}

static int
gnu_style (int a,
           int b)
{
  return a + b;
}

PyAPI_FUNC(int) exported(void) { return 1; }
int declared(void);
"""

CPP = """namespace a {

template <typename T>
class Pump : public Base {
 public:
  explicit Pump(int n) : n_(n), m_{n} {}
  ~Pump() override {}
  bool operator==(const Pump& other) const { return true; }
  void run() const noexcept;
};

template <class T>
void Pump<T>::run() const noexcept {
  auto s = R"(void no() {)";
  while (true) { other(s); }
}

}  // namespace a
"""

JAVASCRIPT = """// function no() {}
export default class Pump extends Base {
  static async run({ a, b }) {
    if (a) { call(b) }
    return `class ${b} { }`
  }
  get level() { return 1 }
}

/** Doc. */
export const check = async (a, b = f(1)) => {
  const re = /function x() {/
}
function* walk() {}
exports.stop = function (req) {}
Pump.prototype.go = (x) => x
"""

RUST = """/// Doc.
#[derive(Debug, Clone)]
pub struct Pump<'a> { name: &'a str }

impl<'a> Pump<'a> {
    pub const fn new(name: &'a str) -> Self { Self { name } }
    pub(crate) async unsafe fn run(&self) { let s = r#"fn no() {}"#; }
}
mod tests { }
macro_rules! check { () => {} }
"""

GO = """package a

// Pump does.
type Pump struct { level int }

func (p *Pump[T]) Run() error { s := `func no() {}`; return nil }
func main() {}
"""

JAVA = """@Annotated(
    name = "x")
public final class Pump<T> {
    /** Doc. */
    @Override
    public <R> List<R> run(int a) throws IOException {
        if (a > 1) { return call(a); }
        new Thread() { };
    }
    Pump(int n) { }
    enum Kind { A }
}
"""


def outline(text: str, name: str) -> list[tuple[int, str]]:
    found = code_headings(text, name)
    starts = [heading.start for heading in found]
    assert starts == sorted(set(starts))
    assert all(start == 0 or text[start - 1] in "\r\n" for start in starts)
    return [(heading.level, heading.title) for heading in found]


def test_python() -> None:
    assert outline(PYTHON, "a.py") == [(1, "Pump"), (2, "run"), (3, "inner"), (2, "level"), (1, "last")]
    starts = [PYTHON[heading.start :].lstrip().split("\n")[0] for heading in code_headings(PYTHON, "a.py")]
    assert starts[:4] == [
        "# What it is for.",
        'async def run(self, text="def no(): pass"):',
        "def inner():",
        "@property",
    ]


def test_c() -> None:
    assert outline(C, "a.c") == [(1, "pump"), (1, "run"), (1, "gnu_style"), (1, "exported")]
    starts = [C[heading.start :].split("\n")[0] for heading in code_headings(C, "a.h")]
    assert starts[1:3] == ["// Runs the pump.", "static int"]


def test_cpp() -> None:
    assert [title for _, title in outline(CPP, "a.cc")] == ["Pump", "Pump", "~Pump", "operator==", "Pump<T>::run"]
    last = code_headings(CPP, "a.cc")[-1]
    assert CPP[last.start :].startswith("template <class T>\nvoid")


def test_javascript() -> None:
    expected = [
        (1, "Pump"), (2, "run"), (2, "level"), (1, "check"), (1, "walk"), (1, "exports.stop"), (1, "Pump.prototype.go")
    ]  # fmt: skip
    assert outline(JAVASCRIPT, "a.ts") == expected
    assert JAVASCRIPT[code_headings(JAVASCRIPT, "a.js")[3].start :].startswith("/** Doc. */\nexport const")


def test_rust() -> None:
    expected = [(1, "Pump"), (1, "impl<'a> Pump<'a>"), (2, "new"), (2, "run"), (1, "tests"), (1, "check")]
    assert outline(RUST, "a.rs") == expected
    assert code_headings(RUST, "a.rs")[0].start == 0


def test_go() -> None:
    assert outline(GO, "a.go") == [(1, "Pump"), (1, "Pump.Run"), (1, "main")]


def test_java() -> None:
    assert outline(JAVA, "A.java") == [(1, "Pump"), (2, "run"), (2, "Pump"), (2, "Kind")]
    assert code_headings(JAVA, "A.java")[0].start == 0
    assert JAVA[code_headings(JAVA, "A.java")[1].start :].startswith("    /** Doc. */")


@pytest.mark.parametrize(
    ("name", "text", "titles"),
    [
        ("a.rb", "module A\n  class B < C\n    def self.run(x)\n    end\n    def ok?; end\n  end\nend\n", ["A", "B", "self.run", "ok?"]),  # noqa: E501
        ("a.php", "<?php\nabstract class A {\n  public static function run($x) {}\n}\nfunction f() {}\n", ["A", "run", "f"]),  # noqa: E501
        ("a.cs", "namespace A;\npublic sealed class B {\n  [Test]\n  public async Task<int> Run(int a) {\n  }\n  B() {}\n}\n", ["B", "Run", "B"]),  # noqa: E501
        ("a.kt", "data class A(val x: Int)\nfun String.run(): Int = 1\nobject B {\n    private suspend fun go() {}\n}\n", ["A", "String.run", "B", "go"]),  # noqa: E501
        ("a.swift", "public struct A {\n    init(x: Int) {}\n    mutating func run() {}\n}\nextension B: C {}\n", ["A", "init", "run", "B"]),  # noqa: E501
        ("a.sh", "run() {\n  echo 'go() {'\n}\nfunction stop {\n}\n", ["run", "stop"]),
        ("a.sql", "-- create table no (x int);\nCREATE TABLE IF NOT EXISTS a.b (x int);\ncreate or replace function f() returns int as $$ $$;\n", ["a.b", "f"]),  # noqa: E501
        ("a.lua", "local function f()\nend\nfunction M.g:h()\nend\nM.k = function() end\n", ["f", "M.g:h", "M.k"]),
        ("a.hs", "data A = B | C\nrun :: Int -> Int\nrun x = x\nclass Eq a => D a where\n", ["A", "run", "Eq a => D a"]),  # noqa: E501
        ("a.scala", "object A {\n  def run(x: Int): Int = x\n}\ncase class B(x: Int)\n", ["A", "run", "B"]),
        ("a.R", "run <- function(x) x\n.go = function(y) {\n}\n", ["run", ".go"]),
        ("a.jl", "struct A\nend\nfunction run(x)\nend\ng(x) = x + 1\n", ["A", "run", "g"]),
        ("a.zig", "pub fn run(a: u8) void {}\nconst A = struct {\n    fn go() void {}\n};\n", ["run", "A", "go"]),
        ("a.pl", "package A::B;\nsub run {\n}\n", ["A::B", "run"]),
        ("Rakefile", "def go\nend\n", ["go"]),
        ("tool", "#!/usr/bin/env python3\ndef main():\n    pass\n", ["main"]),
    ],
)  # fmt: skip
def test_other_languages(name: str, text: str, titles: list[str]) -> None:
    assert [title for _, title in outline(text, name)] == titles


@pytest.mark.parametrize("name", ["a.toml", "a.json", "a.yaml", "a.ini", "a.css", "a.html", "a.unknown", "Makefile"])
def test_files_that_define_nothing_have_no_outline(name: str) -> None:
    assert code_headings("[section]\nkey = 1\nbody { }\nall: x\n", name) == ()


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_line_ends(newline: str) -> None:
    text = PYTHON.replace("\n", newline)
    assert outline(text, "a.py") == outline(PYTHON, "a.py")


def test_every_language_has_a_family_and_a_suffix() -> None:
    for language in _ALL:
        assert language.family in FAMILIES
        assert language_of(f"a.{_SUFFIXES[language.name].split()[0]}") is language


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="\"'`/*#\\\n\r {}()[]=-<>aR@x;:|", max_size=80), st.sampled_from(sorted(FAMILIES)))
def test_masks_are_as_long_as_the_text(text: str, family: str) -> None:
    bare = masked(text, family)
    assert len(bare) == len(text)
    assert [at for at, sign in enumerate(bare) if sign == "\n"] == [
        at for at, sign in enumerate(text) if sign == "\n" or (sign == "\r" and text[at + 1 : at + 2] != "\n")
    ]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([PYTHON, C, CPP, JAVASCRIPT, RUST, GO, JAVA]), st.data(), st.sampled_from(_ALL))
def test_broken_code_in_any_language(text: str, data: st.DataObject, language: object) -> None:
    first, last = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
    outline(text[:first] + text[last:], f"a.{_SUFFIXES[language.name].split()[0]}")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "unit", ["(", "{", "f(\n", "f(){\n", "@a(\n", "/*", '"""', "x=/[", "const x = (\n", 'R"x(', "a::", "class A\n", " "]
)
@pytest.mark.parametrize("name", ["a.py", "a.cc", "a.ts", "A.java", "a.rs"])
def test_hostile_code_is_read_in_one_pass(name: str, unit: str) -> None:
    """Each would take minutes, or all of the stack, if anything nested or went back."""
    code_headings(unit * (200_000 // len(unit)), name)
