"""`parley doctor SESSION`: the state of one session, which service is due, what blocks it, and what to do.

It reads the session from the log itself, so it works while plan_store is down.
"""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from rich.console import Console
from rich.text import Text

from cli.bus_client import connect_bus
from cli.command import Declined, Unreachable
from cli.operate.doctor import DoctorCheck, check_model, check_table, fail, ok, warn
from cli.operate.home import use_running_nats
from cli.talk.sessions import ago
from cli.text import visible
from shared.bus import Bus, BusUnavailable, ConsumerState
from shared.domain.kernel.commands import Work
from shared.domain.kernel.session import SERVICE_OF, Session, review_target, undecided_actions
from shared.log import LogUnavailable, SessionAtPosition, SessionLog, UpgradeNeeded, accept
from shared.settings import Settings
from shared.store import PlanStoreClient, StoreRefused, StoreUnavailable
from shared.store_api import DEAD_LIST, DeadPage, ListDead

WorkLocation = Literal["waiting", "in progress", "done", "gone", "unknown"]
# An idle worker keeps requesting messages, so one of these checks of its consumer sees a request.
CONSUMER_CHECKS = 10
CHECK_INTERVAL = 0.2  # seconds
MAX_LETTERS = 1000


class FoldedSession(NamedTuple):
    """A session folded from its messages in the log."""

    session: Session
    positions: dict[int, tuple[int, datetime]]  # by version: position in the stream, and time
    parked: tuple[tuple[int, str], ...]  # messages that readers ignore: position, and reason
    upgrade_needed: UpgradeNeeded | None = None  # why this release cannot fold the rest


class StoreAnswer(NamedTuple):
    """What plan_store says of a session."""

    dead_letters: tuple[str, ...] = ()  # why deliveries of this session were given up, newest first
    version: int = 0  # of the session in the database
    problem: str = ""  # why plan_store does not answer; "" if it does


class Findings(NamedTuple):
    """Everything that the diagnosis of one piece of due work is based on."""

    folded: FoldedSession
    work: Work | None  # None: no service is due
    consumer: ConsumerState | None  # of the due service; None: no service is due, or the broker has no such consumer
    store: StoreAnswer
    model: DoctorCheck
    settings: Settings
    now: datetime

    @property
    def loss(self) -> str:
        """What the log lacks of the session; "" if it has all that the database has."""
        version, stored = self.folded.session.version, self.store.version
        what = f"its messages after version {version}" if version else "all of its messages"
        return f"the log has lost {what}; the database has version {stored}" if stored > version else ""

    @property
    def service(self) -> str:
        """The service that is due; "" if none is."""
        return self.work.service if self.work else ""

    @property
    def is_reply(self) -> bool:
        """The work is to answer a message."""
        return self.work is not None and self.work == self.folded.session.reply

    @property
    def since(self) -> str:
        start = self.folded.positions.get(self.work.version) if self.work else None
        return f"{start[1]:%H:%M:%S} ({ago(start[1], self.now)})" if start else "before it was forked"

    @property
    def work_location(self) -> WorkLocation:
        """Where the event that began the work is: undelivered ("waiting"), in progress, or acknowledged ("done").

        "gone": no service is due, or it has no consumer. "unknown": the work began in the session before a fork.
        """
        start = self.folded.positions.get(self.work.version) if self.work else None
        if self.consumer is None:
            return "gone"
        if start is None:
            return "unknown"
        if start[0] > self.consumer.delivered:
            return "waiting"
        return "done" if start[0] <= self.consumer.acknowledged else "in progress"


