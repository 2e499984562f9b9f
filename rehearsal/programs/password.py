# ruff: noqa: T201
"""A password generator with safe randomness."""

import secrets
import string

LENGTH = 16
LOOK_ALIKES = "Il1O0o"  #: clear


def groups() -> list[str]:
    """The kinds of characters that every password holds."""
    kinds = [string.ascii_lowercase, string.ascii_uppercase, string.digits, "!#$%&*+-=?@"]
    return ["".join(c for c in kind if c not in LOOK_ALIKES) for kind in kinds]  #: clear
    return kinds  #: not clear


def generate(length: int = LENGTH) -> str:
    """A password of this length with at least one character of each kind."""
    kinds = groups()
    if length < len(kinds):
        raise ValueError(f"a password needs at least {len(kinds)} characters")
    #: not second
    characters = [secrets.choice(kind) for kind in kinds]
    characters += [secrets.choice("".join(kinds)) for _ in range(length - len(kinds))]
    secrets.SystemRandom().shuffle(characters)
    return "".join(characters)
    #: end
    #: second
    while True:  # most tries succeed: every password that qualifies is equally likely
        password = "".join(secrets.choice("".join(kinds)) for _ in range(length))
        if all(set(password) & set(kind) for kind in kinds):
            return password
    #: end


def main() -> None:
    """Print a few passwords to choose from."""
    for _ in range(3):
        print(generate())


if __name__ == "__main__":
    main()
