"""What it means for a session that it stands where it stands: what was found goes in, rows and a sentence come out."""

from datetime import datetime
from typing import Literal, NamedTuple

from cli.checks import Check
from cli.sessions import ago
from cli.visible import visible
from shared.bus import Consumer
from shared.domain.session import SERVICE_OF, Session, reviewing, undecided
from shared.log import UpgradeNeeded
from shared.settings import Settings

Place = Literal["waiting", "in hand", "done", "gone", "unknown"]


class Folded(NamedTuple):
    """A session as its messages in the log make it."""

    session: Session
    places: dict[int, tuple[int, datetime]]  # of each version: position in the stream, and when
    parked: tuple[tuple[int, str], ...]  # positions that are no event of it, and why
    newer: UpgradeNeeded | None = None  # why the rest of it could not be folded


class Found(NamedTuple):
    """Everything that was looked at."""

    folded: Folded
    consumer: Consumer | None  # of the service that is due; None: nobody is, or the broker does not know it
    store: str  # "" where plan_store answers, else why not
    letters: tuple[str, ...]  # why deliveries of this session were given up
    model: Check
    settings: Settings
    now: datetime

    @property
    def service(self) -> str:
        """Who is due; "" for nobody, or a person."""
        return self.folded.session.work.service if self.folded.session.work else ""

    @property
    def since(self) -> str:
        work = self.folded.session.work
        begun = self.folded.places.get(work.version) if work else None
        return f"{begun[1]:%H:%M:%S} ({ago(begun[1], self.now)})" if begun else "before it was forked"

    @property
    def place(self) -> Place:
        """Where the event that began the work is: not given to anybody, in hand, acknowledged."""
        work = self.folded.session.work
        begun = self.folded.places.get(work.version) if work else None
        if self.consumer is None:
            return "gone"
        if begun is None:
            return "unknown"
        if begun[0] > self.consumer.delivered:
            return "waiting"
        return "done" if begun[0] <= self.consumer.done else "in hand"


def examined(seen: Found) -> list[Check]:
    """One row for each thing that can keep a session."""
    session = seen.folded.session
    rows = [_session(seen), _due(seen)]
    if newer := seen.folded.newer:
        rows.append(Check("release", "fail", f"{newer} It goes on at position {newer.position}", UPGRADE))
    if seen.service:
        rows += [_delivery(seen), _alive(seen)]
    if seen.letters:
        rows.append(Check("dead letters", "warn", visible(seen.letters[0]), "parley dead lists them all"))
    if seen.folded.parked:
        position, why = seen.folded.parked[-1]
        told = f"{len(seen.folded.parked)}, the last at {position}: {visible(why)}"
        rows.append(Check("put aside", "warn", told, "they changed nothing and block nothing"))
    rows.append(_budget(session, priced=bool(seen.settings.parley_prices)))
    needed = bool(seen.service) or seen.model.outcome != "fail"
    rows.append(seen.model if needed else seen.model._replace(outcome="warn"))
    rows.append(Check("plan_store", "fail", seen.store, "start it, or see its log") if seen.store else _STORE_IS_WELL)
    return rows


UPGRADE = "upgrade this Parley, all services; nothing is lost meanwhile"
_STORE_IS_WELL = Check("plan_store", "ok", "answers")


def _session(seen: Found) -> Check:
    session = seen.folded.session
    if not session.version and seen.folded.newer:
        return Check("session", "warn", "all of it was stored by a newer release")
    if not session.version:
        return Check("session", "fail", "none of its messages is an event of it", "see parley publish --help")
    changed = ago(seen.folded.places[session.version][1], seen.now)
    paused = " (paused)" if session.paused else ""
    return Check("session", "ok", f"{session.phase}{paused}, version {session.version}, changed {changed}")


def _due(seen: Found) -> Check:
    """Whose turn it is, and since when."""
    session = seen.folded.session
    talk = f"parley chat --session {session.id}"
    if seen.service:
        return Check("due", "ok", f"{seen.service}, since {seen.since}")
    if session.asking:
        return Check("due", "ok", f"a person: {wanted(session)}", talk)
    if session.paused and session.phase in SERVICE_OF:
        return Check("due", "warn", "nobody: a person paused it", f"resume it: {talk}")
    if session.phase == "failed" and session.failure:
        again = f"parley dead --retry {session.id}" if session.failure.retryable else f"say what to change: {talk}"
        return Check("due", "fail", f"nobody: {session.failure.stage} failed: {visible(session.failure.reason)}", again)
    return Check("due", "ok", f"nobody: it rests ({session.rest_reason})")


