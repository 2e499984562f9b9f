"""The law of plans that act, over random schedules of edits, approvals, refusals, crashes, redeliveries and stops:

no call runs but one that the version a person approved shows with these very arguments, or a change of a step that they
preapproved with it, or a read of the version at hand, or one that a person approved by its hash. No step is done twice
unless a person said so, none by a tool that has changed since, and nothing runs of a plan that was approved to be
started later, before it is started. A step that polls is no call, and only the keeper says what it saw.

People also steer a plan that runs. What they say is answered, or taken into another version, before a step begins.
After an edit or a draft nothing begins before that version is approved, and after a cancel nothing at all. What has
begun has its outcome recorded, whatever they do.
"""

from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from parley.events import SessionEvent, dump_event, facts, parse_event
from parley.events.hashing import canonical_hash
from parley.events.values import Effect, SessionSettings, ToolPolicy, ToolRule
from shared.domain import commands as c
from shared.domain.admissible import admit
from shared.domain.admissible_reports import KEEPER
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, decided
from shared.domain.errors import Refused
from shared.domain.plan_approval import begins_by_setting, preapprovable
from shared.domain.plan_steps import GATHER, step_of, unfinished
from shared.domain.references import references
from shared.domain.said import takes_back_remark
from shared.domain.session import SERVICE_OF, Session, undecided
from shared.domain.skipping import users_of
from shared.domain.waves import HOLDS_FOR_WORDS, dead, find, running
from shared.story import finish
from tests.unit.domain.drawn_plans import begins_plan, plan, registry
from tests.unit.domain.outputs import LATER, with_outputs
from tests.unit.domain.spec import ANN, NOON, answer, verdict
from tests.unit.domain.test_machine import PROFILE, PROFILES
from tests.unit.domain.ways_on import good, ways_on

REACHED: set[str] = set()  # what has happened in any schedule
pick = st.integers(0, 10_000)


