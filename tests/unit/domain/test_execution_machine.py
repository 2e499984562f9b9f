"""Invariants of execution plans, over random schedules of edits, approvals, refusals, crashes, redeliveries and stops.

A call runs only if it is one of these: a call that the approved version shows with the same arguments, a write of a
preapproved step, a read of the current version, or a call that the user approved by its hash. No step runs twice
unless the user allowed it. No step runs with a changed tool. A deferred plan does not run before the user starts it.
Polling is not a call, and only the keeper records polls.

Users also steer a running plan. A service answers each message, or drafts another version, before another step starts.
After an edit or a draft no step starts until the user approves that version; after a cancel no step starts at all.
The log records the outcome of each started step.
"""

from random import Random
from typing import Any

import pytest
from hypothesis import seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from parley.events import SessionEvent, dump_event, facts, parse_event
from parley.events.hashing import canonical_hash
from parley.events.values import Effect, SessionSettings, ToolPolicy, ToolRule
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import KEEPER
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.session import SERVICE_OF, Session, undecided_actions
from shared.domain.plan.approval import is_preapprovable, starts_by_setting
from shared.domain.rules.admissible import admit
from shared.domain.rules.decide import AnyCommand, decide_and_evolve
from shared.domain.steps.plan_steps import GATHER, is_unfinished, step_of
from shared.domain.steps.references import references
from shared.domain.steps.skipping import dependents_of
from shared.domain.turn.batches import dead_actions, find_action, running_actions
from shared.story import finish_action
from tests.unit.domain.drawn_plans import REACHED, draw_plan, draw_registry, record_reached, starts_plan
from tests.unit.domain.outputs import LATER, executor_command
from tests.unit.domain.spec import ANN, NOON, answer, verdict
from tests.unit.domain.test_machine import PROFILE, PROFILES
from tests.unit.domain.unanswered import Unanswered
from tests.unit.domain.ways_on import check_not_stuck, next_step

pick = st.integers(0, 10_000)
RUNNING = ("executing", "verifying", "waiting")


