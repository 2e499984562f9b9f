"""Keeps the newest of some texts within a limit. Pure."""

from collections.abc import Callable


def newest_within[T](items: tuple[T, ...], limit: int, text: Callable[[T], str] = str) -> tuple[T, ...]:
    """The last items whose texts have at most `limit` bytes together; always at least the last one.

    Every worker receives the whole session and every prompt its messages, so neither may grow without bound.
    """
    newest: list[T] = []
    for item in reversed(items):
        limit -= len(text(item).encode())
        if newest and limit < 0:
            break
        newest.append(item)
    return tuple(reversed(newest))
