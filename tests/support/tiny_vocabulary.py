"""A small byte-level BPE vocabulary: 256 bytes, a few hundred merges, control and user-defined tokens, ChatML."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections import Counter
from dataclasses import dataclass, field

import gguf

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6

_CONTROLS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_USER_DEFINED = ("<think>", "</think>", "<tool_call>")

CHATML = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)

# What the merges are learned from: prose and a little code, so that prompts of both are a third as long.
_SAMPLE = """
The old lighthouse keeper wrote down every ship that passed the point, with the hour, the weather and the flag it flew.
When the harbour was closed in the winter of that year, nobody had thought about what would become of the books.
There were forty of them, bound in green cloth, and they stood on the shelf in the order in which they had been written.
A river does not forget where it has been, the engineers said; they had measured the bed for thirty years and found that
the water returned to its old course whenever the snow melted early. The report was longer than anyone wanted to read.
def read_pages(path, first=1, last=None):
    for number, page in enumerate(open_document(path), start=first):
        if last is not None and number > last:
            return
        yield {"number": number, "text": page.text, "tokens": len(page.tokens)}
In the second part of this document the results are given for each of the stations, together with the mean of the whole
period; in the third part they are compared with the values that the model had predicted before the measurements began.
"""


@functools.cache
def byte_alphabet() -> tuple[str, ...]:
    """The printable character that stands for each byte in a GPT-2 style vocabulary."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet, spare = [], 0x100
    for byte in range(256):
        if byte in printable:
            alphabet.append(chr(byte))
        else:
            alphabet.append(chr(spare))
            spare += 1
    return tuple(alphabet)


WILD = (
    *(
        "Hello",
        " world",
        "'s",
        "'T",
        "'re",
        "'LL",
        " 12",
        "345",
        "6",
        "  ",
        "   ",
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "/",
    ),
    *("。", "中文", "日本語", "한국", "🙂", "👨‍👩‍👧", "\u0301", "é", "É", "İ", "ǅ", "ſ", "'ſ", "½", "²", "Ⅷ", "٣", "।"),
    *(
        "\u200b",
        "\u00a0",
        "\u3000",
        "\u2028",
        "\x85",
        "\x1c",
        "_",
        "__",
        "()",
        "{};",
        ":",
        ": ",
        "//",
        "#",
        "aB",
        "ABc",
    ),
    *("camelCase", "x", "XYZ", "\ufeff", "क्षि", "ไทย", "نص", "…", "“", "”", ".", ",", "!\n", "?\r\n", "-", "--"),
)
"""Pieces whose borders the pre-tokenizers judge differently."""


def wild_text(rng: random.Random, pieces: int) -> str:
    """`pieces` random pieces in a row, a few of them any character of Unicode."""
    return "".join(_any_character(rng) if rng.random() < 0.05 else rng.choice(WILD) for _ in range(pieces))


def _any_character(rng: random.Random) -> str:
    ranges = ((0x01, 0x7F), (0x80, 0x2FFF), (0x3000, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x3FFFF))
    return chr(rng.randint(*rng.choice(ranges)))


@functools.cache
def _learn_merges(count: int, wild: bool = False) -> tuple[tuple[str, str], ...]:
    alphabet = byte_alphabet()
    if wild:
        # Merges across every border, so that a word cut elsewhere than by the server shows in the tokens.
        rng = random.Random(5)
        found = Counter(wild_text(rng, 4) for _ in range(1500))
    else:
        found = Counter(re.findall(r" ?[A-Za-z]+| ?[0-9]| ?[^A-Za-z0-9\s]+|\s+", _SAMPLE))
    words = {tuple(alphabet[b] for b in word.encode()): n for word, n in found.items()}
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, n in words.items():
            for pair in itertools.pairwise(word):
                pairs[pair] += n
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        words = {_merge(word, best): n for word, n in words.items()}
    return tuple(merges)


