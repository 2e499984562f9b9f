"""What must hold whatever was done to Parley. Pure: from the evidence to what was checked, and broken.

Each says how many things it looked at: a run in which there was nothing to look at proves nothing.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from chaos.accounts import accounts
from chaos.evidence import Evidence
from chaos.folding import KEYED, Came, Fold, folded
from parley.events import SessionEvent, facts
from parley.events.values import Outcome
from shared.log import EXPECTED, MESSAGE_ID

LEAVING = 5.0  # seconds beyond the grace
CROWDED = 1.5  # times as long at the most, however crowded the machine is
TERMINAL = ("resting", "failed")
LOST = "lost the work"  # as the keeper says it


class Violation(NamedTuple):
    """`where`: a session, or a program."""

    invariant: str
    where: str
    what: str


class Verdict(NamedTuple):
    name: str
    title: str
    checked: int
    violations: tuple[Violation, ...]
    noted: tuple[str, ...] = ()  # what is counted and breaks nothing


class Book:
    """Counts the checks of one invariant, and writes down those that failed."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.checked = 0
        self.violations: list[Violation] = []
        self.noted: Counter[str] = Counter()

    def check(self, holds: bool, where: str, what: str) -> None:
        self.checked += 1
        if not holds:
            self.violations.append(Violation(self.name, where, what))

    def verdict(self) -> Verdict:
        noted = tuple(f"{count} {what}" for what, count in sorted(self.noted.items()))
        return Verdict(self.name, self.title, self.checked, tuple(self.violations), noted)


def judge(evidence: Evidence, *, grace: float) -> list[Verdict]:
    """All of them, in order."""
    folds = {session_id: folded(session_id, raws) for session_id, raws in evidence.log.items()}
    told = Told(evidence, folds, grace)
    return [_judged(name, title, look, told) for name, title, look in INVARIANTS]


class Told(NamedTuple):
    """The evidence, with every session's log folded."""

    evidence: Evidence
    folds: dict[str, Fold]
    grace: float


def _judged(name: str, title: str, look: Callable[[Book, Told], None], told: Told) -> Verdict:
    book = Book(name, title)
    look(book, told)
    return book.verdict()


def nothing_lost(book: Book, told: Told) -> None:
    """I1: what a socket showed, or a gateway acknowledged, is in the log as it was shown."""
    stored = {(one.session_id, one.version): _plain(one) for one in _events(told)}
    commands = {one.id: one.version for one in _events(told)}
    for shown in told.evidence.shown:
        for event in shown.events:
            at = (shown.session_id, event["version"])
            book.check(stored.get(at) == event, shown.session_id, f"version {at[1]} was shown and is not in the log")
    for one in told.evidence.acknowledged:
        version = commands.get(f"{one.session_id}:{one.command_id}")
        what = f"command {one.command_id} was acknowledged by version {one.version} and is not in the log"
        book.check(version is not None and version <= one.version, one.session_id, what)


def unbroken(book: Book, told: Told) -> None:
    """I2: every message of Parley's own follows the one before it, and is the session's next event.

    Unless a stranger's, which had no guard, was stored between the two: a cluster lets it. Then it is no event, whoever
    appended it was not told that it was one, and does it again.
    """
    for session_id, fold in told.folds.items():
        tail, version = [0], 0  # Parley's last message, and what strangers have stored since
        for step in fold.steps:
            raw, event, expected = step.raw, step.event, step.raw.headers.get(EXPECTED)
            if raw.position in told.evidence.poison:
                tail.append(raw.position)
            elif event is None and told.evidence.clustered and expected in [str(earlier) for earlier in tail[:-1]]:
                book.noted["overtaken by a stranger"] += 1
                tail = [raw.position]
            else:
                what = f"position {raw.position} follows {expected}, but the one before it is {tail[-1]}"
                book.check(expected == str(tail[-1]), session_id, what)
                book.check(event is not None, session_id, f"position {raw.position} is no event: {step.reason}")
                tail = [raw.position]
            if event is not None:
                what = f"version {event.version} at position {raw.position} comes after version {version}"
                book.check(event.version == version + 1, session_id, what)
                version = event.version