def checks_for(findings: Findings, *beside: Findings) -> list[DoctorCheck]:
    """One row for each thing that can block a session, also those of the work `beside`."""
    session = findings.folded.session
    if findings.loss:
        return [fail("session", findings.loss, RESTORE)]
    rows = [_session(findings), _due(findings)]
    if newer := findings.folded.upgrade_needed:
        rows.append(fail("release", f"{newer} It continues at position {newer.position}", UPGRADE))
    if findings.service:
        rows += [_delivery(findings), _alive(findings)]
    for other in beside:
        rows += [_due(other), _delivery(other), _alive(other)]
    for reason in findings.store.dead_letters[:1]:
        rows.append(warn("dead letters", visible(reason), "parley dead lists all of them"))
    if findings.folded.parked:
        position, reason = findings.folded.parked[-1]
        finding = f"{len(findings.folded.parked)}, the last at {position}: {visible(reason)}"
        rows.append(warn("parked", finding, "they have no effect and block nothing"))
    rows.append(_budget(session, priced=bool(findings.settings.parley_prices)))
    is_failure_harmless = findings.model.outcome == "fail" and not findings.service  # no service needs it now
    rows.append(findings.model._replace(outcome="warn") if is_failure_harmless else findings.model)
    problem = findings.store.problem
    rows.append(fail("plan_store", problem, STORE_ADVICE) if problem else _STORE_IS_WELL)
    return rows


UPGRADE = "upgrade this Parley, all services; nothing is lost meanwhile"
RESTORE = "restore NATS from a backup; `parley rebuild` names the sessions and changes nothing"
STORE_ADVICE = "start it, or see its log"
_STORE_IS_WELL = ok("plan_store", "answers")


def _session(findings: Findings) -> DoctorCheck:
    session = findings.folded.session
    if not session.version and findings.folded.upgrade_needed:
        return warn("session", "a newer release stored all of it")
    if not session.version:
        return fail("session", "none of its messages is one of its events", "see parley publish --help")
    changed = ago(findings.folded.positions[session.version][1], findings.now)
    paused = " (paused)" if session.paused else ""
    return ok("session", f"{session.phase}{paused}, version {session.version}, changed {changed}")


def _due(findings: Findings) -> DoctorCheck:
    """Who has to act next, and since when."""
    session = findings.folded.session
    talk = f"parley chat --session {session.id}"
    if findings.service:
        task = ", to answer a message" if findings.is_reply else ""
        return ok("due", f"{findings.service}{task}, since {findings.since}")
    if session.is_awaiting_user or session.offer:
        return ok("due", f"the user: {requested_decision(session)}", talk)
    if session.paused and session.phase in SERVICE_OF:
        return warn("due", "nobody: its user paused it", f"resume it: {talk}")
    if session.phase == "failed" and session.failure:
        advice = f"parley dead --retry {session.id}" if session.failure.retryable else f"say what to change: {talk}"
        return fail("due", f"nobody: {session.failure.stage} failed: {visible(session.failure.reason)}", advice)
    return ok("due", f"nobody: it rests ({session.rest_reason})")


def requested_decision(session: Session) -> str:
    """What the user is asked to do, in words."""
    if session.offer:
        return "to take or keep what is offered"
    target = review_target(session)
    match session.phase:
        case "awaiting_approval" if target == "actions":
            names = ", ".join(action.spec.tool for action in undecided_actions(session.turn))
            return f"to approve or deny {visible(names)}"
        case "awaiting_approval":
            return f"to approve the {'code' if target == 'code' else 'plan'}, or to say what to change"
        case "awaiting_input" if session.question:
            return f"to answer “{visible(session.question.text)}”"
        case "escalated":
            return "to take over: planner and verifier cannot complete the request"
    return "to say what to change"


def _delivery(findings: Findings) -> DoctorCheck:
    consumer = findings.consumer
    if consumer is None:
        return fail("delivery", f"the broker knows no consumer {findings.service}", "parley provision")
    match findings.work_location:
        case "waiting":
            finding = f"not delivered yet; {consumer.pending} waiting, {consumer.unacknowledged} in progress"
            return warn("delivery", finding, f"see the row {findings.service}")
        case "done":
            gives_up = "says so" if findings.is_reply else "fails it"
            advice = f"plan_store {gives_up} after {findings.settings.stuck_work_timeout:g} s; then it can be retried"
            return fail("delivery", "acknowledged, without a result", advice)
        case "in progress":
            redelivered = (
                f"; {consumer.redelivered} of {consumer.unacknowledged} in progress were delivered more than once"
            )
            finding = f"delivered to {findings.service}, no result yet"
            return ok("delivery", finding + redelivered * bool(consumer.redelivered))
    return warn("delivery", "the work began in the session that this one was forked from")


