"""The parts of a session: plan, code, turn, question. All are frozen; derived facts are properties."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from parley.events.hashing import canonical_hash
from parley.events.values import (
    ActionSpec,
    Artefact,
    Check,
    EndReason,
    NextAction,
    OutcomeCause,
    PathPlan,
    PlanKind,
    Status,
    Step,
    SubGoalVerdict,
)
from shared.domain.kernel import wording
from shared.domain.plan.text import plan_text

PlanStatus = Literal[
    "draft", "pending_approval", "approved", "executing", "completed", "failed", "cancelled", "rejected"
]
CodeStatus = Literal["checking", "review", "approved", "rejected", "superseded"]
ActionStatus = Literal[
    "planned", "approved", "denied", "running", "started", "asked", "waiting", "finished", "failed", "skipped",
    "uncertain",
]  # fmt: skip

UNDER_WAY_STATUSES: frozenset[ActionStatus] = frozenset(
    {"running", "started"}
)  # a quiet read is "running", any other action "started"
DONE_STATUSES: frozenset[ActionStatus] = frozenset({"denied", "finished", "failed", "skipped"})


def _hashed_fields(step: Step) -> dict[str, JsonValue]:
    hashed: dict[str, JsonValue] = {name: getattr(step, name) for name in ("text", "tool", "arguments", "effect")}
    hashed |= {name: value for name in ("waits_for", "for_each", "fingerprint") if (value := getattr(step, name))}
    return hashed | {"id": step.id, "after": list(step.after)} if step.id else hashed


def plan_content(
    goal: str, steps: tuple[Step, ...], notes: str = "", path: PathPlan | None = None
) -> dict[str, JsonValue]:
    """What the plan's hash covers: everything that can run, and the text about it."""
    nodes: JsonValue = list(path.nodes) if path else None
    return {"goal": goal, "notes": notes, "steps": [_hashed_fields(step) for step in steps], "nodes": nodes}


