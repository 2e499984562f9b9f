"""What people read in more than one place: labels and sentences of server, page and terminal, once. Pure data.

A section is a mapping from names to English text; `{name}` stands for a value. So the same action has the same name
everywhere: the terminal imports a section, the page has them all as web/src/generated/words.ts, which `npm run types`
writes. What only the page says is in web/src/words.ts.

actions.py  what a person can do        states.py  where a session and its parts stand, and what it can be
journal.py  what happened, in words     flows.py   paths, tables and queries
terminal.py the terminal's own words
"""

from collections.abc import Mapping

from parley.protocol.words.actions import ACTIONS, OPTIONS, REVIEW
from parley.protocol.words.flows import PATHS, TABLES
from parley.protocol.words.journal import ENDED, JOURNAL, NOTES, REASONS, VERDICTS
from parley.protocol.words.states import ACTION_STATES, ASKS, DRAFTS, PHASES, STATES, STATUS, WELCOME, WORK, WORKFLOWS
from parley.protocol.words.terminal import COMMANDS, HINTS, TERMINAL

__all__ = [
    "ACTIONS",
    "ACTION_STATES",
    "ASKS",
    "CATALOGUE",
    "COMMANDS",
    "DRAFTS",
    "ENDED",
    "HINTS",
    "JOURNAL",
    "NOTES",
    "OPTIONS",
    "PATHS",
    "PHASES",
    "REASONS",
    "REVIEW",
    "STATES",
    "STATUS",
    "TABLES",
    "TERMINAL",
    "VERDICTS",
    "WELCOME",
    "WORK",
    "WORKFLOWS",
]

CATALOGUE: Mapping[str, Mapping[str, str]] = {
    "ACTIONS": ACTIONS,
    "ACTION_STATES": ACTION_STATES,
    "ASKS": ASKS,
    "COMMANDS": COMMANDS,
    "DRAFTS": DRAFTS,
    "ENDED": ENDED,
    "HINTS": HINTS,
    "JOURNAL": JOURNAL,
    "NOTES": NOTES,
    "OPTIONS": OPTIONS,
    "PATHS": PATHS,
    "PHASES": PHASES,
    "REASONS": REASONS,
    "REVIEW": REVIEW,
    "STATES": STATES,
    "STATUS": STATUS,
    "TABLES": TABLES,
    "TERMINAL": TERMINAL,
    "VERDICTS": VERDICTS,
    "WELCOME": WELCOME,
    "WORK": WORK,
    "WORKFLOWS": WORKFLOWS,
}
