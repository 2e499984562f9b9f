"""YAML and JSON that people write: what is text, which marks are skipped, and what is refused with its place."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.documents import BadDocument, decode, read_json, read_yaml

MARK = "\ufeff"


@pytest.mark.parametrize(
    "word",
    [
        *("12:30", "12:30:45", "2026-11-26", "2026-11-26T10:00:00Z", "1:2", "2001-01-01 10:00"),
        *("no", "yes", "on", "off", "NO", "Yes", "y", "n", "None", "nan", ".nan", ".inf", "-.inf"),
        *("007", "01234", "08", "0x1F", "0o17", "0b11", "1_000", "+1", "-0", "1.", ".5", "1.10", "2.50", "1e3"),
        *("=", "<<", "a#b", "https://x.y/#z", "C#", "@at", "50%", "a: b"),
    ],
)
def test_an_unquoted_word_is_a_text(word: str) -> None:
    if ": " in word or word[0] in "@":  # these cannot stand without quotes
        with pytest.raises(BadDocument, match="in line 1"):
            read_yaml(f"a: {word}")
    else:
        assert read_yaml(f"a: {word}\n? {word}\n: [{word}]") == {"a": word, word: [word]}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(("3", 3), ("-12", -12), ("0", 0), ("0.5", 0.5), ("-1.0", -1.0), ("1.5e3", 1500.0), ("1.0e+17", 1e17)),
        *(("true", True), ("True", True), ("FALSE", False), ("null", None), ("Null", None), ("~", None), ("", None)),
        *(("'3'", "3"), ('"true"', "true"), ("|-\n  no #W1", "no #W1"), ("x # a comment", "x"), ("3  # three", 3)),
    ],
)
def test_literals_and_quoted_texts(word: str, value: Any) -> None:
    read = read_yaml(f"a: {word}")["a"]
    assert (read, type(read)) == (value, type(value))


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: "e" not in repr(number)))
def test_a_number_is_read_as_it_is_written(number: float) -> None:
    assert read_yaml(f"a: {number!r}")["a"] == number


@pytest.mark.parametrize(
    "text",
    [
        MARK + "a: 1",
        MARK + "a: 1\r\n",
        MARK + "---\na: 1",
        "---\n" + MARK + "a: 1",
        MARK + "--- \r\n" + MARK + "a: 1",
        MARK + "# a comment\na: 1",
    ],
)
def test_a_byte_order_mark_before_a_document_is_skipped(text: str) -> None:
    assert read_yaml(text) == {"a": 1}
    assert read_yaml(decode(text.encode())) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (MARK * 2 + "a: 1", "second byte order mark (U+FEFF), which is invisible: delete it, in line 1, column 2"),
        (MARK * 2 + "---\na: 1", "second byte order mark"),
        ("---\n" + MARK * 2 + "a: 1", "invisible byte order mark (U+FEFF) in column 1, in line 2"),
        ("a: 1\n" + MARK + "b: 2", "invisible byte order mark (U+FEFF) in column 1, in line 2"),
        ("a: 1\nb: x" + MARK, "invisible byte order mark (U+FEFF) in column 5, in line 2"),
        ("a\u200b: 1", "this name has an invisible character; the line has an invisible zero width space (U+200B)"),
        ("a: 1\nb:\u00a02", "invisible no-break space (U+00A0) in column 3"),
        ("a: 1\n\u00a0b: 2", "invisible no-break space (U+00A0) in column 1"),
        ("a: order ##5", "a # begins a comment here, and a text would be lost: put it in quotes"),
        ("a: [Is it late?, Is it broken?]", "put a text with ? in quotes, in line 1"),
        ("a: one\u2028two: three", "an invisible line separator (U+2028) ends a line in YAML: delete it"),
        ("a: 1\nb: x\x85y", "(U+0085) ends a line in YAML: delete it, or write it as an escape, in line 2"),
        ('a: "\\U00110000"', "this text has an escape that is no character, in line 1"),
        ('a: "\\UFFFFFFFF"', "this text has an escape that is no character"),
        ("a: 1\nb: order #W1", "a # begins a comment here, and a text would be lost: put it in quotes"),
        ("a: {b: order #1, c: 2}", "begins a comment"),
        ("a: the first\n  line, then #2", "begins a comment"),
        ("a: order\n  #5 is late", "begins a comment here, and a text would be lost"),
        ("color: #fff", "begins a comment"),
        ("- #W1", "begins a comment"),
        ('a: "x" #W1', "begins a comment"),
        ("[b, #c\n d]", "begins a comment"),
        ("[b,#c\n d]", "begins a comment"),
        ("{a: #b\n c}", "begins a comment"),
        ("a: > #5\nb: 1", "begins a comment"),
        ("a: 1\nb: 2\na: 3", "“a” occurs twice, in line 3"),
        ("a: {{params.x}}", "a name must be a text; put a text with {{…}} in quotes, in line 1"),
        ("a: !!str 3", "the tag !!str is not supported"),
        ("a: !!python/object/apply:os.system [ls]", "the tag !!python/object/apply:os.system is not supported"),
        ("a: &x 1", "&x is an anchor: write each value out"),
        ("a: *x", "*x is an alias: write each value out"),
        ("a: 1\n---\nb: 2", "expected a single document in the stream, but found another document, in line 2"),
        ("a: 1\nb: \x07", "control character (U+0007) cannot stand in YAML, in line 2"),
        ("a:\tb\n\tc: 1", "cannot start any token"),
        ("[" * 50, "more than 40 levels"),
        ("a: " + "1" * 6_000, "this number cannot be kept exactly: round it, or put it in quotes, in line 1"),
        ("a: 0.12345678901234567891", "this number cannot be kept exactly"),
        ("a: 1.5e400", "this number cannot be kept exactly"),
        ("a: 1.5e-400", "this number cannot be kept exactly"),
        ("a: 1.5e-99999999999999999999", "this number cannot be kept exactly"),
    ],
)
def test_yaml_that_would_be_misread_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadDocument, match=re.escape(why)):
        read_yaml(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (MARK * 2 + "{}", "second byte order mark (U+FEFF)"),
        (
            '{"a":\n' + MARK + "1}",
            "the line has an invisible byte order mark (U+FEFF) in column 1, in line 2, column 1",
        ),
        ('{"a": 1, "a": 2}', "“a” occurs twice in one object"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[" * 100_000, "nested too deep"),
        ("1" * 6_000, "it has a number that cannot be kept exactly"),
        ("1e400", "it has a number that cannot be kept exactly"),
        ("0.12345678901234567891", "it has a number that cannot be kept exactly"),
    ],
)
def test_json_that_would_be_misread_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadDocument, match=re.escape(why)):
        read_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "#fff\na: b",
        "a: b\n#c",
        "a: b #",
        "a: # c\n  b",
        "a: b ## c",
        "a:\n  #c\n  b",
        "{\n  #c\n  a: b\n}",
        "---\n#a: c\na: b\n#d: e",
    ],
)
def test_a_comment_begins_its_line_or_has_a_space(text: str) -> None:
    assert read_yaml(text) == {"a": "b"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_are_named(encoding: str) -> None:
    with pytest.raises(BadDocument, match="not UTF-8 text, but UTF-16 or UTF-32: save it as UTF-8"):
        decode("a: 1".encode(encoding))


def test_bytes_that_are_no_text_are_placed() -> None:
    with pytest.raises(BadDocument, match="not UTF-8 text: save it as UTF-8, in line 2"):
        decode("a: 1\nb: é".encode("latin-1"))
