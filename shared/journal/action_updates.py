"""Journal updates of existing actions: started, decided, ended, uncertain. They depend on the event alone."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TypedDict

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from parley.events import SessionEvent, facts
from parley.events.values import Ended, Outcome
from parley.protocol import journal as j
from parley.protocol.words import ENDED, JOURNAL, WORK
from shared.domain.kernel.wording import SKIPPED_WITH, UNANSWERED
from shared.journal.phrases import ACTION_TONES, state_label
from shared.journal.summary import summarize

NO_RESULT: dict[str, JsonValue] = {"result": None, "size": None, "artefact": None, "given": False}


class EntryFields(TypedDict):
    """The fields that every entry has."""

    key: str
    version: int
    at: datetime
    by: str


def entry_fields(event: SessionEvent, key: str) -> EntryFields:
    return {"key": key, "version": event.version, "at": event.at, "by": event.actor}


def json_time(at: datetime) -> str:
    """The time as JSON has it, for an update."""
    text: str = to_jsonable_python(at)
    return text


def pluralize(number: int, noun: str) -> str:
    """The number with its noun: "1 step", "2 steps"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def update(key: str, **fields: JsonValue) -> j.EntryUpdate:
    return j.EntryUpdate(key=key, set=fields)


def action_updates(event: SessionEvent) -> Iterator[j.EntryUpdate]:  # noqa: C901, PLR0912  one case a fact
    """Updates of the actions that the event is about, then of those that it ends or starts."""
    match event:
        case facts.QuestionAsked(kind="action"):
            yield _state_update(event.question_id, "asked", summarize(event.text))
        case facts.QuestionAnswered():
            yield from _answered(event)
        case facts.ApprovalGiven():
            decided = {"decided_by": event.actor, "approved_by": event.actor, "approved_at": json_time(event.at)}
            yield _state_update(event.action_id, "approved", JOURNAL["allowed"], **decided)
        case facts.ApprovalDenied():
            reason = event.reason or JOURNAL["declined"]
            yield _state_update(event.action_id, "denied", reason, decided_by=event.actor, error=event.reason)
        case facts.ApprovalExpired():
            for action_id in event.denied:
                yield _ended_with_error(action_id, "skipped", JOURNAL["declined_in_time"])
            if event.unanswered:
                yield _ended_with_error(event.unanswered, "failed", UNANSWERED)
        case facts.ActionsStarted():
            for action in event.actions:
                yield _started(action.action_id, event.at)
        case facts.ActionsWaiting():
            for waits in event.actions:
                until = f"{waits.until.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
                line = JOURNAL["waits_until" if waits.every is None else "polls_until"]
                yield _state_update(waits.action_id, "waiting", line.format(until=until, every=waits.every))
        case facts.ActionWaited():
            yield _waited(event)
        case facts.ActionsFinished():
            for outcome in event.outcomes:
                yield _finished(event, outcome)
        case facts.ResultStored():
            yield update(f"action:{event.action_id}", artefact=event.artefact.model_dump(mode="json"))
        case facts.ResultLost():
            yield update(f"action:{event.action_id}", error=event.reason)
        case facts.ActionSkipped():
            yield from _skipped(event)
        case facts.ActionUncertain():
            # A read changes nothing, so an unknown outcome is a failure and not a doubt.
            yield _ended_with_error(event.action_id, "failed" if event.effect == "read" else "uncertain", event.reason)
    for ended in event.ended:
        yield _ended(event, ended)
    for action_id in event.planned_again if isinstance(event, facts.SessionRetried | facts.ActionSkipped) else ():
        yield _state_update(action_id, "planned", state_label("planned"), **NO_RESULT, error="")
    for action_id in event.begins:
        yield _started(action_id, event.at)


def _state_update(action_id: str, state: j.ActionState, text: str, **fields: JsonValue) -> j.EntryUpdate:
    """An update of the action's state, with a line about it."""
    return update(
        f"action:{action_id}",
        **{"state": state, "word": state_label(state), "tone": ACTION_TONES[state], "gist": text, **fields},
    )


