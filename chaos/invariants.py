"""The invariants that must hold despite all faults. Pure: from the evidence to checks and violations.

Each invariant counts its checks: a run without any check of it proves nothing.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from chaos.conversation_invariants import every_message_answered, nothing_begun_early
from chaos.evidence import Evidence
from chaos.invariant_check import InvariantCheck, Violation
from chaos.model_usage import usage_balances
from chaos.replay import LOST_WORK, ActionOutcome, ReplayedEvidence, replay
from packs.retail.tools import WRITES as KEYED_TOOLS
from parley.events import SessionEvent, facts
from parley.events.values import Outcome
from shared.log import EXPECTED_SEQUENCE, MESSAGE_ID

EXIT_MARGIN = 5.0  # seconds beyond the grace period
MAX_LOAD_FACTOR = 1.5  # at most this many times longer on a busy machine
TERMINAL = ("resting", "failed")


def check_invariants(evidence: Evidence, *, grace: float) -> list[InvariantCheck]:
    """Check all invariants, in order."""
    sessions = {session_id: replay(session_id, raws) for session_id, raws in evidence.log.items()}
    run = ReplayedEvidence(evidence, sessions, grace)
    checks: list[InvariantCheck] = []
    for name, title, look in INVARIANTS:
        checks.append(InvariantCheck(name, title))
        look(checks[-1], run)
    return checks


def no_acknowledged_event_lost(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I1: every event that a socket received, and every acknowledged command, is in the log unchanged."""
    stored = {(command.session_id, command.version): _as_json(command) for command in _events(run)}
    commands = {command.id: command.version for command in _events(run)}
    for record in run.evidence.socket_records:
        for event in record.events:
            at = (record.session_id, event["version"])
            check.expect(
                stored.get(at) == event,
                record.session_id,
                f"version {at[1]} was sent to a client and is not in the log",
            )
    for command in run.evidence.acknowledged:
        version = commands.get(f"{command.session_id}:{command.command_id}")
        what = f"command {command.command_id} was acknowledged by version {command.version} and is not in the log"
        check.expect(version is not None and version <= command.version, command.session_id, what)


