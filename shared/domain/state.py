"""The parts of a session: plan, code, turn, question. Frozen; what they can tell about themselves is derived."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from parley.events.facts import QuestionKind
from parley.events.hashing import canonical_hash
from parley.events.values import (
    ActionSpec,
    Artefact,
    Check,
    EndReason,
    NextAction,
    Option,
    OutcomeCause,
    PathPlan,
    PlanKind,
    Status,
    Step,
    SubGoalVerdict,
)
from shared.domain import wording
from shared.domain.plan_text import plan_text

PlanStatus = Literal[
    "draft", "pending_approval", "approved", "executing", "completed", "failed", "cancelled", "rejected"
]
CodeStatus = Literal["checking", "review", "approved", "rejected", "superseded"]
ActionStatus = Literal[
    "planned", "approved", "denied", "running", "started", "asked", "waiting", "finished", "failed", "skipped",
    "uncertain",
]  # fmt: skip

UNDER_WAY: frozenset[ActionStatus] = frozenset({"running", "started"})  # a quiet read is running, all else started
DONE: frozenset[ActionStatus] = frozenset({"denied", "finished", "failed", "skipped"})


def _hashed(step: Step) -> dict[str, JsonValue]:
    """All of a step that can run."""
    hashed: dict[str, JsonValue] = {name: getattr(step, name) for name in ("text", "tool", "arguments", "effect")}
    hashed |= {name: value for name in ("waits_for", "for_each", "fingerprint") if (value := getattr(step, name))}
    return hashed | {"id": step.id, "after": list(step.after)} if step.id else hashed


def plan_content(
    goal: str, steps: tuple[Step, ...], notes: str = "", path: PathPlan | None = None
) -> dict[str, JsonValue]:
    """All of a plan that can run, and the words about it: what its hash covers."""
    nodes: JsonValue = list(path.nodes) if path else None
    return {"goal": goal, "notes": notes, "steps": [_hashed(step) for step in steps], "nodes": nodes}


@dataclass(frozen=True)
class Plan:
    """One version of the plan. `version` is that of the event that made it, `number` counts 1, 2, 3 for people.

    An execution plan's versions share their `task`. `preapproved` are steps that a person allowed with any values.
    """

    version: int
    number: int
    kind: PlanKind
    goal: str
    steps: tuple[Step, ...]
    notes: str
    by: str
    status: PlanStatus = "pending_approval"
    path: PathPlan | None = None
    task: str = ""
    approved_by_setting: bool = False
    preapproved: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()  # of an execution plan: how its draft was held against the tools there are

    @property
    def text(self) -> str:
        return plan_text(self.goal, self.steps, self.notes)

    @property
    def hash(self) -> str:
        """What an approval of this version is bound to: all of it that can run, never a text made from it."""
        return canonical_hash(plan_content(self.goal, self.steps, self.notes, self.path))


@dataclass(frozen=True)
class Code:
    """One version of the program; `repairs` counts how often its checks sent it back since a person last spoke."""

    version: int
    number: int
    plan_version: int
    code: str
    explanation: str
    by: str
    status: CodeStatus = "checking"
    checks: tuple[Check, ...] = ()
    tests: str = ""
    repairs: int = 0

    @property
    def hash(self) -> str:
        return canonical_hash(self.code)


@dataclass(frozen=True)
class Question:
    action_id: str
    about: QuestionKind
    text: str
    options: tuple[Option, ...] = ()
    form: dict[str, JsonValue] | None = None
    asked_version: int = 0  # version of the event that asked; 0 where a question is the state's own

    def key_of(self, text: str) -> str | None:
        """The key of the option with this label; None for an answer in other words."""
        return next((option.key for option in self.options if option.label == text), None)


@dataclass(frozen=True)
class Said:
    """A question that was asked, and what the person answered."""

    question: str
    answer: str


@dataclass(frozen=True)
class Poll:
    """How a step that polls stands, by its last recorded look. `every`: seconds between two looks.

    `began`: the version of the event by which it began. `next_look`: when the next look was due then. `value` and
    `error` are what was seen last, and `changes` counts the values that were recorded.
    """

    every: int
    began: int
    next_look: datetime
    looks: int = 0
    changes: int = 0
    value: JsonValue = None
    error: str = ""


@dataclass(frozen=True)
class Action:
    spec: ActionSpec
    status: ActionStatus = "planned"
    result: JsonValue = None
    error: str = ""
    end_reason: EndReason | None = None
    artefact: Artefact | None = None
    seconds: float = 0.0
    tokens: int = 0  # of the model calls made for it
    attempt: int = 1
    cause: OutcomeCause | None = None  # why it was ended from outside, if it was
    storing: bool = False  # `result` is the beginning of its result, and the whole of it is being stored
    until: datetime | None = None  # what a step waits for that is waiting; one that polls gives up then
    poll: Poll | None = None
    began: int = 0  # the version of the work that has it in hand
    left: bool = False  # in doubt, and the person left it at that: nobody asks again
    confirmed: bool | None = None  # by its pack: the result shows the change that was wanted; None: no telling
    violation: str = ""  # which rules of its pack the call broke
    handed_over: bool = False  # the call gave the request to a person
    allowed: bool = False  # by a person, in an event that only the gateway may append, for exactly these arguments
    given: bool = False  # it was skipped, and `result` is what a person gave in its place

    @property
    def hash(self) -> str:
        """What an approval of this action is bound to: the tool, its exact arguments, and what it does to the world."""
        spec = self.spec
        return canonical_hash({"tool": spec.tool, "arguments": spec.arguments, "effect": spec.effect})

    @property
    def quiet(self) -> bool:
        """No event of its own begins it: the event that makes the executor due does."""
        return self.spec.quiet and self.spec.effect == "read" and self.spec.approval_reason is None

    @property
    def shown_status(self) -> ActionStatus:
        """What clients are told: to them a read that is running was started like any other."""
        return "started" if self.status == "running" else self.status

    @property
    def explanation(self) -> str:
        """Why it came to nothing, in words; "" where nothing is known or to be said."""
        cut_off = self.status == "failed" and "stopped" in (self.cause, self.end_reason)
        if self.error or cut_off:
            return self.error or wording.CUT_OFF
        return wording.NOT_BEGUN[self.end_reason] if self.end_reason else ""

    @property
    def under_way(self) -> bool:
        """It has no outcome yet, or not the whole of it: nothing else of its turn begins."""
        return self.status in UNDER_WAY or self.storing

    @property
    def out_of_budget(self) -> bool:
        """It failed for want of budget alone: once that is raised it is run again."""
        return self.status == "failed" and self.cause == "budget"

    @property
    def settled(self) -> bool:
        """The steps that refer to it have its output: it finished, or a person gave the output."""
        return self.status == "finished" or self.given

    @property
    def left_out(self) -> bool:
        """A person skipped it, and not what came before it."""
        return self.status == "skipped" and self.end_reason is None and self.spec.decision != "skip"

    @property
    def dead(self) -> bool:
        """It will not be known to have ended well: what depends on it is not run."""
        if self.out_of_budget:
            return False
        if self.status == "uncertain":
            return self.left
        return self.status in DONE - {"finished"} and self.spec.decision != "skip"


@dataclass(frozen=True)
class Verdict:
    status: Status
    next_action: NextAction
    reasoning: str
    execution_analysis: str = ""
    memory_analysis: str = ""
    rule: str = ""
    sub_goals: tuple[SubGoalVerdict, ...] = ()


@dataclass(frozen=True)
class TurnRules:
    """How the turns of a workflow are carried out.

    one_by_one: only one action runs, and only the next one is asked about.
    answers_are_input: what a person answers to an action's question is its input; else it is its result.
    reruns_cut_off: on retry, an action that a stop cut off runs again.
    changeable: what has not begun can be replaced by other actions.
    keeps_results: later requests know what the actions returned.
    by_step: the actions are the steps of an execution plan. Where one comes to nothing, no other begins.
    """

    one_by_one: bool = False
    answers_are_input: bool = False
    reruns_cut_off: bool = False
    changeable: bool = False
    keeps_results: bool = False
    by_step: bool = False


PLAIN = TurnRules()


@dataclass(frozen=True)
class Turn:
    """`made` counts all of its actions, also those that were replaced.

    `workflow` names the one that the turn belongs to; `rules` are that workflow's. `chosen` is the action that a person
    let come next: no condition leads away from it. `taken_over`: a person requested these actions.
    """

    number: int
    sub_goal: str
    actions: tuple[Action, ...]
    by: str
    verdict: Verdict | None = None
    selected_tool: str = ""
    required_skills: tuple[str, ...] = ()
    reasoning: str = ""
    final: bool = False
    path: PathPlan | None = None
    workflow: str = ""
    rules: TurnRules = PLAIN
    made: int = 0
    chosen: str = ""
    taken_over: bool = False

    @property
    def waiting(self) -> tuple[Action, ...]:
        """The steps that wait for a time or a condition."""
        return tuple(action for action in self.actions if action.status == "waiting")


@dataclass(frozen=True)
class Round:
    """An earlier request of the session and what became of it: the bounded summary that prompts read."""

    request: str
    outcome: str


@dataclass(frozen=True)
class Failure:
    stage: str
    reason: str
    retryable: bool
    raw: str = ""