class Plans(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.session = Session("s1")
        self.log: list[SessionEvent] = []
        self.count = 0
        self.done: set[str] = set()  # steps that took effect
        self.effects: set[tuple[str, int]] = set()  # the keys that took effect
        self.doubtful: set[str] = set()  # steps of which nobody knew
        self.again: set[str] = set()  # a person said: run it again, or approved it while in doubt
        self.stale: list[tuple[AnyCommand, CommandMeta]] = []
        self.tools: dict[str, ToolRule] = {}  # as the executor that starts a wave knows them
        self.unanswered: list[str] = []  # what was said of the plan that runs
        self.approved = False  # the newest version, and it was not given up since
        self.under_way: set[str] = set()  # begun, and without an outcome

    def drawn(self, number: int) -> int:
        """Another number for each place of the schedule: small ones come more often than others, and say too little."""
        return Random(f"{number} {len(self.log)} {len(self.stale)}").randrange(10_000)

    # --- telling

    def tell(self, command: AnyCommand, meta: CommandMeta) -> SessionEvent | None:
        before = self.session
        self.tools = dict(command.tools) if isinstance(command, c.Start) else self.tools
        try:
            event, after = decided(before, command, meta)
        except Refused:
            return None
        stored = parse_event(dump_event(event))
        read, wrong = admit(before, stored)
        assert wrong == ""
        assert read == after
        self.session = after
        self.log.append(event)
        self.watch(before, event)
        ways_on(after)
        return event

    def person(self, command: AnyCommand) -> SessionEvent | None:
        self.count += 1
        by = CommandMeta(ANN, NOON, id=f"c{self.count}")
        self.stale.append((command, by))
        return self.tell(command, by)

    def service(self, command: AnyCommand) -> SessionEvent | None:
        work = self.session.work
        by = CommandMeta(work.service if work else "executor", NOON, work=work)
        self.stale.append((command, by))
        return self.tell(command, by)

    # --- the law

    def watch(self, before: Session, event: SessionEvent) -> None:
        self.steered(before, event)
        match event:
            case facts.QuestionAnswered(key="again" | "no"):
                self.again.add(event.question_id)
            case facts.ApprovalGiven():
                self.again.add(event.action_id)
            case facts.SessionRetried() if unfinished(before):
                REACHED.add("tried again")
            case facts.ActionSkipped() if unfinished(before) and self.session.phase != "resting":
                REACHED.add("went on without a step")
            case facts.ActionsFinished():
                keys = {(one.action_id, one.attempt) for one in event.outcomes if one.ok}
                assert not keys & self.effects, "a key took effect twice"
                self.effects |= keys
                self.done |= {one.action_id for one in event.outcomes if one.ok}
                self.doubtful -= {one.action_id for one in event.outcomes}
            case facts.QuestionAsked(kind="action"):
                REACHED.add("asked as a step")
            case facts.ActionUncertain() if event.effect != "read":  # a read has simply failed
                self.doubtful.add(event.action_id)
            case facts.ActionsStarted():
                for one in event.actions:
                    self.started(before, one.action_id)
        self.watch_waits(before, event)
        seen(event)

    def watch_waits(self, before: Session, event: SessionEvent) -> None:
        """What steps wait for, and what holds all of them: answers, looks, budgets."""
        match event:
            case facts.QuestionAsked(kind="budget"):
                assert not running(before), "a budget cuts no step off"
            case facts.BudgetRaised():
                REACHED.add("raised the budget")
            case facts.ApprovalExpired() if event.unanswered:
                self.unanswered_step(before, event.unanswered)
            case facts.ActionPolled():
                self.polled(before, event)

    def steered(self, before: Session, event: SessionEvent) -> None:  # noqa: C901  one case a fact
        """What a person says or does while the plan runs has its effect before anything else begins."""
        runs = before.turn is not None and before.turn.rules.by_step and before.phase in HOLDS_FOR_WORDS
        match event:
            case facts.MessageReceived(intent="guidance" | "remark") if runs or self.unanswered:
                self.unanswered.append(event.text)
            case facts.RemarkAnswered() | facts.PlanDrafted() | facts.PlanRejected() | facts.MessageReceived():
                if self.unanswered and isinstance(event, facts.RemarkAnswered) and self.session.work:
                    REACHED.add("went on after an answer")
                self.unanswered = []
        taken_back = isinstance(event, facts.SessionStopped) and takes_back_remark(before)
        own_version = (
            isinstance(event, facts.PlanEdited) and before.words.feedback
        )  # it stands for what a draft was to be
        if taken_back or own_version:
            self.unanswered = []
        match event:
            case facts.PlanApproved():
                self.approved = True
            case facts.TurnPlanned():
                self.approved = event.plan_version is not None
            case facts.PlanDrafted() | facts.PlanEdited() | facts.PlanCancelled():
                if runs and running(before):
                    REACHED.add(f"{event.type} while a step ran")
                self.approved = False
            case facts.ActionSkipped():
                REACHED.update(["output given"] if event.output is not None else [])
                REACHED.update(["dependents skipped"] if event.dependents else [])
            case facts.ActionsStarted():
                assert not self.unanswered, "steered in silence, or not heard"
                assert not before.words.unread
                assert self.approved, "begun by no approved version"
                self.under_way |= {one.action_id for one in event.actions}
            case facts.ActionsFinished():
                self.under_way -= {one.action_id for one in event.outcomes}
            case facts.ActionUncertain():
                self.under_way.discard(event.action_id)
        for action_id in self.under_way:
            action = find(self.session, action_id)
            assert action is not None, "an outcome would be lost"
            assert action.under_way, "an outcome would be lost"

    def started(self, before: Session, action_id: str) -> None:
        action, step = find(before, action_id), step_of(before, action_id)
        assert action is not None
        assert not action.given
        spec = action.spec
        assert not spec.waits_for, "what waits is no call"
        if spec.tool == GATHER:
            assert (spec.arguments, spec.effect, step and bool(step.for_each)) == ({}, "read", True)
            REACHED.add("gathered")
            return
        assert self.shown(spec.id, spec.tool, dict(spec.arguments), spec.effect)
        assert not references(spec.arguments)
        known = self.tools[spec.tool].fingerprint if spec.tool in self.tools else ""
        assert step is not None
        assert not known or step.fingerprint in (None, known), "the tool has changed since"
        assert action_id not in self.done or action_id in self.again, "done twice"
        doubtful = action_id in self.doubtful and spec.effect != "read"
        assert not doubtful or action_id in self.again, "perhaps done twice"
        self.again.discard(action_id)
        if spec.effect != "read":
            refers = step is not None and bool(references(step.arguments))
            each = step is not None and step.for_each is not None
            REACHED.add("ran for an item" if each else "ran by reference" if refers else "ran as shown")

    def polled(self, before: Session, event: facts.ActionPolled) -> None:
        """What polls is in the approved version, and began to wait by an event of its own. Its end is its outcome."""
        action, after = find(before, event.action_id), find(self.session, event.action_id)
        assert event.actor == KEEPER
        assert action is not None
        assert after is not None
        assert (action.status, action.spec.waits_for) == ("waiting", "condition")
        begun = [waiting for told in self.log if isinstance(told, facts.ActionsWaiting) for waiting in told.actions]
        assert any(waiting.action_id == event.action_id and waiting.every for waiting in begun)
        outcome = {None: "waiting", "met": "finished", "given_up": "failed"}[event.end]
        assert (after.status, after.result) == (outcome, event.value if event.end == "met" else None)
        assert self.session.spent.tool_calls > before.spent.tool_calls, "a look is a call"
        REACHED.add({None: "saw something", "met": "met", "given_up": "gave up"}[event.end])

    def unanswered_step(self, before: Session, action_id: str) -> None:
        action, after = find(before, action_id), find(self.session, action_id)
        assert action is not None
        assert after is not None
        assert (action.status, after.status, self.session.question) == ("asked", "failed", None)
        REACHED.add("nobody answered")

    def never_asks(self, action_id: str) -> bool:
        """By its registry, of which the executor told when it ruled the step again, or as it starts it."""
        action = find(self.session, action_id)
        assert action is not None
        tool = self.tools.get(action.spec.tool)
        return "never" in (action.spec.policy, tool.policy if tool else None)

    def shown(self, action: str, tool: str, arguments: dict[str, Any], effect: Effect) -> bool:
        """Said by the log alone: the version that was approved last shows this call, or a person approved it."""
        approved = next(event for event in reversed(self.log) if begins_plan(event))
        assert isinstance(approved, facts.PlanApproved | facts.TurnPlanned)
        made = self.log[(approved.plan_version or 0) - 1]
        assert isinstance(made, facts.PlanDrafted | facts.PlanEdited)
        step = next(step for step in made.steps if action.partition("[")[0].endswith(f".{step.id}"))
        assert step.tool == tool
        given = [event.hash for event in self.log[approved.version :] if isinstance(event, facts.ApprovalGiven)]
        called = canonical_hash({"tool": tool, "arguments": arguments, "effect": effect})
        known = self.tools.get(tool)
        does = known.effect if known else effect  # an executor may know better by now than when it ruled the step
        if called in given or "read" in (effect, does):
            return True
        own = "never" in (step.policy, self.session.settings.approval) or self.never_asks(action)
        if isinstance(approved, facts.TurnPlanned):
            return own
        if approved.deferred:
            assert any(isinstance(event, facts.SessionRetried) for event in self.log[approved.version :])
            REACHED.add("ran when started")
        literal = (step.arguments or {}) == arguments and (step.effect or "read") == does and not step.for_each
        ticked = step.id in approved.preapproved and step.effect == does == "write"
        if ticked and not literal:
            REACHED.add("ran for an item, preapproved" if step.for_each else "ran preapproved")
        return literal or own or ticked

    # --- what people and services do

    @initialize(asks=st.sampled_from((True, True, True, False)))
    def begin(self, asks: bool) -> None:
        settings = SessionSettings(require_plan_approval=asks, call_budget=4)
        self.person(c.Say(text="begin", workflow="execution_plan", settings=settings))

    @rule(number=pick)
    def happens(self, number: int) -> None:
        """One rule for all: hypothesis leaves some rules out of a schedule, and none of these may be missing."""
        number = self.drawn(number)
        (act,) = Random(number).choices(
            (
                self.service_works,
                self.person_acts,
                self.a_time_comes,
                self.the_keeper_looks,
                self.nobody_answers,
                self.something_comes_again,
                self.a_wave_is_started_without_its_guide,
            ),
            (50, 20, 8, 14, 5, 8, 3),
        )
        act(self.drawn(number))

    def person_acts(self, number: int) -> None:
        on = self.goes_on(number)
        acts = on if on and number % 5 < 3 else [*on * 4, *self.steers(number)]
        for act in Random(number).sample(acts, min(4, len(acts))):  # most are refused in most places
            if self.person(act):
                return

    def goes_on(self, number: int) -> list[AnyCommand]:
        """What lets the plan go on: approvals, answers, and the way out of a halt."""
        session, shown = self.session, self.session.plan
        acts: list[AnyCommand] = [c.Resume()] if session.paused else []
        if session.phase in ("resting", "failed"):
            acts += [c.Retry()] * (number % 3)
        if shown and session.phase == "awaiting_approval" and not undecided(session.turn):
            ticks = tuple(step.id or "" for step in shown.steps if preapprovable(step)) if number % 5 else ()
            start = number % 7 > 1
            acts.append(c.Approve(version=shown.version, hash=shown.hash, preapprove=ticks, start=start))
        for action in undecided(session.turn):
            acts.append(c.Approve(version=session.version, action_id=action.spec.id, hash=action.hash))
        acts += [c.Answer(text=option.label) for option in (session.question.options if session.question else ())]
        return acts

    def steers(self, number: int) -> list[AnyCommand]:
        """What changes the plan's course, or halts it."""
        session, shown = self.session, self.session.plan
        acts: list[AnyCommand] = [c.Reject(replan=bool(number % 2)), c.Retry()]
        policy: ToolPolicy = ("always", "deny", "writes")[number % 3]
        word = c.Say(text=f"word {number}")
        rare = (word, word, c.Stop(), c.Stop(), c.CancelPlan(), c.Pause(), c.Remember(tool="pay", policy=policy))
        acts += rare[number % 20 : number % 20 + 1]
        if shown:
            fresh = plan(number)[0].model_copy(update={"id": f"n{number}"})
            steps = list(shown.steps)
            steps[number % len(steps)] = fresh
            edits = (tuple(steps), plan(number), (*shown.steps, fresh)[-8:])
            if session.phase not in SERVICE_OF or number % 9 == 0:  # else few plans would come to their end
                acts += [c.EditPlan(base=shown.version, steps=one) for one in edits]
            acts.append(c.Approve(version=shown.version, hash=shown.hash))  # also where it is approved already
        for action in undecided(session.turn):
            acts += [c.Reject(action_id=action.spec.id), c.Skip(action_id=action.spec.id)]
        if running(session):
            halts: list[AnyCommand] = [word, word, c.CancelPlan()]
            acts += halts[number % 12 : number % 12 + 1] * 6
        output = {"made": number, "list": [number]} if number % 2 else [number % 3]
        for action in dead(session.turn) if session.turn else ():
            name = action.spec.id
            acts += [c.Skip(action_id=name), c.Skip(action_id=name, output=output)]
            acts += [c.Skip(action_id=name, with_dependents=True)] * 12
        if session.turn and number % 7 == 0:
            planned = [action.spec.id for action in session.turn.actions if action.status == "planned"]
            acts += [c.Skip(action_id=name, output=output) for name in planned[:1]] * 3
        if session.turn and number % 7 == 1:
            used = [
                a.spec.id for a in session.turn.actions if (s := step_of(session, a.spec.id)) and users_of(session, s)
            ]
            acts += [c.Skip(action_id=name, with_dependents=True) for name in used] * 3
        return acts

    def service_works(self, number: int) -> None:
        session = self.session
        under_way = (*running(session), *session.left_running)
        if under_way and number % 3:
            action = under_way[number % len(under_way)]
            if number % 6 == 1:
                self.service(c.Uncertain(action_id=action.spec.id, attempt=action.attempt, reason="crashed"))
            else:
                ok = number % 9 != 0
                result = {"made": number, "list": list(range(number % 4))} if ok else None
                self.service(finish(action_id=action.spec.id, attempt=action.attempt, ok=ok, result=result))
            return
        match session.phase:
            case "planning" if begins_by_setting(session) and number % 5:
                self.service(c.BeginPlan())
            case "planning" if session.words.remark and number % 3:
                self.service(c.AnswerRemark(text="because"))
            case "planning":
                self.service(c.DraftPlan(goal="g", steps=plan(number), kind="execution"))
            case "executing" if session.over_budget and not running(session):
                self.service(c.Ask(text="spent", about="budget"))
            case "executing":
                self.service(with_outputs(session) or c.Start(tools=registry(number)))
            case "verifying":
                self.service(verdict("complete", ("success", "failure")[number % 2]))
            case "answering":
                self.service(answer())

    def a_time_comes(self, _: int) -> None:
        if self.tell(c.Wake(), CommandMeta(KEEPER, NOON)):
            REACHED.add("woken")

    def the_keeper_looks(self, number: int) -> None:
        """Also too early, too late, and at what does not poll."""
        actions = self.session.turn.actions if self.session.turn else ()
        polls = [action for action in actions if action.poll] or actions
        for action in polls[number % len(polls) : number % len(polls) + 1] if polls else ():
            looks = (action.poll.looks if action.poll else 0) + number % 4
            error = "away" if number % 5 == 0 else ""
            value = None if error else {"made": number % 3}
            look = c.RecordLook(
                action_id=action.spec.id, looks=looks + 1, value=value, error=error, met=number % 3 == 1
            )
            at = LATER if number % 2 == 0 else NOON
            self.stale.append((look, CommandMeta(KEEPER, at)))
            self.tell(look.model_copy(update={"attempt": action.attempt - number % 13 // 12}), CommandMeta(KEEPER, at))

    def nobody_answers(self, _: int) -> None:
        if self.session.question:
            self.tell(c.Expire(requested_version=self.session.since_version), CommandMeta(KEEPER, NOON))

    def something_comes_again(self, number: int) -> None:
        """A redelivery, a second tab, a late worker: what was said before, once more."""
        if self.stale:
            self.tell(*self.stale[number % len(self.stale)])

    def a_wave_is_started_without_its_guide(self, number: int) -> None:
        """An executor that forgets to resolve a reference may not start its step."""
        if self.session.phase == "executing":
            self.service(c.Start(tools=registry(number)))

    def teardown(self) -> None:
        """In the end undisturbed workers bring the session to a person or to rest."""
        if self.session.paused:
            self.person(c.Resume())
        for _ in range(80):
            if self.session.work is None:
                break
            self.service(good(self.session))
        assert self.session.phase not in SERVICE_OF


def seen(event: SessionEvent) -> None:
    """What the law is about, where it happens."""
    if isinstance(event, facts.TurnPlanned):
        REACHED.add("began by the settings")
        if any(spec.approval_reason for spec in event.actions):
            REACHED.add("asked after the settings' approval")
    if isinstance(event, facts.PlanApproved) and event.already_done:
        REACHED.add("carried over")
    for spec in event.actions if isinstance(event, facts.TurnChanged | facts.PlanApproved) else ():
        if "has changed since" in spec.decision_reason:
            REACHED.add("its tool has changed")
        if "done already" in (spec.approval_reason or ""):
            REACHED.add("asked in doubt")
        elif spec.approval_reason and isinstance(event, facts.TurnChanged):
            REACHED.add("asked by reference")


class TestPlans(Plans.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(PROFILES[PROFILE], max_examples=4 * PROFILES[PROFILE].max_examples)

    def runTest(self) -> None:  # noqa: N802  unittest's name
        """Schedules that reach nothing prove nothing: what the law is about has happened in them."""
        REACHED.clear()
        super().runTest()
        assert {"asked by reference", "ran by reference", "ran as shown", "carried over", "asked in doubt"} <= REACHED
        assert {"tried again", "went on without a step"} <= REACHED
        assert {"woken", "asked as a step", "ran for an item", "gathered"} <= REACHED
        assert {"ran preapproved", "ran for an item, preapproved", "ran when started"} <= REACHED
        assert {"began by the settings", "asked after the settings' approval"} <= REACHED
        assert "its tool has changed" in REACHED
        assert {"saw something", "met", "gave up", "nobody answered", "raised the budget"} <= REACHED
        assert {"output given", "dependents skipped", "went on after an answer"} <= REACHED
        assert {"plan.edited while a step ran", "plan.cancelled while a step ran"} <= REACHED

    pytestmark = pytest.mark.timeout(120 if PROFILE == "ci" else 0)