def _alive(findings: Findings) -> DoctorCheck:
    """An idle worker keeps requesting messages; a fully busy one cannot be told from one that is down."""
    consumer = findings.consumer
    if consumer is None:
        return warn(findings.service, "unknown without its consumer", "parley provision")
    if consumer.has_waiting_pull:
        return ok(findings.service, "is running and asks for work")
    if consumer.unacknowledged >= findings.settings.worker_concurrency:
        finding = f"busy ({consumer.unacknowledged} in progress), or down"
        return warn(findings.service, finding, "start another one")
    todo = f"start it (python -m services.{findings.service}.app; parley up does), or see its log"
    return fail(findings.service, "no process asks for work: none is running, or it hangs", todo)


def _budget(session: Session, *, priced: bool) -> DoctorCheck:
    limits, spent = session.settings, session.spent
    finding = [f"{spent.tokens} of {limits.token_budget} tokens"] if limits.token_budget is not None else []
    finding += [f"${spent.cost:.4f} of ${limits.cost_budget:g}"] if limits.cost_budget is not None else []
    finding += [f"{spent.tool_calls} of {limits.call_budget} tool calls"] if limits.call_budget is not None else []
    finding += [f"{spent.seconds:.0f} of {limits.time_budget} s at work"] if limits.time_budget is not None else []
    text = ", ".join(finding) or f"{spent.tokens} tokens, ${spent.cost:.4f}, no limit"
    if session.is_over_budget:
        return warn("budget", text, "spent: raise it")
    if limits.cost_budget is not None and not priced:
        return warn("budget", text, "without PARLEY_PRICES calls cost $0 and the cost budget never triggers")
    return ok("budget", text)


def conclusion(findings: Findings, *beside: Findings) -> str:
    """Why the session does not continue, and what to do, in a sentence for each piece of due work."""
    works = (findings, *beside)
    return "\n".join(("The message: " if work.is_reply else "") + _conclusion(work) for work in works)


def _conclusion(findings: Findings) -> str:
    if findings.folded.upgrade_needed:
        return f"A newer release works on it: {UPGRADE}."
    if findings.loss:
        return f"It cannot go on, because {findings.loss}: {RESTORE}."
    if not findings.folded.session.version:
        return "No session has begun: none of the messages with this id is one of its events."
    if findings.service:
        return _obstacle(findings) or _whereabouts(findings)
    due = _due(findings)
    session = findings.folded.session
    start = "It waits for its user" if session.is_awaiting_user or session.offer else "Nothing is due"
    finding = due.finding.removeprefix("nobody: ").removeprefix("the user: ")
    return f"{start}: {finding}." + (f" To continue: {due.advice}." if due.advice else "")


def _obstacle(findings: Findings) -> str:
    """Why the due service cannot do its work now: the first cause found, or ""."""
    alive, service, location = _alive(findings), findings.service, findings.work_location
    if location not in ("waiting", "in progress"):
        return ""
    if location == "waiting" and alive.outcome != "ok":
        return f"It waits because {service} does not take it: {alive.advice}."
    if alive.outcome == "fail":
        wait = f"{findings.settings.ack_wait:g} s"
        return f"The {service} that had it is down or hangs; the next one gets it after {wait}: {alive.advice}."
    if findings.store.problem:
        return f"{service} cannot load the session, because plan_store does not answer: {STORE_ADVICE}."
    if findings.model.outcome == "fail":
        return f"{service} is running, but the model is unavailable: {findings.model.advice}."
    return ""


