"""The session machine, first page: its state, whose turn it is, and how each fact moves it on.

Pure and total: no I/O, no clock, no randomness. `decide` (decide.py) says which facts may happen.

    planning   planner      drafts a plan or a turn        awaiting_approval  user    plan, code or actions in review
    coding     generator    writes the code                awaiting_input     user    feedback or an answer
    executing  executor     runs a wave of actions         escalated          user    a person takes over
    verifying  verifier     checks the code or the turn    resting, failed    nobody
    answering  generator    writes the answer
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from shared.domain.changing import replace
from shared.domain.commands import Work
from shared.domain.memory import Memory
from shared.domain.state import Action, Code, Failure, Plan, PlanStatus, Question, Round, Said, Spent, Turn
from shared.events.values import Knowledge, Role, Service, SessionSettings, ToolPolicy, Workflow

Phase = Literal[
    "planning",
    "coding",
    "executing",
    "verifying",
    "answering",
    "awaiting_approval",
    "awaiting_input",
    "escalated",
    "resting",
    "failed",
]
Rest = Literal["new", "answered", "completed", "stopped"]
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

    `phase` and `halted` are those that the session returns to; `dialogue` is what the service asked meanwhile.
    """

    texts: tuple[str, ...]
    phase: Phase
    halted: Phase | None = None
    dialogue: tuple[Said, ...] = ()


@dataclass(frozen=True)
class Session:
    """One session as its first `version` events left it."""

    id: str
    version: int = 0
    needs: int = 1  # the highest number of the format among its events
    rules: int = 1  # by which it is folded
    owner: str = ""
    title: str = ""
    workflow: Workflow = "conversation"
    settings: SessionSettings = field(default_factory=SessionSettings)
    knowledge: tuple[Knowledge, ...] = ()
    phase: Phase = "resting"
    reason: Rest = "new"
    work: Work | None = None
    halted: Phase | None = None  # where it goes on: the phase that failed, was stopped, asked, or ran out of budget
    since: int = 0  # version of the event that brought the present phase, or what is now in review
    paused: bool = False
    remark: Remark | None = None
    reply: str = ""  # in words, to what was said last
    request: str = ""
    rounds: tuple[Round, ...] = ()
    feedback: tuple[str, ...] = ()  # what the next draft must take in
    wishes: tuple[str, ...] = ()  # feedback that the code has taken in since its plan was approved
    unread: tuple[str, ...] = ()  # said while work was going on, not yet taken in
    asked: str = ""  # the planner's last question, for the prompt that takes the answer in
    dialogue: tuple[Said, ...] = ()  # what was asked and answered since the request
    memory: Memory = field(default_factory=Memory)
    replan: bool = False  # the next draft is to be another one, not a revision
    problems: tuple[str, ...] = ()  # why the last code or turn was sent back
    plan: Plan | None = None
    plans: int = 0
    code: Code | None = None
    codes: int = 0
    turn: Turn | None = None
    turns: int = 0
    turns_before: int = 0  # turns of earlier requests: max_turns counts from here
    loose: tuple[Action, ...] = ()  # started, and outlived their turn: what comes of them is still recorded
    question: Question | None = None
    answer: str = ""
    confidence: float = 0.0  # of the answer
    evidence: tuple[str, ...] = ()  # ids of the actions that support it
    accepted: bool = False  # the answer, by the person
    saved: bool = False  # and kept in their library
    before: dict[str, tuple[dict[str, JsonValue], ...]] = field(default_factory=dict)  # by flow: what paths made
    failure: Failure | None = None
    spent: Spent = field(default_factory=Spent)
    policies: dict[str, ToolPolicy] = field(default_factory=dict)
    shared_with: dict[str, Role] = field(default_factory=dict)
    parent: str | None = None
    recent: tuple[str, ...] = ()  # ids of the last commands people gave: a repeated one changes nothing

    @property
    def asking(self) -> bool:
        """A person is now asked for something."""
        return self.phase in ASKING

    @property
    def over_budget(self) -> bool:
        tokens, cost = self.settings.token_budget, self.settings.cost_budget
        return (tokens is not None and self.spent.tokens >= tokens) or (cost is not None and self.spent.cost >= cost)


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
    drafting = phase in ("planning", "coding") and session.remark is None
    return replace(
        session,
        phase=phase,
        work=Work(service=service, version=version) if service and not session.paused else None,
        question=None,
        halted=None,
        failure=None,
        feedback=newest(session.feedback + session.unread, WORDS_KEPT) if drafting else session.feedback,
        unread=() if drafting else session.unread,
    )


def put_back(session: Session) -> Session:
    """The session as it was before the remark that is being answered."""
    if (remark := session.remark) is None:
        return session
    return replace(settle(session, remark.phase), halted=remark.halted, remark=None)


def set_aside(session: Session) -> Session:
    """The same, with the remark's words for the next draft: a person decides about what is there at once.

    So are the answers to what was asked about the remark.
    """
    if (remark := session.remark) is None:
        return session
    words = (*session.unread, *remark.texts, *(said.answer for said in remark.dialogue))
    return replace(put_back(session), unread=newest(words, WORDS_KEPT))


def settle(session: Session, phase: Phase, reason: Rest | None = None) -> Session:
    """Leave the work: nobody's turn, or a person's. What a pause held back has ended where nothing goes on."""
    return replace(
        session,
        phase=phase,
        work=None,
        question=None,
        halted=None,
        failure=None,
        paused=session.paused and phase in ASKING,
        reason=reason or session.reason,
    )
