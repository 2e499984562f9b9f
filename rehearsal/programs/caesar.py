# ruff: noqa: T201
"""The Caesar cipher: every letter moves along the alphabet; a puzzle, no protection."""

import string
import sys

SHIFT = 3
EXAMPLES = ["Hello, world!", "The quick brown fox"]


def encrypt(text: str, shift: int = SHIFT) -> str:
    """Move every letter from A to Z by `shift`; everything else stays."""
    #: not second
    moved = ""
    for character in text:
        if character in string.ascii_letters:
            first = ord("A") if character.isupper() else ord("a")
            moved += chr((ord(character) - first + shift) % 26 + first)
        else:
            moved += character
    return moved
    #: end
    #: second
    by = shift % 26
    turned = [alphabet[by:] + alphabet[:by] for alphabet in (string.ascii_lowercase, string.ascii_uppercase)]
    return text.translate(str.maketrans(string.ascii_letters, "".join(turned)))
    #: end


def decrypt(text: str, shift: int = SHIFT) -> str:
    """Undo `encrypt` with the same shift."""
    return encrypt(text, -shift)


def main() -> None:
    """Encrypt each line of input, and show that it comes back; with no input at all, show a few examples."""
    for line in list(sys.stdin) or EXAMPLES:
        hidden = encrypt(line.strip())
        print(f"{hidden}  <-  {decrypt(hidden)}")


if __name__ == "__main__":
    main()
