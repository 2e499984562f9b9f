# ruff: noqa: T201
"""Palindromes: texts that read the same backwards."""

import sys

EXAMPLES = ["Never odd or even", "A man, a plan, a canal: Panama", "Hello"]


def letters(text: str) -> str:
    """The letters and digits in lower case: spaces, case and punctuation do not count."""
    return "".join(character for character in text.casefold() if character.isalnum())


def is_palindrome(text: str) -> bool:
    """Whether the text reads the same in both directions; a text without letters does not."""
    plain = letters(text)
    #: not second
    return bool(plain) and plain == plain[::-1]
    #: end
    #: second
    left, right = 0, len(plain) - 1
    while left < right:
        if plain[left] != plain[right]:
            return False
        left, right = left + 1, right - 1
    return bool(plain)
    #: end


def main() -> None:
    """Judge each line of input; with no input at all, show a few examples."""
    for line in list(sys.stdin) or EXAMPLES:
        print(f"{line.strip()}: {'yes' if is_palindrome(line) else 'no'}")


if __name__ == "__main__":
    main()
