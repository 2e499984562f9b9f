"""The output of `parley up`: its own lines, and the log lines of its programs that a user should see."""

import json
import re
import sys
from collections import defaultdict, deque

from cli.text import visible

_LOUD = {"warning", "error", "critical"}
_OWN_FIELDS = {"level", "event", "timestamp", "logger", "service", "exception"}
_COLOURS = (36, 33, 35, 32, 34, 96, 93, 95, 92)
# nats-server's warnings are left out: it warns of passwords in its configuration, which only its owner can read.
_NATS_LOUD = re.compile(r"\[(ERR|FTL)\] (.*)")


def compact(text: str) -> str:
    """The part of a program's log line that a user should see; "" if none."""
    if match := _NATS_LOUD.search(text):
        return match[2]
    entry = _entry(text)
    if entry is None or str(entry.get("level", "")).lower() not in _LOUD:
        return ""
    rest = " ".join(f"{key}={value}" for key, value in entry.items() if key not in _OWN_FIELDS)
    return f"{entry['level']}: {entry.get('event', '')} {rest}".rstrip()


def is_ready_line(text: str) -> bool:
    """Whether this is the log line by which a service reports that it is ready."""
    return '"ready"' in text and (_entry(text) or {}).get("event") == "ready"


class Console:
    """Prints lines to stderr. stdout is reserved for the one line that programs wait for."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose, self._coloured = verbose, sys.stderr.isatty()
        self._recent: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=6))
        self._names: dict[str, int] = {}

    def say(self, text: str) -> None:
        """Print a line of `parley up` itself."""
        print(text, file=sys.stderr, flush=True)

    def program_line(self, name: str, text: str) -> None:
        """Handle a line that a program has written."""
        if _entry(text) is None:
            self._recent[name].append(text)
        if visible_part := text if self._verbose else compact(text):
            self._show(name, visible_part)

    def program_event(self, name: str, text: str) -> None:
        """Print an event of a program's life, after the program's last lines, such as a traceback."""
        if not self._verbose:
            for line in self._recent[name]:
                self._show(name, line)
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
        match = json.loads(text)
    except ValueError:
        return None
    return match if isinstance(match, dict) else None
