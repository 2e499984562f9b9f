"""What `parley up` shows: its own few lines, and of the programs' logs only what a person should see."""

import json
import re
import sys
from collections import defaultdict, deque

from cli.visible import visible

_LOUD = {"warning", "error", "critical"}
_OWN_FIELDS = {"level", "event", "timestamp", "logger", "service", "exception"}
_COLOURS = (36, 33, 35, 32, 34, 96, 93, 95, 92)
# nats-server warns of the token in its configuration, which is readable by its owner only: its warnings are not shown.
_NATS_LOUD = re.compile(r"\[(ERR|FTL)\] (.*)")


def compact(text: str) -> str:
    """The part of a program's log line that is worth a person's attention, "" if none."""
    if found := _NATS_LOUD.search(text):
        return found[2]
    entry = _entry(text)
    if entry is None or str(entry.get("level", "")).lower() not in _LOUD:
        return ""
    rest = " ".join(f"{key}={value}" for key, value in entry.items() if key not in _OWN_FIELDS)
    return f"{entry['level']}: {entry.get('event', '')} {rest}".rstrip()


def says_ready(text: str) -> bool:
    """Is this the log line by which a service says that it is up?"""
    return '"ready"' in text and (_entry(text) or {}).get("event") == "ready"


class Console:
    """Lines on stderr; stdout is kept for the one line that programs wait for."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose, self._coloured = verbose, sys.stderr.isatty()
        self._recent: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=6))
        self._names: dict[str, int] = {}

    def say(self, text: str) -> None:
        """A line of our own."""
        print(text, file=sys.stderr, flush=True)

    def line(self, name: str, text: str) -> None:
        """A line that a program wrote."""
        if _entry(text) is None:
            self._recent[name].append(text)
        if shown := text if self._verbose else compact(text):
            self._show(name, shown)

    def note(self, name: str, text: str) -> None:
        """What happened to a program; with it its last words, which a traceback is."""
        if not self._verbose:
            for words in self._recent[name]:
                self._show(name, words)
        self._recent[name].clear()
        self._show(name, text)

    def _show(self, name: str, text: str) -> None:
        colour = _COLOURS[self._names.setdefault(name, len(self._names)) % len(_COLOURS)]
        label = f"\033[{colour}m{name:>10}\033[0m" if self._coloured else f"{name:>10}"
        self.say(f"{label} | {visible(text)}")


def _entry(text: str) -> dict[str, object] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
