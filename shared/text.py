"""Words for people and prompts."""


def cut(text: str, most: int) -> str:
    """The text, or its beginning with “…”, in at most this many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