def _whereabouts(findings: Findings) -> str:
    """What happens to the event that made the service due."""
    service = findings.service
    sentences: dict[WorkLocation, str] = {
        "gone": f"Nothing can reach {service}: {_delivery(findings).advice}.",
        "waiting": f"It waits for its turn: {service} is running and takes the messages in order.",
        "done": f"The work was lost: {_delivery(findings).advice}.",
        "in progress": f"{service} has been working on it since {findings.since}: nothing is wrong yet.",
        "unknown": f"{service} has been due since {findings.since}.",
    }
    return sentences[findings.work_location]


async def doctor_session(settings: Settings, session_id: str) -> int:
    """Print the diagnosis. Exit code 1 if something blocks the session. Raises Unreachable, Declined."""
    async with connect_bus(settings) as bus:
        store = await _ask_store(bus, session_id)  # before the log, which must then have all that the database has
        try:
            folded = await fold_session(bus.log, session_id)
        except LogUnavailable as error:
            raise Unreachable(f"{error} `parley doctor` says more.") from error
        if not folded.session.version and not folded.parked and not folded.upgrade_needed and not store.version:
            raise Declined(f"There is no session {session_id}; `parley sessions` lists them.")
        findings = await _collect_findings(bus, folded, store, settings)
    checks = checks_for(*findings)
    console = Console(highlight=False)
    console.print(check_table(checks))
    console.print(Text(f"\n{conclusion(*findings)}"))
    return int(any(check.outcome == "fail" for check in checks))


async def fold_session(log: SessionLog, session_id: str) -> FoldedSession:
    """Fold the session from its messages. Raises LogUnavailable."""
    loaded = SessionAtPosition(Session(session_id), 0)
    positions: dict[int, tuple[int, datetime]] = {}
    quarantined: list[tuple[int, str]] = []
    while page := await log.read(session_id, after=loaded.position, leader=True):
        for raw in page:
            try:
                loaded, event, why = accept(loaded, raw)
            except UpgradeNeeded as newer:
                return FoldedSession(loaded.session, positions, tuple(quarantined), newer)
            if event:
                positions[event.version] = (raw.position, raw.at)
            else:
                quarantined.append((raw.position, why))
    return FoldedSession(loaded.session, positions, tuple(quarantined))


async def _collect_findings(bus: Bus, folded: FoldedSession, store: StoreAnswer, settings: Settings) -> list[Findings]:
    """The findings about each piece of due work; without any, those about the session."""
    model = await asyncio.to_thread(check_model, use_running_nats(settings))
    now = datetime.now(UTC)
    return [
        Findings(folded, work, await _consumer(bus, work.service) if work else None, store, model, settings, now)
        for work in folded.session.works or (None,)
    ]


async def _consumer(bus: Bus, service: str) -> ConsumerState | None:
    """The consumer, after waiting long enough for an idle worker to request messages; None if it does not exist."""
    try:
        consumer = await bus.consumer_state(service)
        for _ in range(CONSUMER_CHECKS):
            if consumer.has_waiting_pull:
                break
            await asyncio.sleep(CHECK_INTERVAL)
            consumer = await bus.consumer_state(service)
    except BusUnavailable:
        return None
    return consumer


async def _ask_store(bus: Bus, session_id: str) -> StoreAnswer:
    client = PlanStoreClient(bus, wait=3)
    try:
        page = DeadPage.model_validate(await client.ask(DEAD_LIST.name, **ListDead(limit=MAX_LETTERS).model_dump()))
        letters = tuple(f"{dead.consumer}: {dead.reason}" for dead in page.dead if dead.session_id == session_id)
        with suppress(StoreRefused, UpgradeNeeded):  # purged, or waiting for a newer release
            return StoreAnswer(letters, (await client.load(session_id)).session.version)
    except (StoreUnavailable, StoreRefused) as error:
        return StoreAnswer(problem=str(error))
    return StoreAnswer(letters)
