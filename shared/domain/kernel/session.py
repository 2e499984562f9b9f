"""The session's state machine: its state, its phases, and who is due in each.

Pure: no I/O, no clock, no randomness. `decide` says which events may happen, `evolve` applies them.

    planning   planner      drafts a plan or a turn        awaiting_approval  user    plan, code or actions in review
    coding     generator    writes the code                awaiting_input     user    feedback or an answer
    executing  executor     runs a batch of actions        escalated          user    takes over
    verifying  verifier     checks the code or the turn    resting, failed    nobody
    answering  generator    writes the answer               waiting            nobody  a time that a step waits for
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from parley.events.values import FileRef, Role, Service, SessionSettings, Step, Subjects, ToolPolicy, Workflow
from shared.domain.kernel.commands import Work
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.state import Action, Code, Failure, Plan, PlanStatus, Turn
from shared.domain.plan.decisions import Decision
from shared.domain.rules.usage_totals import UsageTotals
from shared.domain.steps.references import awaits_values
from shared.domain.transcript.dialogue import Offer, OpenQuestion, TranscriptEntry, Words
from shared.domain.transcript.memory import Memory

Phase = Literal[
    "planning",
    "coding",
    "executing",
    "verifying",
    "answering",
    "awaiting_approval",
    "awaiting_input",
    "waiting",
    "escalated",
    "resting",
    "failed",
]
RestReason = Literal["new", "answered", "completed", "stopped", "approved"]  # approved: its plan is not started yet
ReviewTarget = Literal["text", "code", "actions"]

SERVICE_OF: dict[Phase, Service] = {
    "planning": "planner",
    "coding": "generator",
    "executing": "executor",
    "verifying": "verifier",
    "answering": "generator",
}
USER_PHASES: frozenset[Phase] = frozenset({"awaiting_approval", "awaiting_input", "escalated"})
MAX_RECENT_COMMANDS = 100
MAX_REPAIRS = 2
MAX_WORDS_BYTES = 256 * 1024  # of knowledge, and of unread messages; one message can bring as much


@dataclass(frozen=True)
class NextDraft:
    """What the next draft should be: `another` plan instead of a revision; free of the last draft's `problems`."""

    another: bool = False
    after_decline: bool = False  # of what is to be drafted anew
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """Counts of versions and turns. `turns_before`: of earlier requests, `turns_before_words`: before their words."""

    plans: int = 0
    codes: int = 0
    turns: int = 0
    turns_before: int = 0
    turns_before_words: int = 0


@dataclass(frozen=True)
class SessionAnswer:
    """The answer to the last request; `evidence` names the actions that support it. The user may accept and save it."""

    text: str = ""
    confidence: float = 0.0
    evidence: tuple[str, ...] = ()
    next: tuple[str, ...] = ()  # messages that the user could send
    accepted: bool = False
    saved: bool = False


@dataclass(frozen=True)
class AskedBeside:
    """Where a session was in which a service asked a question in reply to a message, while nothing was at work."""

    phase: Phase
    resume_phase: Phase | None = None
    begins_round: bool = False


