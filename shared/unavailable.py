"""The common base of the errors that say another program is unavailable, and what to do about a database."""


class Unavailable(Exception):
    """Another program cannot be reached, or cannot answer now: the same request may succeed later.

    A request that changes something may have been carried out.
    """


DAMAGED = "the database file is damaged: `parley rebuild` keeps it under another name and makes a new one from the log"
_ADVICE = {  # by a part of SQLite's message
    "is not a database": DAMAGED,
    "malformed": DAMAGED,
    "disk is full": "the disk of the database is full: make room",
    "disk I/O error": "the database's disk fails, or is full: see the system's log",
    "readonly database": "the database file cannot be written: its owner and rights must be those of plan_store",
    "unable to open": "the database file cannot be opened: see DATABASE_URL, and the rights of its folder",
    "is locked": "another program keeps the database locked: end it",
}


def database_advice(error: str) -> str:
    """What is wrong with plan_store's database and what to do, without names; "" if the error does not tell."""
    return next((advice for part, advice in _ADVICE.items() if part in error), "")