def chain_unbroken(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I2: each message that Parley appends follows the previous one, and is the session's next event.

    The exception: a cluster may store an outsider's unguarded message between the two. Parley's message is then no
    event, its append was not acknowledged, and the service appends it again.
    """
    for session_id, session in run.sessions.items():
        tail, version = [0], 0  # Parley's last message, and those of outsiders since
        for message in session.messages:
            raw, event, expected = message.raw, message.event, message.raw.headers.get(EXPECTED_SEQUENCE)
            if raw.position in run.evidence.poison_positions:
                tail.append(raw.position)
            elif event is None and run.evidence.is_clustered and expected in [str(earlier) for earlier in tail[:-1]]:
                check.notes["overtaken by a stranger"] += 1
                tail = [raw.position]
            else:
                problem = f"position {raw.position} follows {expected}, but the one before it is {tail[-1]}"
                check.expect(expected == str(tail[-1]), session_id, problem)
                check.expect(event is not None, session_id, f"position {raw.position} is no event: {message.reason}")
                tail = [raw.position]
            if event is not None:
                problem = f"version {event.version} at position {raw.position} comes after version {version}"
                check.expect(event.version == version + 1, session_id, problem)
                version = event.version


def no_event_twice(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I3: an event id occurs once in the log, and the broker's message id matches it."""
    counts: Counter[str] = Counter(event.id for event in _events(run))
    for event in _events(run):
        check.expect(counts[event.id] == 1, event.session_id, f"{event.id} is in the log {counts[event.id]} times")
    for session_id, session in run.sessions.items():
        for message in session.messages:
            if message.event and message.raw.position not in run.evidence.poison_positions:
                expected_id = f"{message.event.id}@{message.raw.headers.get(EXPECTED_SEQUENCE)}"
                matches = message.raw.headers.get(MESSAGE_ID) == expected_id
                check.expect(matches, session_id, f"position {message.raw.position} has another id in its header")


def no_effect_twice(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I4: a started action took effect at most once, and the log has its outcome or says that it is uncertain."""
    started, outcomes = _actions(run)
    effects = {effect.key: effect for effect in run.evidence.effects}
    given_up = {
        key for session in run.sessions.values() for key in session.uncertain_when_idle
    }  # the session was idle, so no executor could look the outcome up by its key
    for effect in run.evidence.effects:
        where = effect.key.split("/")[0]
        check.expect(effect.key in started, where, f"{effect.key} took effect and was never started")
        outcome = outcomes.get(effect.key)
        if outcome is None:
            check.notes["effects of stopped sessions, not reported yet"] += 1
        elif isinstance(outcome, Outcome):
            result = outcome.result if outcome.ok else outcome.error
            check.expect(result == effect.result, where, f"{effect.key} had another result than the log says: {result}")
        replayed = run.evidence.replayed_results.get(effect.key, effect.result)
        check.expect(replayed == effect.result, where, f"{effect.key} has another result than its replay")
    for key, outcome in outcomes.items():
        tool, where = started.get(key, ""), key.split("/")[0]
        if tool in KEYED_TOOLS and isinstance(outcome, Outcome) and outcome.ok:
            check.expect(key in effects, where, f"{key} ({tool}) is recorded as done and took no effect")
        if tool in KEYED_TOOLS:
            is_known = not isinstance(outcome, facts.ActionUncertain) or key in given_up
            check.expect(is_known, where, f"{key} ({tool}) has an idempotency key, and is recorded as uncertain")
    for world, documents in run.evidence.worlds.items():
        matches = documents == run.evidence.replayed_worlds.get(world)
        check.expect(
            matches, world, "the store differs from a replay of its recorded effects: something was done twice"
        )
    _check_notes(check, run, outcomes)


def _check_notes(check: InvariantCheck, run: ReplayedEvidence, outcomes: dict[str, ActionOutcome]) -> None:
    """The tool without keys wrote each note once for each action recorded as done. For each run that is uncertain or
    has no outcome yet, it may have written one more."""
    for session_id, session in run.sessions.items():
        for text in sorted(set(session.notes.values())):
            keys = [key for key, note in session.notes.items() if note == text]
            results = [outcomes.get(key) for key in keys]
            done = sum(isinstance(result, Outcome) and result.ok for result in results)
            unclear = sum(result is None or isinstance(result, facts.ActionUncertain) for result in results)
            unclear += sum(session.uncertain_runs[key] for key in keys)
            times = run.evidence.notes.get(text, 0)
            problem = f"{text} was noted {times} times: {done} are recorded as done, {unclear} are uncertain"
            check.expect(done <= times <= done + unclear, session_id, problem)
            for _ in filter(lambda result: isinstance(result, facts.ActionUncertain), results):
                check.notes[f"uncertain, {'done' if times > done else 'not done'}"] += 1


def every_request_ends(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I5: every accepted request ended, with a reason if it failed, and no consumer has outstanding messages."""
    for session_id, replayed in run.sessions.items():
        if replayed.session.version == 0:
            continue
        session = replayed.session
        check.expect(session.phase in TERMINAL, session_id, f"it is still {session.phase} at version {session.version}")
        if session.phase == "failed":
            has_reason = bool(session.failure and session.failure.reason)
            check.expect(has_reason, session_id, "it failed without a reason")
        for message in replayed.messages:
            if isinstance(message.event, facts.SessionFailed):
                is_kept, problem = (
                    LOST_WORK not in message.event.reason,
                    f"at version {message.event.version}: {message.event.reason}",
                )
                check.expect(is_kept, session_id, problem)
    for outcome in run.evidence.user_outcomes:
        problem = (
            f"its user gave up: {outcome.reason}"
            if outcome.reason
            else "its user was still waiting at the end of the run"
        )
        check.expect(bool(outcome.ending), outcome.session_id, problem)
        check.expect(outcome.session_id in run.sessions, outcome.session_id, "it is not in the log")
    for consumer, count in run.evidence.outstanding.items():
        check.expect(count == 0, consumer, f"{count} messages are still waiting")


def tables_match_log(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I6: the tables equal those of a new database projected from the log."""
    rows, rebuilt = run.evidence.rows, run.evidence.rebuilt_rows
    for table in sorted({*rows, *rebuilt}):
        stored_rows, rebuilt_rows = (
            Counter(map(_row_key, rows.get(table, ()))),
            Counter(map(_row_key, rebuilt.get(table, ()))),
        )
        check.checked += max(stored_rows.total(), rebuilt_rows.total())
        for row in list((stored_rows - rebuilt_rows).elements())[:5]:
            check.violations.append(Violation(check.name, table, f"is in the tables only: {row[:300]}"))
        for row in list((rebuilt_rows - stored_rows).elements())[:5]:
            check.violations.append(Violation(check.name, table, f"is missing, or different: {row[:300]}"))


def seen_once_in_order(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I7: each socket received every version after the one it resumed from, in order."""
    for record in run.evidence.socket_records:
        version = record.after
        for event in record.events:
            problem = f"version {event['version']} was sent after version {version}"
            check.expect(event["version"] == version + 1, record.session_id, problem)
            version = event["version"]


def exits_in_time(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I8: SIGTERM ends a service within its grace period plus 5 seconds. No service ends by itself."""
    for exited in run.evidence.exits:
        limit = (run.grace + EXIT_MARGIN) * min(exited.load_factor, MAX_LOAD_FACTOR) + exited.late_seconds
        if exited.cause == "SIGTERM":
            took = exited.seconds - exited.starved_seconds
            check.expect(took <= limit, exited.program, f"it took {took:.1f} s to exit, of {limit:.1f}")
            check.expect(exited.code in (0, -15), exited.program, f"after SIGTERM it ended with code {exited.code}")
        check.expect(bool(exited.cause), exited.program, f"it ended by itself with code {exited.code}")


def nothing_left_started(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I9: every started action has an outcome, or an executor is due to record one."""
    for session_id, session in run.sessions.items():
        work = session.session.work
        is_due = work is not None and work.service == "executor"
        for key, tool in session.started.items():
            check.expect(
                is_due or key in session.outcomes,
                session_id,
                f"{key} ({tool}) was started, and no executor is due to end it",
            )
            is_stored = is_due or key not in session.awaiting_result
            check.expect(is_stored, session_id, f"the result of {key} ({tool}) is neither stored nor lost")


def model_usage_accounted(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I10: the log records each request that the model served, once. A killed process may lose its open call."""
    calls = [call for event in _events(run) for call in event.usage]
    work_spans = [work for session in run.sessions.values() for work in session.work_spans.values()]
    for balance in usage_balances(run.evidence.served_requests, calls, run.evidence.exits, work_spans, grace=run.grace):
        check.checked += balance.checked - 2
        check.expect(
            balance.overcounted == 0,
            balance.role,
            f"{balance.overcounted} calls are recorded more often than they were served",
        )
        problem = (
            f"{balance.lost} calls were served and are not recorded; {balance.allowed_losses} may have been under way"
        )
        check.expect(balance.lost <= balance.allowed_losses, balance.role, problem)
        if balance.lost:
            check.notes[f"calls of {balance.role} lost, of {balance.allowed_losses} that may have been under way"] += (
                balance.lost
            )


INVARIANTS = (
    ("I1", "no acknowledged event lost", no_acknowledged_event_lost),
    ("I2", "every session's chain unbroken", chain_unbroken),
    ("I3", "no event twice", no_event_twice),
    ("I4", "no tool took effect twice", no_effect_twice),
    ("I5", "every request came to an end", every_request_ends),
    ("I6", "SQL is the fold of the log", tables_match_log),
    ("I7", "every socket saw every event once, in order", seen_once_in_order),
    ("I8", "SIGTERM ends a service in time", exits_in_time),
    ("I9", "nothing started is left without an end", nothing_left_started),
    ("I10", "what the model served is accounted for", model_usage_accounted),
    ("I11", "every message is answered", every_message_answered),
    ("I12", "no change begins before an answer", nothing_begun_early),
)


def _events(run: ReplayedEvidence) -> Iterator[SessionEvent]:
    for session in run.sessions.values():
        yield from (message.event for message in session.messages if message.event)


def _actions(run: ReplayedEvidence) -> tuple[dict[str, str], dict[str, ActionOutcome]]:
    """By idempotency key: the tools that were started, and their last outcomes."""
    started: dict[str, str] = {}
    outcomes: dict[str, ActionOutcome] = {}
    for session in run.sessions.values():
        started |= session.started
        outcomes |= session.outcomes
    return started, outcomes


def _as_json(event: SessionEvent) -> dict[str, Any]:
    document: dict[str, Any] = event.model_dump(mode="json")
    return document


def _row_key(row: tuple[Any, ...]) -> str:
    return json.dumps(row, sort_keys=True, default=str)