@dataclass(frozen=True)
class Session:
    """The fold of a session's first `version` events: general fields first, then the parts of the workflows.

    Changing the workflow keeps all parts. `needs`: the highest log format among the events.
    `reply`: a message to be answered beside the work. `since_version`: of the event that led to the phase or review.
    `resume_phase`: the one that failed, was stopped, or asked; a retry or answer enters it again. `left_running`: older
    turns' actions that still run. `flow_results`: by flow, of paths. `subject`: whom the newest call was about.
    """

    id: str
    version: int = 0
    needs: int = 1
    owner: str = ""
    title: str = ""
    workflow: Workflow = "conversation"
    settings: SessionSettings = field(default_factory=SessionSettings)
    time_zone: str = ""
    phase: Phase = "resting"
    rest_reason: RestReason = "new"
    work: Work | None = None
    reply: Work | None = None
    offer: Offer | None = None
    resume_phase: Phase | None = None
    since_version: int = 0
    paused: bool = False
    question: OpenQuestion | None = None
    asked_beside: AskedBeside | None = None
    failure: Failure | None = None
    spent: UsageTotals = field(default_factory=UsageTotals)
    at_work_since: datetime | None = None  # time of the last event while a service is due
    policies: dict[str, ToolPolicy] = field(default_factory=dict)
    shared_with: dict[str, Role] = field(default_factory=dict)
    parent_id: str | None = None
    recent_commands: tuple[str, ...] = ()  # ids of the users' last commands
    decisions: tuple[Decision, ...] = ()  # the last ones, oldest first

    words: Words = field(default_factory=Words)
    transcript: tuple[TranscriptEntry, ...] = ()
    plan: Plan | None = None
    plan_changed_at: datetime | None = None  # of the last event that changed the plan, its status or a step
    task: str = ""  # of the current request; all versions of its execution plan share it
    begun_steps: tuple[Action, ...] = ()  # of the task's earlier turns: finished, or perhaps finished
    ran_steps: dict[str, Step] = field(default_factory=dict)  # those of `begun_steps` as their plans had them, by id
    attempts: dict[str, int] = field(default_factory=dict)  # by step of the task: the next attempt's number
    code: Code | None = None
    next_draft: NextDraft = field(default_factory=NextDraft)
    turn: Turn | None = None
    left_running: tuple[Action, ...] = ()
    memory: Memory = field(default_factory=Memory)
    answer: SessionAnswer = field(default_factory=SessionAnswer)
    flow_results: dict[str, tuple[dict[str, JsonValue], ...]] = field(default_factory=dict)
    files: dict[str, FileRef] = field(default_factory=dict)
    subject: str = ""
    subjects: Subjects = "unstated"
    counts: Counts = field(default_factory=Counts)

    @property
    def is_awaiting_user(self) -> bool:
        """The session waits for the user."""
        return self.phase in USER_PHASES

    @property
    def is_working(self) -> bool:
        """A service is due, and no pause keeps the session from going on."""
        return self.reply is not None or (self.work is not None and not self.paused)

    @property
    def holds(self) -> bool:
        """Nothing but reads begins: a message is unread or unanswered, or an offer that came of it is open."""
        return self.turn_yields or self.reply is not None or self.offer is not None

    @property
    def turn_yields(self) -> bool:
        """A message is unread which the next turn takes in: no change of this one begins any more."""
        reads = self.turn is not None and self.turn.rules.reads_messages
        return reads and bool(self.words.unread) and self.reply is None

    @property
    def works(self) -> tuple[Work, ...]:
        """What services are due for: the work of the phase, and a message to be answered."""
        return tuple(work for work in (self.work, self.reply) if work)

    @property
    def waiting_actions(self) -> tuple[Action, ...]:
        return tuple(action for action in self.turn.actions if action.status == "waiting") if self.turn else ()

    @property
    def is_over_budget(self) -> bool:
        return self.spent.is_over_model_budget(self.settings) or self.spent.is_over_work_budget(self.settings)


SESSION: TypeAdapter[Session] = TypeAdapter(Session)


def title_of(request: str) -> str:
    """The title of a session that nobody has named: the beginning of its first request."""
    return (request.strip().splitlines() or ["Untitled"])[0][:80]


def is_untitled(session: Session) -> bool:
    """Whether nobody has named the session."""
    return session.title == title_of(session.words.request)


def review_target(session: Session) -> ReviewTarget | None:
    """What an approval or feedback is about now: what is in review, or was rejected and waits for feedback."""
    if session.phase == "awaiting_approval" and undecided_actions(session.turn):
        return "actions"
    if session.code and session.code.status in ("review", "rejected"):
        return "code"
    if session.plan and session.plan.status in ("pending_approval", "rejected"):
        return "text"
    return None


def item_in_review(session: Session) -> Plan | Code | None:
    """The plan or code that waits for the user's decision."""
    target = review_target(session) if session.phase == "awaiting_approval" else None
    return session.code if target == "code" else session.plan if target == "text" else None


def undecided_actions(turn: Turn | None) -> tuple[Action, ...]:
    """The actions that wait for the user's approval: of a turn's known calls, or only the next one."""
    if turn is None:
        return ()
    asking = (a for a in turn.actions if a.status == "planned" and a.spec.approval_reason)
    waiting = tuple(a for a in asking if not awaits_values(turn, a.spec))
    if not turn.rules.one_by_one:
        return waiting
    done = {a.spec.id for a in turn.actions if a.status == "finished" or a.spec.decision == "skip"}
    return tuple(a for a in waiting if done.issuperset(a.spec.depends_on))


def decidable_actions(session: Session) -> tuple[Action, ...]:
    """The actions that the user can decide on now: also while reads run that were planned beside them."""
    return undecided_actions(session.turn) if session.phase in ("awaiting_approval", "executing") else ()


def with_plan(session: Session, status: PlanStatus) -> Session:
    """The session with its plan, if it has one, in this status."""
    return replace(session, plan=replace(session.plan, status=status)) if session.plan else session


def with_code(session: Session, **changes: object) -> Session:
    """The session with its code, if it has any, changed."""
    return replace(session, code=replace(session.code, **changes)) if session.code else session  # type: ignore[arg-type]


def with_words(session: Session, **changes: object) -> Session:
    """The session with these fields of its `words` changed."""
    return replace(session, words=replace(session.words, **changes))  # type: ignore[arg-type]


def with_next_draft(session: Session, **changes: object) -> Session:
    """The session with these fields of its `next_draft` changed."""
    return replace(session, next_draft=replace(session.next_draft, **changes))  # type: ignore[arg-type]


def with_answer(session: Session, **changes: object) -> Session:
    """The session with these fields of its `answer` changed."""
    return replace(session, answer=replace(session.answer, **changes))  # type: ignore[arg-type]


def with_counts(session: Session, **changes: int) -> Session:
    """The session with these fields of its `counts` changed."""
    return replace(session, counts=replace(session.counts, **changes))
