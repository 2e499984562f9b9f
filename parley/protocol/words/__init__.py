"""What people read: every label and sentence of the page and of the terminal, once. Pure data.

A section is a mapping from names to English text; `{name}` stands for a value. Screens take their words from here, so
the same action has the same name everywhere: the terminal imports a section, the page has them all as
web/src/generated/words.ts, which `npm run types` writes.

actions.py  what a person can do        states.py  where a session and its parts stand
journal.py  what happened, in words     trouble.py what did not work
page.py     the page's own words        flows.py   paths, tables and queries
terminal.py the terminal's own words
"""

from collections.abc import Mapping

from parley.protocol.words.actions import ACTIONS, OPTIONS, REVIEW
from parley.protocol.words.flows import PATHS, TABLES
from parley.protocol.words.journal import ENDED, JOURNAL, NOTES, REASONS, RULINGS, RUN_ENDED, VERDICTS
from parley.protocol.words.page import COMPOSER, LIBRARY, PAGE, SETTINGS, SIGNS, TEMPLATES, WELCOME, WORKFLOWS
from parley.protocol.words.states import ACTION_STATES, ASKS, DRAFTS, PHASES, REVIEW_STATES, STATES, STATUS, WORK
from parley.protocol.words.terminal import COMMANDS, HINTS, TERMINAL
from parley.protocol.words.trouble import TROUBLE

__all__ = [
    "ACTIONS",
    "ACTION_STATES",
    "ASKS",
    "CATALOGUE",
    "COMMANDS",
    "COMPOSER",
    "DRAFTS",
    "ENDED",
    "HINTS",
    "JOURNAL",
    "LIBRARY",
    "NOTES",
    "OPTIONS",
    "PAGE",
    "PATHS",
    "PHASES",
    "REASONS",
    "REVIEW",
    "REVIEW_STATES",
    "RULINGS",
    "RUN_ENDED",
    "SETTINGS",
    "SIGNS",
    "STATES",
    "STATUS",
    "TABLES",
    "TEMPLATES",
    "TERMINAL",
    "TROUBLE",
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
    "COMPOSER": COMPOSER,
    "DRAFTS": DRAFTS,
    "ENDED": ENDED,
    "HINTS": HINTS,
    "JOURNAL": JOURNAL,
    "LIBRARY": LIBRARY,
    "NOTES": NOTES,
    "OPTIONS": OPTIONS,
    "PAGE": PAGE,
    "PATHS": PATHS,
    "PHASES": PHASES,
    "REASONS": REASONS,
    "REVIEW": REVIEW,
    "REVIEW_STATES": REVIEW_STATES,
    "RULINGS": RULINGS,
    "RUN_ENDED": RUN_ENDED,
    "SETTINGS": SETTINGS,
    "SIGNS": SIGNS,
    "STATES": STATES,
    "STATUS": STATUS,
    "TABLES": TABLES,
    "TEMPLATES": TEMPLATES,
    "TERMINAL": TERMINAL,
    "TROUBLE": TROUBLE,
    "VERDICTS": VERDICTS,
    "WELCOME": WELCOME,
    "WORK": WORK,
    "WORKFLOWS": WORKFLOWS,
}