class PlanSchedules(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.session = Session("s1")
        self.log: list[SessionEvent] = []
        self.count = 0
        self.done: set[str] = set()  # ids of steps that took effect
        self.effects: set[tuple[str, int]] = set()  # their idempotency keys: action and attempt
        self.doubtful: set[str] = set()  # steps with an unknown outcome
        self.again: set[str] = set()  # steps that the user allowed to run again
        self.stale: list[tuple[AnyCommand, CommandMeta]] = []
        self.tools: dict[str, ToolRule] = {}  # the executor's registry at the last start
        self.unanswered = Unanswered()
        self.approved = False  # whether the newest version is approved and not cancelled
        self.under_way: set[str] = set()  # started actions without an outcome

    def draw(self, number: int) -> int:
        """A different number at each point of the schedule: hypothesis prefers small ones."""
        return Random(f"{number} {len(self.log)} {len(self.stale)}").randrange(10_000)

    # --- executing commands

    def execute(self, command: AnyCommand, meta: CommandMeta) -> SessionEvent | None:
        before = self.session
        self.tools = dict(command.tools) if isinstance(command, c.Start) else self.tools
        try:
            event, after = decide_and_evolve(before, command, meta)
        except CommandRefused:
            return None
        stored = parse_event(dump_event(event))
        read, wrong = admit(before, stored)
        assert wrong == ""
        assert read == after
        self.session = after
        self.log.append(event)
        self.check_event(before, event)
        check_not_stuck(after)
        return event

    def execute_as_user(self, command: AnyCommand) -> SessionEvent | None:
        self.count += 1
        by = CommandMeta(ANN, NOON, id=f"c{self.count}")
        self.stale.append((command, by))
        return self.execute(command, by)

    def execute_as_service(self, command: AnyCommand) -> SessionEvent | None:
        work = self.session.work or self.session.reply
        by = CommandMeta(work.service if work else "executor", NOON, work=work)
        self.stale.append((command, by))
        return self.execute(command, by)

    # --- invariants

    def check_event(self, before: Session, event: SessionEvent) -> None:
        self.check_steering(before, event)
        match event:
            case facts.QuestionAnswered(key="again" | "no"):
                self.again.add(event.question_id)
            case facts.ApprovalGiven():
                self.again.add(event.action_id)
            case facts.SessionRetried() if is_unfinished(before):
                REACHED.add("tried again")
            case facts.ActionSkipped() if is_unfinished(before) and self.session.phase != "resting":
                REACHED.add("went on without a step")
            case facts.ActionsFinished():
                keys = {(outcome.action_id, outcome.attempt) for outcome in event.outcomes if outcome.ok}
                assert not keys & self.effects, "a key took effect twice"
                self.effects |= keys
                self.done |= {outcome.action_id for outcome in event.outcomes if outcome.ok}
                self.doubtful -= {outcome.action_id for outcome in event.outcomes}
            case facts.QuestionAsked(kind="action"):
                REACHED.add("asked as a step")
            case facts.ActionUncertain() if event.effect != "read":  # a read has simply failed
                self.doubtful.add(event.action_id)
            case facts.ActionsStarted():
                for action in event.actions:
                    self.check_start(before, action.action_id)
        self.check_waits(before, event)
        record_reached(event)

    def check_waits(self, before: Session, event: SessionEvent) -> None:
        """Checks the events that steps wait for (answers, polls), and the budget that stops all steps."""
        match event:
            case facts.QuestionAsked(kind="budget"):
                assert not running_actions(before), "a used-up budget interrupts no running step"
            case facts.BudgetRaised():
                REACHED.add("raised the budget")
            case facts.ApprovalExpired() if event.unanswered:
                self.check_unanswered_step(before, event.unanswered)
            case facts.ActionWaited() if event.polls:
                self.check_poll(before, event)

    def check_steering(self, before: Session, event: SessionEvent) -> None:  # noqa: C901  one case per event type
        """Checks that what the user does while the plan runs takes effect before another step changes anything."""
        runs = before.turn is not None and before.turn.rules.by_step and before.phase in RUNNING
        unanswered = bool(self.unanswered)
        self.unanswered.follow(before, event)
        match event:
            case facts.RemarkAnswered() | facts.OfferKept() if self.session.phase == "executing" and self.session.work:
                REACHED.add("went on after an answer" if before.reply else "went on with the plan that was kept")
            case facts.PlanDrafted(offer=int()):
                REACHED.add("took the offer")
        match event:
            case facts.PlanApproved():
                self.approved = True
            case facts.TurnPlanned():
                self.approved = event.plan_version is not None
            case facts.PlanDrafted() | facts.PlanEdited() | facts.PlanCancelled():
                if runs and running_actions(before):
                    REACHED.add(f"{event.type} while a step ran")
                self.approved = False
            case facts.ActionSkipped():
                REACHED.update(["output given"] if event.output is not None else [])
                REACHED.update(["dependents skipped"] if event.dependents else [])
            case facts.ActionsStarted():
                started = [find_action(before, action.action_id) for action in event.actions]
                changes = any(action and action.spec.effect != "read" for action in started)
                assert not (changes and unanswered), "the user's message had no effect"
                assert self.approved, "a step began without an approved version"
                self.under_way |= {action.action_id for action in event.actions}
            case facts.ActionsFinished():
                self.under_way -= {outcome.action_id for outcome in event.outcomes}
            case facts.ActionUncertain():
                self.under_way.discard(event.action_id)
        for action_id in self.under_way:
            action = find_action(self.session, action_id)
            assert action is not None, "an outcome would be lost"
            assert action.is_under_way, "an outcome would be lost"

    def check_start(self, before: Session, action_id: str) -> None:
        action, step = find_action(before, action_id), step_of(before, action_id)
        assert action is not None
        assert not action.given
        spec = action.spec
        assert not spec.waits_for, "a waiting step calls no tool"
        if spec.tool == GATHER:
            assert (spec.arguments, spec.effect, step and bool(step.for_each)) == ({}, "read", True)
            REACHED.add("gathered")
            return
        assert self.is_allowed_by_log(spec.id, spec.tool, dict(spec.arguments), spec.effect)
        assert not references(spec.arguments)
        known = self.tools[spec.tool].fingerprint if spec.tool in self.tools else ""
        assert step is not None
        assert not known or step.fingerprint in (None, known), "the step ran although its tool has changed"
        assert action_id not in self.done or action_id in self.again, "a step took effect twice"
        doubtful = action_id in self.doubtful and spec.effect != "read"
        assert not doubtful or action_id in self.again, "a step may have taken effect twice"
        self.again.discard(action_id)
        if spec.effect != "read":
            refers = step is not None and bool(references(step.arguments))
            each = step is not None and step.for_each is not None
            REACHED.add("ran for an item" if each else "ran by reference" if refers else "ran as shown")

    def check_poll(self, before: Session, event: facts.ActionWaited) -> None:
        """Checks that the step polls, started to wait by its own event, and ends with the outcome of its polls."""
        action, after = find_action(before, event.action_id), find_action(self.session, event.action_id)
        assert event.actor == KEEPER
        assert action is not None
        assert after is not None
        assert (action.status, action.spec.waits_for) == ("waiting", "condition")
        started = [waiting for fact in self.log if isinstance(fact, facts.ActionsWaiting) for waiting in fact.actions]
        assert any(waiting.action_id == event.action_id and waiting.every for waiting in started)
        outcome = {None: "waiting", "met": "finished", "given_up": "failed"}[event.end]
        assert (after.status, after.result) == (outcome, event.value if event.end == "met" else None)
        assert self.session.spent.tool_calls > before.spent.tool_calls, "a poll counts as a call"
        REACHED.add({None: "saw something", "met": "met", "given_up": "gave up"}[event.end])

    def check_unanswered_step(self, before: Session, action_id: str) -> None:
        action, after = find_action(before, action_id), find_action(self.session, action_id)
        assert action is not None
        assert after is not None
        assert (action.status, after.status, self.session.question) == ("asked", "failed", None)
        REACHED.add("nobody answered")

    def needs_no_approval(self, action_id: str) -> bool:
        """Whether the tool's policy is "never", in the ruled action or in the executor's registry."""
        action = find_action(self.session, action_id)
        assert action is not None
        tool = self.tools.get(action.spec.tool)
        return "never" in (action.spec.policy, tool.policy if tool else None)

    def is_allowed_by_log(self, action: str, tool: str, arguments: dict[str, Any], effect: Effect) -> bool:
        """Whether the log alone shows that the call is allowed: by the last approved version or by a later approval."""
        approved = next(event for event in reversed(self.log) if starts_plan(event))
        assert isinstance(approved, facts.PlanApproved | facts.TurnPlanned)
        plan = self.log[(approved.plan_version or 0) - 1]
        assert isinstance(plan, facts.PlanDrafted | facts.PlanEdited)
        step = next(step for step in plan.steps if action.partition("[")[0].endswith(f".{step.id}"))
        assert step.tool == tool
        hashes = [event.hash for event in self.log[approved.version :] if isinstance(event, facts.ApprovalGiven)]
        called = canonical_hash({"tool": tool, "arguments": arguments, "effect": effect})
        known = self.tools.get(tool)
        real_effect = known.effect if known else effect  # the tool's effect may have changed since the ruling
        if called in hashes or "read" in (effect, real_effect):
            return True
        needs_no_permission = "never" in (step.policy, self.session.settings.approval) or self.needs_no_approval(action)
        if isinstance(approved, facts.TurnPlanned):
            return needs_no_permission
        if approved.deferred:
            assert any(isinstance(event, facts.SessionRetried) for event in self.log[approved.version :])
            REACHED.add("ran when started")
        literal = (step.arguments or {}) == arguments and (step.effect or "read") == real_effect and not step.for_each
        ticked = step.id in approved.preapproved and step.effect == real_effect == "write"
        if ticked and not literal:
            REACHED.add("ran for an item, preapproved" if step.for_each else "ran preapproved")
        return literal or needs_no_permission or ticked

    # --- moves of users and services

    @initialize(requires_approval=st.sampled_from((True, True, True, False)))
    def begin(self, requires_approval: bool) -> None:
        settings = SessionSettings(require_plan_approval=requires_approval, call_budget=4)
        self.execute_as_user(c.Say(text="begin", workflow="execution_plan", settings=settings))

    @rule(number=pick)
    def next_move(self, number: int) -> None:
        """One rule for all moves: hypothesis leaves out some rules in a schedule, but each schedule needs all moves."""
        number = self.draw(number)
        (act,) = Random(number).choices(
            (
                self.service_works,
                self.user_acts,
                self.wait_ends,
                self.keeper_polls,
                self.question_expires,
                self.command_is_repeated,
                self.batch_starts_unresolved,
            ),
            (50, 20, 8, 14, 5, 8, 3),
        )
        act(self.draw(number))

    def user_acts(self, number: int) -> None:
        continuing = self.commands_that_continue(number)
        steers = not continuing or number % 5 >= 3
        acts = [*continuing * 4, *self.commands_that_steer(number)] if steers else continuing
        for act in Random(number).sample(acts, min(4, len(acts))):  # most phases refuse most commands
            if self.execute_as_user(act):
                return

    def commands_that_continue(self, number: int) -> list[AnyCommand]:
        """Commands that let the plan continue: approvals, answers, retries, resuming."""
        session, current_plan = self.session, self.session.plan
        acts: list[AnyCommand] = [c.Resume()] if session.paused else []
        acts += [c.KeepOffer(), c.TakeOffer()] if session.offer else []
        if session.phase in ("resting", "failed"):
            acts += [c.Retry()] * (number % 3)
        if current_plan and session.phase == "awaiting_approval" and not undecided_actions(session.turn):
            ticks = tuple(step.id or "" for step in current_plan.steps if is_preapprovable(step)) if number % 5 else ()
            start = number % 7 > 1
            acts.append(c.Approve(version=current_plan.version, hash=current_plan.hash, preapprove=ticks, start=start))
        for action in undecided_actions(session.turn):
            acts.append(c.Approve(version=session.version, action_id=action.spec.id, hash=action.hash))
        acts += [c.Answer(text=option.label) for option in (session.question.options if session.question else ())]
        return acts

    def commands_that_steer(self, number: int) -> list[AnyCommand]:
        """Commands that change or stop the plan."""
        session, current_plan = self.session, self.session.plan
        acts: list[AnyCommand] = [c.Reject(replan=bool(number % 2)), c.Retry()]
        policy: ToolPolicy = ("always", "deny", "writes")[number % 3]
        word = c.Say(text=f"word {number}")
        rare = (word, word, c.Stop(), c.Stop(), c.CancelPlan(), c.Pause(), c.Remember(tool="pay", policy=policy))
        acts += rare[number % 20 : number % 20 + 1]
        if current_plan:
            fresh = draw_plan(number)[0].model_copy(update={"id": f"n{number}"})
            steps = list(current_plan.steps)
            steps[number % len(steps)] = fresh
            edits = (tuple(steps), draw_plan(number), (*current_plan.steps, fresh)[-8:])
            if session.phase not in SERVICE_OF or number % 9 == 0:  # otherwise few plans would finish
                acts += [c.EditPlan(base=current_plan.version, steps=steps) for steps in edits]
            # an approval, even of an approved version
            acts.append(c.Approve(version=current_plan.version, hash=current_plan.hash))
        for action in undecided_actions(session.turn):
            acts += [c.Reject(action_id=action.spec.id), c.Skip(action_id=action.spec.id)]
        if running_actions(session):
            halts: list[AnyCommand] = [word, word, c.CancelPlan()]
            acts += halts[number % 12 : number % 12 + 1] * 6
        output = {"made": number, "list": [number]} if number % 2 else [number % 3]
        for action in dead_actions(session.turn) if session.turn else ():
            name = action.spec.id
            acts += [c.Skip(action_id=name), c.Skip(action_id=name, output=output)]
            acts += [c.Skip(action_id=name, with_dependents=True)] * 12
        if session.turn and number % 7 == 0:
            planned = [action.spec.id for action in session.turn.actions if action.status == "planned"]
            acts += [c.Skip(action_id=name, output=output) for name in planned[:1]] * 3
        if session.turn and number % 7 == 1:
            used = [
                a.spec.id
                for a in session.turn.actions
                if (s := step_of(session, a.spec.id)) and dependents_of(session, s)
            ]
            acts += [c.Skip(action_id=name, with_dependents=True) for name in used] * 3
        return acts

    def service_works(self, number: int) -> None:
        session = self.session
        under_way = (*running_actions(session), *session.left_running)
        if under_way and number % 3:
            action = under_way[number % len(under_way)]
            if number % 6 == 1:
                self.execute_as_service(
                    c.ReportUncertain(action_id=action.spec.id, attempt=action.attempt, reason="crashed")
                )
            else:
                ok = number % 9 != 0
                result = {"made": number, "list": list(range(number % 4))} if ok else None
                self.execute_as_service(
                    finish_action(action_id=action.spec.id, attempt=action.attempt, ok=ok, result=result)
                )
            return
        if session.reply and number % 3:
            self.execute(*next_step(session, session.reply))
            return
        match session.phase:
            case "planning" if starts_by_setting(session) and number % 5:
                self.execute_as_service(c.BeginPlan())
            case "planning":
                self.execute_as_service(c.DraftPlan(goal="g", steps=draw_plan(number), kind="execution"))
            case "executing" if session.is_over_budget and not running_actions(session):
                self.execute_as_service(c.Ask(text="spent", about="budget"))
            case "executing":
                self.execute_as_service(executor_command(session) or c.Start(tools=draw_registry(number)))
            case "verifying":
                self.execute_as_service(verdict("complete", ("success", "failure")[number % 2]))
            case "answering":
                self.execute_as_service(answer())

    def wait_ends(self, _: int) -> None:
        if self.execute(c.Wake(), CommandMeta(KEEPER, NOON)):
            REACHED.add("woken")

    def keeper_polls(self, number: int) -> None:
        """The keeper polls: in time, too early, too late, or a step that does not poll."""
        actions = self.session.turn.actions if self.session.turn else ()
        polling = [action for action in actions if action.poll] or actions
        for action in polling[number % len(polling) : number % len(polling) + 1] if polling else ():
            polls = (action.poll.polls if action.poll else 0) + number % 4
            error = "away" if number % 5 == 0 else ""
            value = None if error else {"made": number % 3}
            look = c.RecordPoll(
                action_id=action.spec.id, polls=polls + 1, value=value, error=error, met=number % 3 == 1
            )
            at = LATER if number % 2 == 0 else NOON
            self.stale.append((look, CommandMeta(KEEPER, at)))
            self.execute(
                look.model_copy(update={"attempt": action.attempt - number % 13 // 12}), CommandMeta(KEEPER, at)
            )

    def question_expires(self, _: int) -> None:
        if self.session.question:
            self.execute(c.Expire(requested_version=self.session.since_version), CommandMeta(KEEPER, NOON))

    def command_is_repeated(self, number: int) -> None:
        """An earlier command comes again: by redelivery, from a second tab, or from a late worker."""
        if self.stale:
            self.execute(*self.stale[number % len(self.stale)])

    def batch_starts_unresolved(self, number: int) -> None:
        """An executor that forgets to resolve a reference cannot start its step."""
        if self.session.phase == "executing":
            self.execute_as_service(c.Start(tools=draw_registry(number)))

    def teardown(self) -> None:
        """At the end, undisturbed workers bring the session to rest or make the user due."""
        if self.session.paused:
            self.execute_as_user(c.Resume())
        for _ in range(80):
            if works := self.session.works:
                self.execute(*next_step(self.session, works[-1]))
            elif self.session.offer is None or not self.execute_as_user(c.KeepOffer()):
                break
        assert self.session.phase not in SERVICE_OF


MAX_ROUNDS = 5  # Hypothesis draws other examples when other modules are loaded: some situations may need more
SITUATIONS = {
    *("asked by reference", "ran by reference", "ran as shown", "carried over", "asked in doubt", "tried again"),
    *("went on without a step", "woken", "asked as a step", "ran for an item", "gathered", "ran preapproved"),
    *("ran for an item, preapproved", "ran when started"),
    *("began by the settings", "asked after the settings' approval", "its tool has changed"),
    *("saw something", "met", "gave up", "nobody answered", "raised the budget"),
    *("output given", "dependents skipped", "went on after an answer"),
    *("took the offer", "went on with the plan that was kept"),
    *("plan.edited while a step ran", "plan.cancelled while a step ran"),
}


class TestPlans(PlanSchedules.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(PROFILES[PROFILE], max_examples=4 * PROFILES[PROFILE].max_examples)

    def runTest(self) -> None:  # noqa: N802  unittest's name
        """Also asserts that all relevant situations occurred; without them the schedules prove nothing."""
        REACHED.clear()
        for number in range(MAX_ROUNDS):
            seed(number)(PlanSchedules)
            super().runTest()
            if SITUATIONS <= REACHED:
                return
        assert sorted(SITUATIONS - REACHED) == []

    pytestmark = pytest.mark.timeout(1200 if PROFILE == "ci" else 0)