def _ended_with_error(action_id: str, state: j.ActionState, why: str) -> j.EntryUpdate:
    return _state_update(action_id, state, why, error=why)


def _started(action_id: str, at: datetime) -> j.EntryUpdate:
    return _state_update(action_id, "started", JOURNAL["started"], artefact=None, error="", started_at=json_time(at))


def _finished(event: SessionEvent, outcome: Outcome) -> j.EntryUpdate:
    state: j.ActionState = "finished" if outcome.ok else "failed"
    text = (
        summarize(outcome.result) or state_label("finished") if outcome.ok else outcome.error or state_label("failed")
    )
    fields: dict[str, JsonValue] = {"result": outcome.result, "error": outcome.error, "seconds": outcome.seconds}
    if outcome.size is not None:
        fields["size"] = outcome.size
    return _state_update(outcome.action_id, state, text, finished_at=json_time(event.at), **fields)


def _waited(event: facts.ActionWaited) -> j.EntryUpdate:
    """A polling step's last value and number of polls, or the outcome of a waiting step."""
    if event.end == "given_up":
        return _ended_with_error(event.action_id, "failed", event.error)
    if not event.polls:
        return _state_update(event.action_id, "finished", JOURNAL["woken"])
    last_value = JOURNAL["poll_failed"].format(error=event.error) if event.error else summarize(event.value)
    line = JOURNAL["polled" if event.end is None else "poll_met"]
    times = "once" if event.polls == 1 else f"{event.polls:,} times"
    text = line.format(times=times, seen=last_value)
    if event.end is None:
        return _state_update(event.action_id, "waiting", text)
    return _state_update(
        event.action_id, "finished", text, result=event.value, error="", finished_at=json_time(event.at)
    )


def _answered(event: facts.QuestionAnswered) -> Iterator[j.EntryUpdate]:
    """The answer is the action's result, or settles an uncertain action."""
    if event.kind == "action":
        state: j.ActionState = "approved" if event.is_input else "finished"
        fields = {"result": event.text, "finished_at": json_time(event.at), "decided_by": event.actor}
        yield _state_update(event.question_id, state, summarize(event.text), **fields)
    if event.kind != "uncertain":
        return
    match event.key:
        case "happened":
            yield _state_update(event.question_id, "finished", event.text, error="", decided_by=event.actor)
        case "again":
            yield _state_update(event.question_id, "approved", event.text, error="", decided_by=event.actor)
        case _:
            left = JOURNAL["left_open"]
            yield update(f"action:{event.question_id}", gist=left, decided_by=event.actor)


def _skipped(event: facts.ActionSkipped) -> Iterator[j.EntryUpdate]:
    fields: dict[str, JsonValue] = {"finished_at": json_time(event.at)}
    if event.output is None:
        why = event.reason or state_label("skipped")
        yield _state_update(event.action_id, "skipped", why, error=why, **fields)
    else:
        text = JOURNAL["output_given"].format(output=summarize(event.output))
        fields |= {"word": WORK["output_given"], "error": "", "artefact": None, "decided_by": event.actor}
        yield _state_update(event.action_id, "skipped", text, result=event.output, given=True, **fields)
    for dependent in event.dependents:
        yield _ended_with_error(dependent, "skipped", SKIPPED_WITH)


def _ended(event: SessionEvent, ended: Ended) -> j.EntryUpdate:
    """An action that ends without an outcome of its own."""
    if ended.began:
        return _ended_with_error(ended.id, "failed", JOURNAL["stopped_by_person"])
    why = ENDED[ended.reason]
    if ended.reason == "superseded" and isinstance(event, facts.MessageReceived):
        why = ENDED["superseded_by_message"]
    if ended.reason == "superseded" and isinstance(event, facts.TurnPlanned | facts.TurnRequested):
        why = ENDED["superseded_by_plan"]
    return _ended_with_error(ended.id, "skipped", why)
