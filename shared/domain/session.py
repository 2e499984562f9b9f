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

from parley.events.values import FileRef, Knowledge, Role, Service, SessionSettings, Step, ToolPolicy, Workflow
from shared.domain.commands import Work
from shared.domain.decisions import Decision
from shared.domain.fast_replace import replace
from shared.domain.memory import Memory
from shared.domain.newest_within import newest_within
from shared.domain.state import Action, AnsweredQuestion, Code, Failure, OpenQuestion, Plan, PlanStatus, Round, Turn
from shared.domain.usage_totals import UsageTotals

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
MAX_ROUNDS = 12
MAX_RECENT_COMMANDS = 100
MAX_REPAIRS = 2
MAX_WORDS_BYTES = 256 * 1024  # of knowledge, and of unread messages; one message can bring as much
MAX_CODE_FEEDBACK_BYTES = 8_000  # of the feedback that the code has taken in


@dataclass(frozen=True)
class Remark:
    """An unanswered remark: messages about what is in review or at rest.

    The session returns to `phase` and `resume_phase`. `dialogue` holds what the service asked meanwhile.
    """

    texts: tuple[str, ...]
    phase: Phase
    resume_phase: Phase | None = None
    dialogue: tuple[AnsweredQuestion, ...] = ()


@dataclass(frozen=True)
class Words:
    """The user's messages, and how far drafts have taken them in.

    feedback: what the next draft must take in. feedback_in_code: what the code has taken in since its plan was
    approved. unread: messages that came while a service worked. last_question: the planner's last question, for the
    prompt that takes in the answer. dialogue: questions and answers since the request. reply: the reply to the last
    message.
    """

    request: str = ""
    earlier: tuple[Round, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    feedback: tuple[str, ...] = ()
    feedback_in_code: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    last_question: str = ""
    dialogue: tuple[AnsweredQuestion, ...] = ()
    remark: Remark | None = None
    reply: str = ""


@dataclass(frozen=True)
class NextDraft:
    """What the next draft should be: `another` plan instead of a revision; free of the last draft's `problems`."""

    another: bool = False
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """Counts of versions and turns. `turns_before` are the turns of earlier requests, which `max_turns` ignores."""

    plans: int = 0
    codes: int = 0
    turns: int = 0
    turns_before: int = 0


@dataclass(frozen=True)
class SessionAnswer:
    """The answer to the last request; `evidence` names the actions that support it. The user may accept and save it."""

    text: str = ""
    confidence: float = 0.0
    evidence: tuple[str, ...] = ()
    accepted: bool = False
    saved: bool = False


@dataclass(frozen=True)
class Session:
    """The fold of a session's first `version` events: general fields first, then the parts of the workflows.

    Changing the workflow keeps all parts. `needs` is the highest log format among the events, `rules` the version of
    the rules that fold them. `since_version` is the version of the event that led to the current phase or review.
    `time_zone` is the person's, by their newest message. `resume_phase` is the phase that failed, was stopped, or
    asked: a retry or answer enters it again. `left_running` holds actions of earlier turns that still run. Their
    outcomes are recorded too. `flow_results` holds, by flow, what earlier paths returned; `files` files by name.
    """

    id: str
    version: int = 0
    needs: int = 1
    rules: int = 1
    owner: str = ""
    title: str = ""
    workflow: Workflow = "conversation"
    settings: SessionSettings = field(default_factory=SessionSettings)
    time_zone: str = ""
    phase: Phase = "resting"
    rest_reason: RestReason = "new"
    work: Work | None = None
    resume_phase: Phase | None = None
    since_version: int = 0
    paused: bool = False
    question: OpenQuestion | None = None
    failure: Failure | None = None
    spent: UsageTotals = field(default_factory=UsageTotals)
    at_work_since: datetime | None = None  # time of the last event while a service is due
    policies: dict[str, ToolPolicy] = field(default_factory=dict)
    shared_with: dict[str, Role] = field(default_factory=dict)
    parent_id: str | None = None
    recent_commands: tuple[str, ...] = ()  # ids of the users' last commands
    decisions: tuple[Decision, ...] = ()  # the last ones, oldest first

    words: Words = field(default_factory=Words)
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
    counts: Counts = field(default_factory=Counts)

    @property
    def is_awaiting_user(self) -> bool:
        """The session waits for the user."""
        return self.phase in USER_PHASES

    @property
    def is_working(self) -> bool:
        """A service is due, and no pause keeps the session from going on."""
        return self.phase in SERVICE_OF and not self.paused

    @property
    def waiting_actions(self) -> tuple[Action, ...]:
        return tuple(action for action in self.turn.actions if action.status == "waiting") if self.turn else ()

    @property
    def is_over_budget(self) -> bool:
        return self.spent.is_over_model_budget(self.settings) or self.spent.is_over_work_budget(self.settings)


SESSION: TypeAdapter[Session] = TypeAdapter(Session)


def review_target(session: Session) -> ReviewTarget | None:
    """What an approval or feedback is about now: what is in review, or was rejected and waits for feedback."""
    if session.phase == "awaiting_approval" and undecided_actions(session.turn):
        return "actions"
    if session.code and session.code.status in ("review", "rejected"):
        return "code"
    if session.plan and session.plan.status in ("pending_approval", "rejected"):
        return "text"
    return None


def undecided_actions(turn: Turn | None) -> tuple[Action, ...]:
    """The actions that wait for the user's approval: all of a turn's, or only the next one."""
    if turn is None:
        return ()
    waiting = tuple(a for a in turn.actions if a.status == "planned" and a.spec.approval_reason)
    if not turn.rules.one_by_one:
        return waiting
    done = {a.spec.id for a in turn.actions if a.status == "finished" or a.spec.decision == "skip"}
    return tuple(a for a in waiting if done.issuperset(a.spec.depends_on))


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


def enter_phase(session: Session, phase: Phase, version: int) -> Session:
    """The session in this phase, entered by the event of this version. A service's phase makes it due, unless paused.

    Drafting phases take in the unread messages, unless a remark is to be answered.
    """
    service = SERVICE_OF.get(phase)
    words = session.words
    if phase in ("planning", "coding") and words.remark is None:
        words = replace(words, feedback=newest_within(words.feedback + words.unread, MAX_WORDS_BYTES), unread=())
    return replace(
        session,
        words=words,
        phase=phase,
        work=Work(service=service, version=version) if service and not session.paused else None,
        question=None,
        resume_phase=None,
        failure=None,
    )


def before_remark(session: Session) -> Session:
    """The session as it was before the remark that is being answered."""
    if (remark := session.words.remark) is None:
        return session
    at = with_words(enter_idle_phase(session, remark.phase), remark=None)
    return replace(at, resume_phase=remark.resume_phase)


def defer_remark(session: Session) -> Session:
    """The session before its remark, with the remark's messages left to the next draft.

    This lets the user decide about what is in review at once. Answers to questions about the remark are kept too.
    """
    if (remark := session.words.remark) is None:
        return session
    words = (*session.words.unread, *remark.texts, *(answered.answer for answered in remark.dialogue))
    return with_words(before_remark(session), unread=newest_within(words, MAX_WORDS_BYTES))


def enter_idle_phase(session: Session, phase: Phase, reason: RestReason | None = None) -> Session:
    """The session in a phase without work: the user is due, or no one. A pause ends where nothing could go on."""
    return replace(
        session,
        phase=phase,
        work=None,
        question=None,
        resume_phase=None,
        failure=None,
        paused=session.paused and (phase in USER_PHASES or phase == "waiting" or phase in SERVICE_OF),
        rest_reason=reason or session.rest_reason,
    )
