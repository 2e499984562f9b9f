"""The session machine, first page: its state, whose turn it is, and how each fact moves it on.

Pure and total: no I/O, no clock, no randomness. `decide` (decide.py) says which facts may happen.

    planning   planner      drafts a plan or a turn        awaiting_approval  user    plan, code or actions in review
    coding     generator    writes the code                awaiting_input     user    feedback or an answer
    executing  executor     runs a wave of actions         escalated          user    a person takes over
    verifying  verifier     checks the code or the turn    resting, failed    nobody
    answering  generator    writes the answer               waiting            nobody  a time that a step waits for
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from parley.events.values import FileRef, Knowledge, Role, Service, SessionSettings, ToolPolicy, Workflow
from shared.domain.changing import replace
from shared.domain.commands import Work
from shared.domain.memory import Memory
from shared.domain.spent import Spent
from shared.domain.state import Action, Code, Failure, Plan, PlanStatus, Question, Round, Said, Turn

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
Rest = Literal["new", "answered", "completed", "stopped", "approved"]  # approved: a plan that is not started yet
Target = Literal["text", "code", "actions"]

SERVICE_OF: dict[Phase, Service] = {
    "planning": "planner",
    "coding": "generator",
    "executing": "executor",
    "verifying": "verifier",
    "answering": "generator",
}
ASKING: frozenset[Phase] = frozenset({"awaiting_approval", "awaiting_input", "escalated"})
ROUNDS_KEPT = 12
COMMANDS_KEPT = 100
MAX_REPAIRS = 2
WORDS_KEPT = 256 * 1024  # bytes of knowledge, and of words not taken in yet: as much as one message can bring
WISHES_KEPT = 8_000  # bytes of feedback that is in the code already


@dataclass(frozen=True)
class Remark:
    """What a person said of what is in review or at rest, and has not been answered.

    `phase` and `resume_phase` are those that the session returns to; `dialogue` is what the service asked meanwhile.
    """

    texts: tuple[str, ...]
    phase: Phase
    resume_phase: Phase | None = None
    dialogue: tuple[Said, ...] = ()


@dataclass(frozen=True)
class Words:
    """What was said, and how far it has been taken in.

    feedback: what the next draft must take in. feedback_in_code: what the code has taken in since its plan was
    approved. unread: said while work was going on. last_question: the planner's, for the prompt that takes the answer
    in. dialogue: what was asked and answered since the request. reply: in words, to what was said last.
    """

    request: str = ""
    earlier: tuple[Round, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    feedback: tuple[str, ...] = ()
    feedback_in_code: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    last_question: str = ""
    dialogue: tuple[Said, ...] = ()
    remark: Remark | None = None
    reply: str = ""


@dataclass(frozen=True)
class NextDraft:
    """What the next draft is to be: `another` one, not a revision; one that mends the `problems` of the last one."""

    another: bool = False
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """How many there have been. A request's `max_turns` counts from `turns_before`, the turns of earlier requests."""

    plans: int = 0
    codes: int = 0
    turns: int = 0
    turns_before: int = 0


@dataclass(frozen=True)
class Answer:
    """What the last request came to; `evidence` names the actions that support it. A person accepts it, or saves it."""

    text: str = ""
    confidence: float = 0.0
    evidence: tuple[str, ...] = ()
    accepted: bool = False
    saved: bool = False


@dataclass(frozen=True)
class Session:
    """One session as its first `version` events left it: what all have in common, then its parts by name.

    A part stays when the workflow changes. `needs` is the highest number of the format among the events, `rules` the
    number that they are folded by. `since_version` is that of the event that brought the present phase, or what is now
    in review. `resume_phase` is where the session goes on: the phase that failed, was stopped or asked. `left_running`
    are actions that outlived their turn; their outcomes are still recorded. `flow_results` holds, by flow, what earlier
    paths returned. `files`, by name: the session's files, as the outcomes of its actions left them.
    """

    id: str
    version: int = 0
    needs: int = 1
    rules: int = 1
    owner: str = ""
    title: str = ""
    workflow: Workflow = "conversation"
    settings: SessionSettings = field(default_factory=SessionSettings)
    phase: Phase = "resting"
    rest_reason: Rest = "new"
    work: Work | None = None
    resume_phase: Phase | None = None
    since_version: int = 0
    paused: bool = False
    question: Question | None = None
    failure: Failure | None = None
    spent: Spent = field(default_factory=Spent)
    at_work_since: datetime | None = None  # the time of the last event, while a service is due
    policies: dict[str, ToolPolicy] = field(default_factory=dict)
    shared_with: dict[str, Role] = field(default_factory=dict)
    parent_id: str | None = None
    recent_commands: tuple[str, ...] = ()  # the ids of the last ones that people gave

    words: Words = field(default_factory=Words)
    plan: Plan | None = None
    task: str = ""  # of the request at hand: all versions of its execution plan share it
    begun_steps: tuple[Action, ...] = ()  # of the task, in turns that are left: those that were done, or may have been
    attempts: dict[str, int] = field(default_factory=dict)  # of the task's steps, in turns that are left: the next ones
    code: Code | None = None
    next_draft: NextDraft = field(default_factory=NextDraft)
    turn: Turn | None = None
    left_running: tuple[Action, ...] = ()
    memory: Memory = field(default_factory=Memory)
    answer: Answer = field(default_factory=Answer)
    flow_results: dict[str, tuple[dict[str, JsonValue], ...]] = field(default_factory=dict)
    files: dict[str, FileRef] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)

    @property
    def asking(self) -> bool:
        """A person is now asked for something."""
        return self.phase in ASKING

    @property
    def over_budget(self) -> bool:
        return self.spent.over_model_budget(self.settings) or self.spent.over_work_budget(self.settings)


