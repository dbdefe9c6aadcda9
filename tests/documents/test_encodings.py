"""Encodings: decided step by step, said when it is not UTF-8, never by dropping bytes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.documents.clean import number_list, unreadable_share, without_forbidden
from tui.documents.encodings import Decoded, check_encoding, decode
from tui.documents.refusal import NotText, Refusal
from tui.errors import UsageProblem

CHINESE = "道可道，非常道。这是一个关于长文档阅读的测试，内容包括许多不同的句子。我们希望它能够被正确地识别。\n" * 20
TRADITIONAL = "道可道，非常道。名可名，非常名。無名天地之始；有名萬物之母。故常無欲，以觀其妙。\n" * 20
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n" * 20
RUSSIAN = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.\n" * 20
KOREAN = "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n" * 20
FRENCH = "Le café était fermé, mais l’élève a trouvé une pâtisserie à côté. Où êtes-vous allés, déjà en août ?\n" * 20
WESTERN = "It was a café in “Zürich”, naïve – and so on.\nPlain English words follow here.\n" * 20


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CHINESE, "gb18030"), (CHINESE, "gbk"), (TRADITIONAL, "big5"), (CHINESE, "utf-16-le"), (CHINESE, "utf-16-be"),
        (JAPANESE, "shift_jis"), (JAPANESE, "euc_jp"), (JAPANESE, "iso2022_jp"), (KOREAN, "cp949"),
        (KOREAN, "iso2022_kr"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8_r"), (WESTERN, "cp1252"), (WESTERN, "utf-16"),
        (WESTERN, "utf-16-le"), (WESTERN, "utf-32"), (FRENCH, "cp1252"),
    ],
    ids=lambda value: value if len(value) < 12 else value[:2] if value.isascii() else "text",
)  # fmt: skip
def test_what_is_decided_is_right_and_said(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.encoding != "utf-8"
    assert decoded.encoding in decoded.warnings[0]


SHORT = [
    ("合同自双方签字盖章之日起生效。", "gb18030"), ("请于十月三十一日之前提交报告。", "utf-16-le"),
    ("今天天气很好。", "utf-16-be"), ("臺北市立圖書館今天開放。", "big5"), ("会議は東京で行われました。", "shift_jis"),
    ("報告書の提出期限です。", "euc_jp"), ("La porta è aperta.", "latin-1"),
    ("오늘 날씨가 좋네요.", "cp949"), ("Сегодня хорошая погода.", "cp1251"), ("Сегодня хорошая погода.", "koi8_r"),
    ("Schöne Grüße", "latin-1"), ("Le café était fermé, mais l'élève a trouvé une pâtisserie.", "latin-1"),
    ("¿Dónde está la biblioteca?", "cp1252"), ("naïve – “quoted”", "cp1252"), ("Zażółć gęślą jaźń", "cp1250"),
    ("Příliš žluťoučký kůň", "cp1250"), ("Bugün hava çok güzel, dışarı çıkalım mı?", "cp1254"),
    ("Καλημέρα σας", "cp1253"), ("היום יום יפה מאוד ואני שמח", "cp1255"), ("الطقس جميل اليوم", "cp1256"),
    ("วันนี้อากาศดีมาก", "cp874"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "encoding"), SHORT, ids=[f"{encoding}-{len(text)}" for text, encoding in SHORT])
def test_a_short_text_is_decided_rightly(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.warnings[0].startswith(f"It was read as {decoded.encoding}, judged by its look.")
    assert "--encoding" in decoded.warnings[0]


def test_pieces_of_every_length_are_right_or_refused() -> None:
    """Of pieces with 12 characters and more, cut anywhere, next to none is taken for another encoding."""
    chance = random.Random(7)
    wrong = refused = 0
    samples = [
        (CHINESE, "gb18030"), (TRADITIONAL, "big5"), (JAPANESE, "shift_jis"), (KOREAN, "cp949"), (RUSSIAN, "cp1251"),
        (CHINESE, "utf-16-le"), (TRADITIONAL, "utf-16-be"), (FRENCH, "cp1252"),
    ]  # fmt: skip
    for text, encoding in samples:
        for _ in range(40):
            start = chance.randrange(len(text) - 80)
            piece = text[start : start + chance.randrange(12, 80)]
            if not piece.isascii():
                try:
                    wrong += decode(piece.encode(encoding)).text != piece
                except Refusal:
                    refused += 1
    assert wrong == 0
    assert refused <= 16


OLDER = [
    ("Сегодня хорошая погода, мы пошли гулять в парк, а дети бегают по траве.", "cp866"),
    ("Сегодня хорошая погода, мы пошли гулять в парк, а дети бегают по траве.", "iso8859_5"),
    ("Сьогодні гарна погода, її діти бігають по траві, а ми пішли гуляти.", "koi8_u"),
    ("Dzisiaj jest ładna pogoda, poszliśmy na spacer; dzieci biegają po śniegu, źdźbło trawy żółknie.", "iso8859_2"),
    ("Dnes je hezké počasí, šli jsme na procházku. Příliš žluťoučký kůň úpěl ďábelské ódy.", "iso8859_2"),
    ("Heute ist schönes Wetter, wir gingen über die Brücke. Die Größe der Äpfel, süße Früchte und schöne Gärten. "
     "Für die Türen und Öfen der Häuser gibt es Schlüssel.", "mac_roman"),
    ("Heute ist schönes Wetter, wir gingen über die Brücke. Die Größe der Äpfel, süße Früchte und schöne Gärten. "
     "Für die Türen und Öfen der Häuser gibt es Schlüssel.", "cp850"),
    ("الطقس جميل اليوم، ذهبنا في نزهة إلى الحديقة. الأطفال يركضون على العشب.", "iso8859_6"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "encoding"), OLDER, ids=[f"{encoding}-{len(text)}" for text, encoding in OLDER])
def test_older_encodings_are_not_taken_for_the_common_ones_of_their_script(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.warnings[0].startswith(f"It was read as {decoded.encoding}, judged by its look.")


def test_typographic_quotes_are_no_accented_letters() -> None:
    text = "“Plain words”, he said — the others’ words, too — and ‘more’ of them; «so it is» and «was».\n" * 60
    assert decode(text.encode("cp1252")).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(CHINESE, "gb18030"), (TRADITIONAL, "big5"), (JAPANESE, "euc_jp"), (KOREAN, "cp949")],
    ids=lambda value: value if len(value) < 12 else "text",
)
@pytest.mark.parametrize("line", [1, 9])
def test_damaged_bytes_are_kept_and_located_in_every_encoding(text: str, encoding: str, line: int) -> None:
    lines = text.encode(encoding).split(b"\n")
    lines[line] = b"\xff" + lines[line]
    data = b"\n".join(lines)
    for decoded in (decode(data), decode(data, encoding)):
        assert decoded.text.replace("\ufffd", "", 1).count("\n") == text.count("\n")
        assert decoded.text.split("\n")[line + 1 :] == text.split("\n")[line + 1 :]
        assert any(f"damaged bytes in line {line + 1};" in warning for warning in decoded.warnings)


def test_the_users_word_is_not_taken_for_what_it_cannot_be() -> None:
    with pytest.raises(Refusal, match="not utf-8"):
        decode(FRENCH.encode("cp1252"), "utf-8")
    with pytest.raises(Refusal, match="not ascii"):
        decode("plain words and one é\n".encode(), "ascii")


@pytest.mark.parametrize("data", [b"\xd7", b"\xe8\xe9", b"\xf1\xe0\xe5"])
def test_what_could_be_anything_is_refused_with_the_remedy(data: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        decode(data)
    assert "--encoding" in caught.value.remedy


def test_the_users_word_is_taken_without_a_note() -> None:
    assert decode("文".encode("gb18030"), "gb18030") == Decoded("文", "gb18030")
    with pytest.raises(Refusal) as caught:
        decode(b"\xff\xff", "gb18030")
    assert "gb18030" in caught.value.reason


@pytest.mark.parametrize("name", ["klingon", "base64", "rot13", "a\0b", ""])
def test_an_encoding_that_there_is_not(name: str) -> None:
    with pytest.raises(UsageProblem):
        check_encoding(name)


@pytest.mark.parametrize("name", ["utf-8", "utf-16", "utf_16_le", "GB18030", "big5", "Shift-JIS", "latin-1", "cp1252"])
def test_encodings_that_there_are(name: str) -> None:
    check_encoding(name)


def test_a_long_text_with_few_letters_beyond_ascii() -> None:
    text = "Plain English words in a long line of a file.\n" * 4000 + "C'était à l'été dernier, déjà.\n"
    assert decode(text.encode("cp1252")).text == text


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


MARKS_ONLY = (
    "“I don’t know,” she said – “it’s the captain’s ship.” We’ll see… — the crew didn’t answer. ",
    "voyage.” The stone’s edge – it was cold. ",
    "It’s the ship’s log. ",
    "« Il me dit que l’on part demain », dit le capitaine – et l’on partit. L’homme n’est pas venu. ",
    "„Das ist gut“, sagte er – „wir gehen morgen.“ Die Frau kam nicht. ‚Nein‘, sagte sie. ",
    "«Vamos», dijo ella – el barco no vino. “Bien”, dijo. — No importa. ",
)


@pytest.mark.parametrize("text", MARKS_ONLY)
@pytest.mark.parametrize("times", [1, 3, 40, 400])
@pytest.mark.parametrize("codec", ["cp1252", "cp1250"])
def test_quotes_and_dashes_alone_are_read_as_such(text: str, times: int, codec: str) -> None:
    assert decode((text * times).encode(codec)).text == text * times


@pytest.mark.parametrize(
    "text", [*MARKS_ONLY, "A plain line with a dash – and no more. ", "It’s 5—6 pounds… nothing. "]
)
@pytest.mark.parametrize("times", [3, 40])
def test_those_of_the_macintosh_too(text: str, times: int) -> None:
    assert decode((text * times).encode("mac-roman")).text == text * times
