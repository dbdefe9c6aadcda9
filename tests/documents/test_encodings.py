"""Encodings: decided step by step, said when it is not UTF-8, never by dropping bytes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.documents.clean import number_list, unreadable_share, without_forbidden
from tui.documents.encodings import decode
from tui.documents.refusal import NotText, Refusal

CHINESE = "道可道，非常道。这是一个关于长文档阅读的测试，内容包括许多不同的句子。我们希望它能够被正确地识别。\n" * 20
TRADITIONAL = "道可道，非常道。名可名，非常名。無名天地之始；有名萬物之母。故常無欲，以觀其妙。\n" * 20
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n" * 20
RUSSIAN = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.\n" * 20
KOREAN = "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n" * 20
WESTERN = "It was a café in “Zürich”, naïve – and so on.\nPlain English words follow here.\n" * 20


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CHINESE, "gb18030"), (CHINESE, "gbk"), (TRADITIONAL, "big5"), (CHINESE, "utf-16-le"), (CHINESE, "utf-16-be"),
        (JAPANESE, "shift_jis"), (JAPANESE, "euc_jp"), (JAPANESE, "iso2022_jp"), (KOREAN, "cp949"),
        (KOREAN, "iso2022_kr"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8_r"), (WESTERN, "cp1252"), (WESTERN, "utf-16"),
        (WESTERN, "utf-16-le"), (WESTERN, "utf-32"),
    ],
    ids=lambda value: value if len(value) < 12 else None,
)  # fmt: skip
def test_what_is_decided_is_right_and_said(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.encoding != "utf-8"
    assert decoded.encoding in decoded.warnings[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf8_needs_no_words(encoding: str) -> None:
    decoded = decode(CHINESE.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (CHINESE, "utf-8", ())


def test_damaged_utf8_is_kept_and_located() -> None:
    data = CHINESE.encode()
    lines = data.split(b"\n")
    lines[4] = lines[4][:10] + b"\xff" + lines[4][10:]
    decoded = decode(b"\n".join(lines))
    assert decoded.encoding == "utf-8"
    assert "\ufffd" in decoded.text
    assert "line 5;" in decoded.warnings[0]
    # Nothing but the damaged place differs.
    assert decoded.text.replace("\ufffd", "").count("道") >= CHINESE.count("道") - 1


def test_a_file_cut_inside_a_character_keeps_the_rest() -> None:
    decoded = decode(CHINESE.encode("gb18030")[:-2])
    assert decoded.text.startswith(CHINESE[:-2])
    assert any("ends inside a character" in warning for warning in decoded.warnings)


def test_a_large_file_is_judged_by_a_sample_and_decoded_whole() -> None:
    text = CHINESE * 120
    decoded = decode(text.encode("gb18030"))
    assert decoded.text == text


def test_nul_and_noncharacters_are_marked_and_counted() -> None:
    text = "a line of ordinary text\n" * 40 + "x\x00y\ufffez\n"
    decoded = decode(text.encode())
    assert decoded.text.endswith("x\ufffdy\ufffdz\n")
    assert "2 characters" in decoded.warnings[0]


def test_a_short_western_text_is_not_taken_for_utf16() -> None:
    assert decode("café".encode("latin-1")).text == "café"


@pytest.mark.parametrize("size", [100, 3000, 300_000])
def test_random_bytes_are_refused(size: int) -> None:
    with pytest.raises(Refusal):
        decode(random.Random(size).randbytes(size))


def test_controls_without_end_are_binary() -> None:
    with pytest.raises(NotText):
        decode(b"\x01\x02\x03\x04abcd" * 100)


def test_terminal_escapes_are_text() -> None:
    log = "\x1b[31merror\x1b[0m: something\n" * 50
    assert decode(log.encode()).text == log


@given(st.text())
def test_any_utf8_comes_out_as_it_was_or_is_refused(text: str) -> None:
    try:
        decoded = decode(text.encode("utf-8", "surrogatepass"))
    except Refusal:
        return
    if decoded.encoding == "utf-8" and not decoded.warnings:
        assert decoded.text == text.removeprefix("\ufeff")
    assert without_forbidden(decoded.text) == (decoded.text, 0)


@given(st.binary(max_size=400))
def test_any_bytes_give_clean_text_or_a_refusal(data: bytes) -> None:
    try:
        decoded = decode(data)
    except Refusal:
        return
    assert without_forbidden(decoded.text) == (decoded.text, 0)
    decoded.text.encode("utf-8")


def test_page_numbers_fold() -> None:
    assert number_list([9, 3, 7, 8, 3]) == "3, 7-9"
    assert number_list([1, 2]) == "1-2"
    assert number_list([]) == ""


def test_share_of_unreadable_characters() -> None:
    assert unreadable_share("") == 0.0
    assert unreadable_share("all of this can be read\n\t") == 0.0
    assert unreadable_share("\x01\x02ab") == 0.5
    assert unreadable_share("\ue000\ufffd") == 1.0