@dataclass(frozen=True)
class Plan:
    """One version of the plan. `version` is that of the event that made it; `number` counts 1, 2, 3 for people.

    An execution plan's versions share their `task`, and its `checks` compare the draft with the tools. `preapproved`
    names the steps that the user approved with any values, `own_steps` those that a user wrote or changed. `wishes` are
    what else the user wants of its program.
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
    own_steps: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def text(self) -> str:
        return plan_text(self.goal, self.steps, self.notes)

    @property
    def hash(self) -> str:
        """What an approval of this version is bound to: everything that can run, not a text made from it."""
        return canonical_hash(plan_content(self.goal, self.steps, self.notes, self.path))


@dataclass(frozen=True)
class Code:
    """One version of the program; `repairs` counts automatic repairs since the user's last message.

    `earlier_tests` are the last ones that ran before it, `reruns_tests` if they run again: it repairs a draft that they
    ran for. `tested_steps` are the plan's steps that the last tests were written for, `unreachable` the ids of those
    that no test can reach. `disputes`: why a failed test is wrong.
    """

    version: int
    number: int
    plan_version: int
    code: str
    explanation: str
    by: str
    status: CodeStatus = "checking"
    checks: tuple[Check, ...] = ()
    tests: str = ""
    earlier_tests: str = ""
    reruns_tests: bool = False
    tested_steps: tuple[Step, ...] = ()
    unreachable: tuple[str, ...] = ()
    disputes: str = ""
    repairs: int = 0

    @property
    def hash(self) -> str:
        return canonical_hash(self.code)


@dataclass(frozen=True)
class Poll:
    """The state of a polling step at its last recorded poll. `every`: seconds between two polls.

    `began`: version of the event that started it. `next_poll`: when the next poll was due then. `polls` counts the
    polls, `changes` the recorded values; `value` and `error` are what the last one saw.
    """

    every: int
    began: int
    next_poll: datetime
    polls: int = 0
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
    tokens: int = 0  # of the model calls for it
    attempt: int = 1
    cause: OutcomeCause | None = None  # why it was ended from outside
    storing: bool = False  # `result` is only the beginning; the full result is being stored
    until: datetime | None = None  # of a waiting step: when it wakes, or gives up polling
    poll: Poll | None = None
    began: int = 0  # version of the work that runs it
    left: bool = False  # uncertain, and the user chose to leave it so
    confirmed: bool | None = None  # its pack found the intended change in the result; None: not checked
    violation: str = ""  # the rules of its pack that the call broke
    handed_over: bool = False  # the call handed the request over to a person
    allowed: bool = False  # the user approved exactly these arguments
    given: bool = False  # it was skipped, and the user gave `result` instead

    @property
    def hash(self) -> str:
        """What an approval of this action is bound to: the tool, its exact arguments and its effect."""
        spec = self.spec
        return canonical_hash({"tool": spec.tool, "arguments": spec.arguments, "effect": spec.effect})

    @property
    def is_quiet(self) -> bool:
        """It starts without an event of its own, with the event that makes the executor due."""
        return self.spec.quiet and self.spec.effect == "read" and self.spec.approval_reason is None

    @property
    def shown_status(self) -> ActionStatus:
        """The status that clients see: "started" also for a running quiet read."""
        return "started" if self.status == "running" else self.status

    @property
    def explanation(self) -> str:
        """Why it did not succeed, in words; "" if there is nothing to say."""
        cut_off = self.status == "failed" and "stopped" in (self.cause, self.end_reason)
        if self.error or cut_off:
            return self.error or wording.CUT_OFF
        return wording.NOT_BEGUN[self.end_reason] if self.end_reason else ""

    @property
    def is_under_way(self) -> bool:
        """It has started and has no complete outcome yet."""
        return self.status in UNDER_WAY_STATUSES or self.storing

    @property
    def is_out_of_budget(self) -> bool:
        """It failed only because the budget was spent: it runs again once the budget is raised."""
        return self.status == "failed" and self.cause == "budget"

    @property
    def has_output(self) -> bool:
        """Its output is available to other steps: it finished, or the user gave the output."""
        return self.status == "finished" or self.given

    @property
    def is_left_out(self) -> bool:
        """The user skipped it. False for actions that the domain skipped."""
        return self.status == "skipped" and self.end_reason is None and self.spec.decision != "skip"

    @property
    def is_dead(self) -> bool:
        """It will not finish successfully, so actions that depend on it do not run."""
        if self.is_out_of_budget:
            return False
        if self.status == "uncertain":
            return self.left
        return self.status in DONE_STATUSES - {"finished"} and self.spec.decision != "skip"


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

    one_by_one: one action runs at a time, and only the next one is put up for approval.
    answers_are_input: the user's answer to an action's question is its input; otherwise it is its result.
    reruns_cut_off: on retry, an action that a stop interrupted runs again.
    changeable: open actions can be replaced by others.
    keeps_results: later requests know the results of the actions.
    reads_messages: the next turn takes in the messages that came meanwhile.
    by_step: the actions are the steps of an execution plan. Once one fails, no other starts.
    fills_calls: a call may refer to the results of calls of its turn that it depends on.
    """

    one_by_one: bool = False
    answers_are_input: bool = False
    reruns_cut_off: bool = False
    changeable: bool = False
    keeps_results: bool = False
    by_step: bool = False
    reads_messages: bool = False
    fills_calls: bool = False


DEFAULT_RULES = TurnRules()


@dataclass(frozen=True)
class Turn:
    """A group of actions with one verdict. `made` counts all its actions, including replaced ones.

    `workflow` names the workflow that the turn belongs to; `rules` are that workflow's. `chosen` is the id of the next
    action if the user chose it: no condition leads elsewhere then. `taken_over`: the user requested these actions.
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
    rules: TurnRules = DEFAULT_RULES
    made: int = 0
    chosen: str = ""
    taken_over: bool = False


@dataclass(frozen=True)
class Failure:
    stage: str
    reason: str
    retryable: bool
    raw: str = ""