def wanted(session: Session) -> str:
    """What a person is asked for, in words."""
    target = reviewing(session)
    match session.phase:
        case "awaiting_approval" if target == "actions":
            names = ", ".join(action.spec.tool for action in undecided(session.turn))
            return f"to approve or deny {visible(names)}"
        case "awaiting_approval":
            return f"to approve the {'code' if target == 'code' else 'plan'}, or to say what to change"
        case "awaiting_input" if session.question:
            return f"to answer “{visible(session.question.text)}”"
        case "escalated":
            return "to take over: planner and verifier do not come to an end"
    return "to say what to change"


def _delivery(seen: Found) -> Check:
    consumer = seen.consumer
    if consumer is None:
        return Check("delivery", "fail", f"the broker knows no consumer {seen.service}", "parley provision")
    match seen.place:
        case "waiting":
            told = f"given to nobody yet; {consumer.pending} wait, {consumer.in_hand} are in hand"
            return Check("delivery", "warn", told, f"see {seen.service}")
        case "done":
            advice = f"plan_store fails it after {seen.settings.stuck_work_timeout:g} s; then it can be retried"
            return Check("delivery", "fail", "acknowledged, and nothing came of it", advice)
        case "in hand":
            again = f"; {consumer.redelivered} of {consumer.in_hand} in hand were given out more than once"
            told = f"given to a {seen.service}, no outcome yet"
            return Check("delivery", "ok", told + again * bool(consumer.redelivered))
    return Check("delivery", "warn", "the work began in the session that this one was forked from")


def _alive(seen: Found) -> Check:
    """A worker with a free hand asks for work at any moment; with all hands busy it cannot be told from a dead one."""
    consumer = seen.consumer
    if consumer is None:
        return Check(seen.service, "warn", "cannot be told without its consumer", "parley provision")
    if consumer.asking:
        return Check(seen.service, "ok", "is up, and asks for work")
    if consumer.in_hand >= seen.settings.worker_concurrency:
        told = f"all its hands are busy ({consumer.in_hand} in hand), or it is gone"
        return Check(seen.service, "warn", told, "start another one")
    todo = f"start it (python -m services.{seen.service}.app; parley up does), or see its log"
    return Check(seen.service, "fail", "nobody asks for work: no such process is up, or it hangs", todo)


def _budget(session: Session, *, priced: bool) -> Check:
    limits, spent = session.settings, session.spent
    told = [f"{spent.tokens} of {limits.token_budget} tokens"] if limits.token_budget is not None else []
    told += [f"${spent.cost:.4f} of ${limits.cost_budget:g}"] if limits.cost_budget is not None else []
    told += [f"{spent.tool_calls} of {limits.call_budget} tool calls"] if limits.call_budget is not None else []
    told += [f"{spent.seconds:.0f} of {limits.time_budget} s at work"] if limits.time_budget is not None else []
    text = ", ".join(told) or f"{spent.tokens} tokens, ${spent.cost:.4f}, no limit"
    if session.over_budget:
        return Check("budget", "warn", text, "spent: raise it")
    if limits.cost_budget is not None and not priced:
        return Check("budget", "warn", text, "without PARLEY_PRICES calls cost $0 and the cost budget never triggers")
    return Check("budget", "ok", text)


def conclusion(seen: Found) -> str:
    """Why it does not go on, and what to do, in a sentence."""
    if seen.folded.newer:
        return f"It is in the hands of a newer release: {UPGRADE}."
    if not seen.service:
        due = _due(seen)
        start = "It waits for a person" if seen.folded.session.asking else "Nothing is due"
        told = due.found.removeprefix("nobody: ").removeprefix("a person: ")
        return f"{start}: {told}." + (f" To go on: {due.advice}." if due.advice else "")
    alive, service = _alive(seen), seen.service
    sentences: dict[Place, str] = {
        "gone": f"Nothing can reach {service}: {_delivery(seen).advice}.",
        "waiting": f"It waits for its turn: {service} is up, and takes one after the other.",
        "done": f"The work was lost: {_delivery(seen).advice}.",
        "in hand": f"{service} has it in hand since {seen.since}: nothing is wrong yet.",
        "unknown": f"{service} is due since {seen.since}.",
    }
    if seen.place == "waiting" and alive.outcome != "ok":
        return f"It waits because {service} does not take it: {alive.advice}."
    if seen.place == "in hand" and alive.outcome == "fail":
        wait = f"{seen.settings.ack_wait:g} s"
        return f"Whoever had it is gone, or hangs; the next {service} is given it {wait} later: {alive.advice}."
    if seen.place == "in hand" and seen.model.outcome == "fail":
        return f"{service} has it in hand, and the model is away: {seen.model.advice}."
    return sentences[seen.place]