def no_event_twice(book: Book, told: Told) -> None:
    """I3: an id is in the log once, and is the one that the broker knows it by."""
    seen: Counter[str] = Counter(event.id for event in _events(told))
    for event in _events(told):
        book.check(seen[event.id] == 1, event.session_id, f"{event.id} is in the log {seen[event.id]} times")
    for session_id, fold in told.folds.items():
        for step in fold.steps:
            if step.event and step.raw.position not in told.evidence.poison:
                wanted = f"{step.event.id}@{step.raw.headers.get(EXPECTED)}"
                same = step.raw.headers.get(MESSAGE_ID) == wanted
                book.check(same, session_id, f"position {step.raw.position} has another id in its header")


def no_effect_twice(book: Book, told: Told) -> None:
    """I4: an action that was started took effect at most once, and what it came to is in the log, or uncertain."""
    started, outcomes = _actions(told)
    effects = {effect.key: effect for effect in told.evidence.effects}
    given_up = {key for fold in told.folds.values() for key in fold.given_up}  # nobody was there to ask by its key
    for effect in told.evidence.effects:
        where = effect.key.split("/")[0]
        book.check(effect.key in started, where, f"{effect.key} took effect and was never started")
        outcome = outcomes.get(effect.key)
        if outcome is None:
            book.noted["effects of stopped sessions, not told yet"] += 1
        elif isinstance(outcome, Outcome):
            came = outcome.result if outcome.ok else outcome.error
            book.check(came == effect.result, where, f"{effect.key} came to something else than was told: {came}")
        again = told.evidence.answers.get(effect.key, effect.result)
        book.check(again == effect.result, where, f"{effect.key} came to something else than it comes to once")
    for key, outcome in outcomes.items():
        tool, where = started.get(key, ""), key.split("/")[0]
        if tool in KEYED and isinstance(outcome, Outcome) and outcome.ok:
            book.check(key in effects, where, f"{key} ({tool}) is told as done and took no effect")
        if tool in KEYED:
            known = not isinstance(outcome, facts.ActionUncertain) or key in given_up
            book.check(known, where, f"{key} ({tool}) knows its key, and is told as uncertain")
    for world, documents in told.evidence.worlds.items():
        same = documents == told.evidence.replayed.get(world)
        book.check(same, world, "the store is not what its recorded effects make of it: something was done twice")
    _notes(book, told, outcomes)


def _notes(book: Book, told: Told, outcomes: dict[str, Came]) -> None:
    """The tool without a key: a note stands there once for each action that is told as done, and for no other but of
    what nobody can tell, or has told yet."""
    for session_id, fold in told.folds.items():
        for text in sorted(set(fold.notes.values())):
            came = [outcomes.get(key) for key, one in fold.notes.items() if one == text]
            done = sum(isinstance(one, Outcome) and one.ok for one in came)
            unclear = sum(one is None or isinstance(one, facts.ActionUncertain) for one in came)
            times = told.evidence.notes.get(text, 0)
            what = f"{text} was noted {times} times: {done} are told as done, and of {unclear} nobody can tell"
            book.check(done <= times <= done + unclear, session_id, what)
            for _ in filter(lambda one: isinstance(one, facts.ActionUncertain), came):
                book.noted[f"uncertain, {'done' if times > done else 'not done'}"] += 1


def all_end(book: Book, told: Told) -> None:
    """I5: every request that was accepted came to an end, with a reason; no consumer has anything left."""
    for session_id, fold in told.folds.items():
        if fold.session.version == 0:
            continue
        session = fold.session
        book.check(session.phase in TERMINAL, session_id, f"it is still {session.phase} at version {session.version}")
        if session.phase == "failed":
            said = bool(session.failure and session.failure.reason)
            book.check(said, session_id, "it failed without a reason")
        for step in fold.steps:
            if isinstance(step.event, facts.SessionFailed):
                kept, what = LOST not in step.event.reason, f"at version {step.event.version}: {step.event.reason}"
                book.check(kept, session_id, what)
    for one in told.evidence.left:
        what = f"its person gave up: {one.why}" if one.why else "its person was still waiting when time was up"
        book.check(bool(one.ending), one.session_id, what)
        book.check(one.session_id in told.folds, one.session_id, "it is not in the log")
    for consumer, count in told.evidence.waiting.items():
        book.check(count == 0, consumer, f"{count} messages are still waiting")