SESSION: TypeAdapter[Session] = TypeAdapter(Session)


def reviewing(session: Session) -> Target | None:
    """What an approval or feedback is about now, or what rejected thing waits for feedback."""
    if session.phase == "awaiting_approval" and undecided(session.turn):
        return "actions"
    if session.code and session.code.status in ("review", "rejected"):
        return "code"
    if session.plan and session.plan.status in ("pending_approval", "rejected"):
        return "text"
    return None


def undecided(turn: Turn | None) -> tuple[Action, ...]:
    """The actions that wait for a person's yes: all of a turn's, or only the next one."""
    if turn is None:
        return ()
    waiting = tuple(a for a in turn.actions if a.status == "planned" and a.spec.approval_reason)
    if not turn.rules.one_by_one:
        return waiting
    done = {a.spec.id for a in turn.actions if a.status == "finished" or a.spec.decision == "skip"}
    return tuple(a for a in waiting if done.issuperset(a.spec.depends_on))


def with_plan(session: Session, status: PlanStatus) -> Session:
    """The same session with its plan, if there is one, in another state."""
    return replace(session, plan=replace(session.plan, status=status)) if session.plan else session


def with_code(session: Session, **changes: object) -> Session:
    """The same session with its code, if there is any, changed."""
    return replace(session, code=replace(session.code, **changes)) if session.code else session  # type: ignore[arg-type]


def with_words(session: Session, **changes: object) -> Session:
    """The same session with other words."""
    return replace(session, words=replace(session.words, **changes))  # type: ignore[arg-type]


def with_next_draft(session: Session, **changes: object) -> Session:
    """The same session with something else known of its next draft."""
    return replace(session, next_draft=replace(session.next_draft, **changes))  # type: ignore[arg-type]


def with_answer(session: Session, **changes: object) -> Session:
    """The same session with its answer changed."""
    return replace(session, answer=replace(session.answer, **changes))  # type: ignore[arg-type]


def with_counts(session: Session, **changes: int) -> Session:
    """The same session with other counts."""
    return replace(session, counts=replace(session.counts, **changes))


def newest[T](items: tuple[T, ...], limit: int, text: Callable[[T], str] = str) -> tuple[T, ...]:
    """The last items whose texts have at most `limit` bytes together, and the last one in any case.

    A session is sent whole to whoever works on it, and its words are in every prompt: neither may grow for ever.
    """
    kept: list[T] = []
    for item in reversed(items):
        limit -= len(text(item).encode())
        if kept and limit < 0:
            break
        kept.append(item)
    return tuple(reversed(kept))


def begin(session: Session, phase: Phase, version: int) -> Session:
    """Enter a phase by the event of this version; a working phase makes its service due, unless paused.

    Drafting phases take in what was said meanwhile, unless a remark is to be answered.
    """
    service = SERVICE_OF.get(phase)
    words = session.words
    if phase in ("planning", "coding") and words.remark is None:
        words = replace(words, feedback=newest(words.feedback + words.unread, WORDS_KEPT), unread=())
    return replace(
        session,
        words=words,
        phase=phase,
        work=Work(service=service, version=version) if service and not session.paused else None,
        question=None,
        resume_phase=None,
        failure=None,
    )


def put_back(session: Session) -> Session:
    """The session as it was before the remark that is being answered."""
    if (remark := session.words.remark) is None:
        return session
    at = with_words(settle(session, remark.phase), remark=None)
    return replace(at, resume_phase=remark.resume_phase)


def set_aside(session: Session) -> Session:
    """The same, with the remark's words for the next draft: a person decides about what is there at once.

    So are the answers to what was asked about the remark.
    """
    if (remark := session.words.remark) is None:
        return session
    words = (*session.words.unread, *remark.texts, *(said.answer for said in remark.dialogue))
    return with_words(put_back(session), unread=newest(words, WORDS_KEPT))


def settle(session: Session, phase: Phase, reason: Rest | None = None) -> Session:
    """Leave the work: nobody's turn, or a person's. What a pause held back has ended where nothing goes on."""
    return replace(
        session,
        phase=phase,
        work=None,
        question=None,
        resume_phase=None,
        failure=None,
        paused=session.paused and (phase in ASKING or phase == "waiting" or phase in SERVICE_OF),
        rest_reason=reason or session.rest_reason,
    )
