"""Names of a session's files: which are valid, and which clash on a disk."""

import pytest

from parley.file_names import MAX_BYTES, clash, file_name

LONGEST = "ü" * (MAX_BYTES // 2)


@pytest.mark.parametrize(
    "name", ["a", "notes/today.md", "..a", "a..b/...", " spaces between ", LONGEST, "Ελλάδα/日本.txt", "a\u200db"]
)
def test_a_valid_name_is_unchanged(name: str) -> None:
    assert file_name(name) == name


def test_a_name_is_converted_to_nfc_before_its_length_is_checked() -> None:
    assert file_name("u\u0308") == "ü"
    assert file_name("u\u0308" * (MAX_BYTES // 2)) == LONGEST


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty name"),
        (".", r"no \. or \.\."),
        ("..", r"no \. or \.\."),
        ("a/../../b", r"no \. or \.\."),
        ("a/./b", r"no \. or \.\."),
        ("/etc/passwd", "not with /"),
        ("a//b", "empty name"),
        ("a/", "empty name"),
        ("a/ /b", "empty name"),
        ("a\\b", "backslash"),
        ("C:\\a", "backslash"),
        ("a\0b", "control characters"),
        ("a\nb", "control characters"),
        ("a\x7f", "control characters"),
        ("a\u0085", "control characters"),
        ("a\u2028b", "control characters"),
        ("a\ud800", "control characters"),
        ("a\u202egpj.exe", "control characters"),
        (f"{LONGEST}a", "201 bytes"),
        ("\u200b", "empty name"),
        ("a/\u3164\ufe0f/b", "empty name"),
    ],
)
def test_an_invalid_name_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"is no name for a file: .*{why}") as refused:
        file_name(name)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("name", "other", "why"),
    [
        ("A.txt", "a.txt", "differ by upper and lower case only in A.txt: write a.txt"),
        ("STRASSE", "straße", "upper and lower case"),
        ("Notes/b", "notes/a", "differ by upper and lower case only in Notes: write notes"),
        ("a", "a/b", "a cannot be a file and a folder"),
        ("a/b", "a", "a cannot be a file and a folder"),
        ("A/b", "a", "upper and lower case"),
        ("a\u200bb.txt", "ab.txt", "differ by characters that cannot be seen: write ab.txt"),
        ("a\ufeffb.txt", "a\u00adb.txt", "cannot be seen"),
        ("no\u2060tes/a", "notes/b", "cannot be seen"),
        ("a\ufe0f", "a", "cannot be seen"),
        ("a\u3164", "a", "cannot be seen"),
        ("A\u200d", "a", "upper and lower case"),
    ],
)
def test_names_that_some_file_systems_cannot_hold_together_clash(name: str, other: str, why: str) -> None:
    assert why in clash(name, ["elsewhere", other])