def rows_are_the_fold(book: Book, told: Told) -> None:
    """I6: the tables are what a new database makes of the log."""
    rows, again = told.evidence.rows, told.evidence.folded
    for table in sorted({*rows, *again}):
        mine, other = Counter(map(_frozen, rows.get(table, ()))), Counter(map(_frozen, again.get(table, ())))
        book.checked += max(mine.total(), other.total())
        for row in list((mine - other).elements())[:5]:
            book.violations.append(Violation(book.name, table, f"is in the tables only: {row[:300]}"))
        for row in list((other - mine).elements())[:5]:
            book.violations.append(Violation(book.name, table, f"is missing, or different: {row[:300]}"))


def seen_once_in_order(book: Book, told: Told) -> None:
    """I7: each socket showed the versions after the one it came with, one by one."""
    for shown in told.evidence.shown:
        version = shown.after
        for event in shown.events:
            what = f"version {event['version']} was shown after version {version}"
            book.check(event["version"] == version + 1, shown.session_id, what)
            version = event["version"]


def left_in_time(book: Book, told: Told) -> None:
    """I8: a SIGTERM ends a service within its grace and 5 seconds; none ends by itself."""
    for one in told.evidence.exits:
        limit = (told.grace + LEAVING) * min(one.crowd, CROWDED) + one.late
        if one.asked == "SIGTERM":
            took = one.seconds - one.starved
            book.check(took <= limit, one.program, f"it took {took:.1f} s to leave, of {limit:.1f}")
            book.check(one.code in (0, -15), one.program, f"asked to leave, it ended with code {one.code}")
        book.check(bool(one.asked), one.program, f"it ended by itself with code {one.code}")


def none_left_started(book: Book, told: Told) -> None:
    """I9: what was started has come to an end, or an executor is due to end it."""
    for session_id, fold in told.folds.items():
        work = fold.session.work
        due = work is not None and work.service == "executor"
        for key, tool in fold.started.items():
            book.check(due or key in fold.outcomes, session_id, f"{key} ({tool}) was started, and nobody will end it")
            stored = due or key not in fold.storing
            book.check(stored, session_id, f"the result of {key} ({tool}) is neither stored nor lost")


def accounted(book: Book, told: Told) -> None:
    """I10: the log accounts for what the model served, once; but for one call for each that a killed process had."""
    calls = [call for event in _events(told) for call in event.usage]
    works = [work for fold in told.folds.values() for work in fold.works]
    for one in accounts(told.evidence.served, calls, told.evidence.exits, works, grace=told.grace):
        book.checked += one.checked - 2
        book.check(one.twice == 0, one.role, f"{one.twice} calls are accounted for more often than they were served")
        what = f"{one.lost} calls were served and are not accounted for; {one.allowed} may have been under way"
        book.check(one.lost <= one.allowed, one.role, what)
        if one.lost:
            book.noted[f"calls of {one.role} lost, of {one.allowed} that may have been under way"] += one.lost


INVARIANTS = (
    ("I1", "no acknowledged event lost", nothing_lost),
    ("I2", "every session's chain unbroken", unbroken),
    ("I3", "no event twice", no_event_twice),
    ("I4", "no tool took effect twice", no_effect_twice),
    ("I5", "every request came to an end", all_end),
    ("I6", "SQL is the fold of the log", rows_are_the_fold),
    ("I7", "every socket saw every event once, in order", seen_once_in_order),
    ("I8", "SIGTERM ends a service in time", left_in_time),
    ("I9", "nothing started is left without an end", none_left_started),
    ("I10", "what the model served is accounted for", accounted),
)


def _events(told: Told) -> Iterator[SessionEvent]:
    for fold in told.folds.values():
        yield from (step.event for step in fold.steps if step.event)


def _actions(told: Told) -> tuple[dict[str, str], dict[str, Came]]:
    """By key: the tools that were started, and what came of them last."""
    started: dict[str, str] = {}
    outcomes: dict[str, Came] = {}
    for fold in told.folds.values():
        started |= fold.started
        outcomes |= fold.outcomes
    return started, outcomes


def _plain(event: SessionEvent) -> dict[str, Any]:
    found: dict[str, Any] = event.model_dump(mode="json")
    return found


def _frozen(row: tuple[Any, ...]) -> str:
    return json.dumps(row, sort_keys=True, default=str)