def _merge(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    out: list[str] = []
    i = 0
    while i < len(word):
        if word[i : i + 2] == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


@dataclass(frozen=True)
class TinyVocabulary:
    """Tokens as the GGUF holds them; `printable` says which are plain ASCII text."""

    pre: str
    tokens: tuple[str, ...]
    types: tuple[int, ...]
    merges: tuple[str, ...]
    printable: tuple[bool, ...]
    bos: int | None
    add_bos: bool
    template: str = field(repr=False, default=CHATML)
    scores: tuple[float, ...] = ()
    """Only for sentencepiece."""

    def add_to(self, writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("llama" if self.scores else "gpt2")
        writer.add_tokenizer_pre(self.pre)
        writer.add_token_list(list(self.tokens))
        writer.add_token_types(list(self.types))
        if self.scores:
            writer.add_token_scores(list(self.scores))
        else:
            writer.add_token_merges(list(self.merges))
        if self.bos is not None:
            writer.add_bos_token_id(self.bos)
        writer.add_eos_token_id(self.tokens.index("<|im_end|>"))
        writer.add_add_bos_token(self.add_bos)
        if self.template:
            writer.add_chat_template(self.template)


def make_vocabulary(
    pre: str,
    *,
    bos: bool = False,
    template_has_bos: bool = False,
    merges: int = 500,
    wild: bool = False,
    template: str = CHATML,
    controls: tuple[str, ...] = (),
    user_defined: tuple[str, ...] = (),
) -> TinyVocabulary:
    """A vocabulary for one pre-tokenizer name; with `bos`, `<|begin|>` goes before every prompt.

    `wild` merges also across the borders of words, digits, punctuation and lines.
    """
    learned = _learn_merges(merges, wild)
    normal = [*byte_alphabet(), *(a + b for a, b in learned)]
    all_controls = (*_CONTROLS, *(("<|begin|>",) if bos else ()), *controls)
    all_user = (*_USER_DEFINED, *user_defined)
    tokens = (*normal, *all_controls, *all_user)
    byte_of = {char: byte for byte, char in enumerate(byte_alphabet())}
    printable = [all(0x20 <= byte_of[char] < 0x7F for char in token) for token in normal]
    return TinyVocabulary(
        pre=pre,
        tokens=tokens,
        types=(*[NORMAL] * len(normal), *[CONTROL] * len(all_controls), *[USER_DEFINED] * len(all_user)),
        merges=tuple(f"{a} {b}" for a, b in learned),
        printable=(*printable, *[False] * (len(tokens) - len(normal))),
        bos=tokens.index("<|begin|>") if bos else None,
        add_bos=bos,
        template=("{{- bos_token }}" if template_has_bos else "") + template,
    )


def make_sentencepiece_vocabulary(*, template: str = CHATML) -> TinyVocabulary:
    """As Llama 2, Mistral and Gemma have it: pieces with scores, a space before each stretch of text, else bytes."""
    letters = sorted({char for char in _SAMPLE if char.strip()} | {"▁", "中", "文", "é"})
    words = Counter("▁" + word for word in _SAMPLE.split())
    pieces = {word[:end] for word in words for end in range(2, len(word) + 1)} | {"▁▁", "▁▁▁▁"}
    normal = [*letters, *sorted(pieces - set(letters))]
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    named = [*_CONTROLS, *_USER_DEFINED, "\n\n"]
    tokens = (*special, *normal, *named)
    types = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * len(normal), *[CONTROL] * len(_CONTROLS)]
    types += [USER_DEFINED] * (len(tokens) - len(types))
    plain = range(len(special), len(special) + len(normal))
    return TinyVocabulary(
        pre="default",
        tokens=tokens,
        types=tuple(types),
        merges=(),
        printable=tuple(i in plain and text.isascii() for i, text in enumerate(tokens)),
        bos=1,
        add_bos=True,
        template=template,
        scores=tuple(-10.0 / len(text) if i in plain else 0.0 for i, text in enumerate(tokens)),
    )
