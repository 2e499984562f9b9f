# ruff: noqa: T201
"""What the rehearsal model says to a request that its rules do not cover."""

MESSAGE = """INTRODUCTION"""


def main() -> None:
    """Print the message."""
    print(MESSAGE)


if __name__ == "__main__":
    main()
