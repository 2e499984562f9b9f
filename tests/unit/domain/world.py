"""The session that test_machine.py runs its random schedules on: its log, its work and its invariants.

`append` works as in production: it decides a command again on the newest session if the known one is old. After every
event it checks the invariants of the event and of the session.
"""

from dataclasses import dataclass, field

from parley.events import SessionEvent, dump_event, facts, parse_event
from parley.events.hashing import canonical_hash
from shared.domain import commands as c
from shared.domain.admissible import admit
from shared.domain.batches import blocked_actions, find_action, running_actions
from shared.domain.commands import CommandMeta, Work
from shared.domain.consequences import complete
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.errors import CommandRefused
from shared.domain.evolve import evolve
from shared.domain.forks import carry_over
from shared.domain.memory import (
    MAX_EARLIER_OUTCOMES,
    MAX_OUTCOME,
    MAX_OUTCOME_SUMMARY,
    MAX_OUTCOMES,
    MAX_SUB_GOALS,
    MAX_VERDICTS,
    MAX_WHOLE_OUTCOMES,
    SUB_GOAL_STATUS_OF,
    ActionRecord,
    key_of,
    text_of,
)
from shared.domain.messages import drafting_session
from shared.domain.policy import STRENGTH, policy_of
from shared.domain.session import (
    SERVICE_OF,
    SESSION,
    Session,
    before_remark,
    review_target,
    undecided_actions,
)
from shared.domain.state import Action
from tests.unit.domain.spec import ANN, NOON
from tests.unit.domain.ways_on import check_not_stuck

MADE_BY_WORK = (
    facts.RemarkAnswered
    | facts.PlanDrafted
    | facts.CodeDrafted
    | facts.CodeVerified
    | facts.TurnPlanned
    | facts.TurnVerified
    | facts.AnswerGiven
    | facts.TurnChanged
    | facts.ActionsStarted
    | facts.SessionFailed
)
PLANS = facts.TurnPlanned | facts.TurnRequested | facts.PlanApproved
TAKES_IN = facts.PlanDrafted | facts.PlanEdited | facts.CodeDrafted | facts.CodeEdited | facts.AnswerGiven
DRAFTS = facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned
REACHED: set[str] = set()  # the types of all events of all sessions, and the sub-goals' statuses


@dataclass
class SessionWorld:
    session: Session = field(default_factory=lambda: Session("s0"))
    read: Session = field(default_factory=lambda: Session("s0"))  # folded from the stored events
    log: list[SessionEvent] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)  # all work that was ever due
    pending_messages: dict[str, int] = field(default_factory=dict)  # not yet taken in: text -> version
    starts: dict[tuple[int, str], int] = field(default_factory=dict)  # (turn, action) -> number of starts
    may_start_again: set[tuple[int, str]] = field(default_factory=set)  # the user chose to run it again
    did_not_happen: set[tuple[int, str]] = field(default_factory=set)  # the user answered that it did not happen
    done_writes: set[str] = field(default_factory=set)  # writes done or denied for the current request
    stopped: int = 0
    forks: int = 0

    def append(self, command: AnyCommand, meta: CommandMeta, known: Session | None = None) -> SessionEvent | None:
        """The appended event, or None if the command was refused.

        Decides on the known session, and again on the newest one if the known one is old.
        """
        known = known or self.session
        try:
            event = decide(known, command, meta)
            if known.version != self.session.version:
                event = decide(self.session, command, meta)
        except CommandRefused:
            return None
        if isinstance(command, c.Start):
            self._check_ruling(self.session, event, command)
        self.accept(event, meta)
        return event

    def accept(self, event: SessionEvent, meta: CommandMeta) -> None:
        before, after = self.session, evolve(self.session, event)
        self._check_consequences(before, event, after)
        stored = parse_event(dump_event(event))
        assert stored == event
        assert all(event.id != other.id for other in self.log), f"two events have the id {event.id}"
        self._check_work(event, meta)
        self._check_approval(before, event)
        self._check_starts(before, event)
        self._track_writes(before, event, after)
        self._check_messages(before, event, meta)
        self._check_verdict(event, after)
        self.log.append(stored)
        REACHED.add(event.type)
        self.session, self.read = after, evolve(self.read, stored)
        if isinstance(event, facts.SessionStopped):
            self.stopped = event.version
        self.check_session(after)

    def fork(self) -> None:
        """Continue in a fork of the session."""
        forks = self.forks + 1
        child = Session(f"s{forks}")
        by = CommandMeta(ANN, NOON)
        parent = self.session
        event = decide(
            child, c.Fork(parent_id=parent.id, parent_version=parent.version, carried=carry_over(parent)), by
        )
        saved = [
            text
            for text in self.pending_messages
            if text in (*parent.words.feedback, *parent.words.unread, *parent.words.request.splitlines())
        ]
        self.__init__(forks=forks)  # type: ignore[misc]
        self.session = self.read = child
        self.accept(event, by)
        self.pending_messages = dict.fromkeys(saved, 1)

    # --- invariants of every event

    def _check_consequences(self, before: Session, event: SessionEvent, after: Session) -> None:
        """The event names the actions that it ends and begins: completing it again changes nothing."""
        before = Session(event.session_id) if isinstance(event, facts.SessionForked) else before
        assert complete(before, event.model_copy(update={"ended": (), "begins": ()})) == event
        assert admit(before, event) == (after, "")
        assert not blocked_actions(after.turn)
        for action_id in event.begins:
            action = find_action(after, action_id)
            assert action is not None
            assert action.status == "running"
            assert (action.spec.quiet, action.spec.effect, action.spec.approval_reason) == (True, "read", None)
            assert after.turn is not None
            assert after.turn.path is None
        if running_actions(after) and due(after) == "executor":
            assert isinstance(event, facts.SessionRetried) or {a.began for a in running_actions(after)} == {
                event.version
            }

    def _check_verdict(self, event: SessionEvent, after: Session) -> None:
        """Each of several sub-goals has the status of its own verdict."""
        if not isinstance(event, facts.TurnVerified):
            return
        statuses = {sub_goal.goal: sub_goal.status for sub_goal in after.memory.sub_goals}
        for sub_goal in event.sub_goals:
            REACHED.add(f"sub-goal: {sub_goal.status}, {event.next_action}")
            tried_again = "pending" if event.next_action == "retry" else SUB_GOAL_STATUS_OF[sub_goal.status]
            assert statuses[sub_goal.sub_goal] == ("completed" if sub_goal.status == "success" else tried_again)

    def _check_work(self, event: SessionEvent, meta: CommandMeta) -> None:
        """Workers append events only for the session's current work, never for work that began before a stop."""
        if isinstance(event, MADE_BY_WORK) and not event.actor.startswith("user:"):
            assert meta.work is not None
            assert meta.work == self.session.work
            assert meta.work.version > self.stopped

    def _check_approval(self, before: Session, event: SessionEvent) -> None:
        """The approved version has the hash of the one in the log, and its steps run as shown."""
        if isinstance(event, facts.PlanApproved) and before.plan:
            assert event.plan_version == before.plan.version
            assert event.hash == before.plan.hash
            result = self.log[event.plan_version - 1]
            if isinstance(result, facts.PlanDrafted | facts.PlanEdited):
                reviewed = before.plan.goal, before.plan.steps, before.plan.notes
                assert reviewed == (result.goal, result.steps, result.notes)
            after = evolve(before, event)
            if before.plan.kind != "text" and after.turn:
                shown_calls = [(step.tool or "note", step.arguments or {}) for step in before.plan.steps]
                assert [(a.spec.tool, a.spec.arguments) for a in after.turn.actions] == shown_calls
        if isinstance(event, facts.CodeApproved):
            result = self.log[event.code_version - 1]
            if isinstance(result, facts.CodeDrafted | facts.CodeEdited):
                assert event.hash == canonical_hash(result.code)

    def _check_starts(self, before: Session, event: SessionEvent) -> None:
        """An action starts at most once, unless the user allows another run, and never without a needed approval.

        After a stop, a retry also lets an interrupted node of a path run again.
        """
        if isinstance(event, facts.QuestionAnswered) and event.key == "again" and before.turn:
            self._may_start_again(before.turn.number, event.question_id)
        if isinstance(event, facts.SessionRetried) and before.turn and before.turn.path:
            for cut_off in before.turn.actions:
                if cut_off.status == "failed" and cut_off.cause == "stopped":
                    self._may_start_again(before.turn.number, cut_off.spec.id)
        if not isinstance(event, facts.ActionsStarted):
            return
        assert before.turn is not None
        planned = max(e.version for e in self.log if isinstance(e, PLANS))
        for action_id in (action.action_id for action in event.actions):
            action, key = find_action(before, action_id), (before.turn.number, action_id)
            assert action is not None
            assert key not in self.starts or key in self.may_start_again
            assert action.spec.decision not in ("skip", "deny")
            proposed = isinstance(self.log[planned - 1], facts.TurnPlanned) and not before.turn.taken_over
            if proposed and action.spec.effect != "read" and key not in self.did_not_happen:
                assert key_of(action.spec.tool, action.spec.arguments) not in self.done_writes, "done or denied before"
            self.may_start_again.discard(key)
            self.starts[key] = self.starts.get(key, 0) + 1
            if action.spec.approval_reason:
                approvals = [e for e in self.log[planned:] if isinstance(e, facts.ApprovalGiven)]
                assert (action_id, action.hash) in [(e.action_id, e.hash) for e in approvals]

    def _check_ruling(self, before: Session, event: SessionEvent, start: c.Start) -> None:
        """Started actions do no more than was planned or approved, whatever effect the plan claims for their tools."""
        if not isinstance(event, facts.ActionsStarted):
            return
        planned = max(e.version for e in self.log if isinstance(e, PLANS))
        requested = isinstance(self.log[planned - 1], facts.TurnRequested)
        approved_ids = {e.action_id for e in self.log[planned:] if isinstance(e, facts.ApprovalGiven)}
        for action_id in (action.action_id for action in event.actions):
            action = find_action(before, action_id)
            if action is None or (rule := start.tools.get(action.spec.tool)) is None:
                continue
            spec = action.spec.model_copy(update={"effect": rule.effect, "policy": rule.policy})
            assert STRENGTH[rule.effect] <= STRENGTH[action.spec.effect]
            assert policy_of(before, spec) != "deny"
            asks = policy_of(before, spec) == "always" or (
                policy_of(before, spec) == "writes" and rule.effect != "read"
            )
            assert not asks or requested or action_id in approved_ids

    def _track_writes(self, before: Session, event: SessionEvent, after: Session) -> None:
        """Tracks the writes that must not be repeated for this request. A new request starts with none."""
        if after.words.request != before.words.request or isinstance(event, facts.SessionForked):
            self.done_writes.clear()
        for was, action in _changed_actions(before, after):
            happened = action.status == "finished" or (action.status == "denied" and was != "denied")
            if happened and action.spec.effect != "read":
                self.done_writes.add(key_of(action.spec.tool, action.spec.arguments))
        outcomes = event.outcomes if isinstance(event, facts.ActionsFinished) else ()
        done = {outcome.action_id for outcome in outcomes if outcome.ok}
        for late in before.left_running:
            if late.spec.id in done and late.spec.effect != "read":
                self.done_writes.add(key_of(late.spec.tool, late.spec.arguments))

    def _check_messages(self, before: Session, event: SessionEvent, meta: CommandMeta) -> None:
        """A message is taken in by work that began after it, or by the user's own edit."""
        self._check_remark_answered(before, event, meta)
        if isinstance(event, TAKES_IN):
            after = evolve(before, event)
            drafted_in = drafting_session(before) if isinstance(event, DRAFTS) else before
            for text in set(drafted_in.words.feedback) - set(after.words.feedback):
                message_version = self.pending_messages.pop(text, 0)
                assert meta.work is None or message_version <= meta.work.version
        planned = isinstance(event, facts.TurnPlanned | facts.PlanDrafted) and before.phase == "planning"
        if planned or isinstance(event, facts.PlanEdited):  # of a path: its nodes read the words later
            for text in set(evolve(before, event).memory.heard) - set(before.memory.heard):
                message_version = self.pending_messages.pop(text, 0)
                assert meta.work is None or message_version <= meta.work.version
        if isinstance(event, facts.MessageReceived):
            self.pending_messages[event.text] = event.version
        if isinstance(event, facts.QuestionAnswered) and before.question and before.question.about != "uncertain":
            if before.question.about == "action":
                return  # the answer is the action's result
            self.pending_messages[event.text] = event.version

    def _check_remark_answered(self, before: Session, event: SessionEvent, meta: CommandMeta) -> None:
        """A remark is answered, taken in or withdrawn."""
        for text in (
            _remark_messages(before) if isinstance(event, facts.SessionStopped | facts.RemarkAnswered | DRAFTS) else ()
        ):
            message_version = self.pending_messages.pop(text, 0)
            assert meta.work is None or message_version <= meta.work.version

    # --- invariants of every session

    def check_session(self, session: Session) -> None:
        assert session.version == len(self.log)
        assert self.read == session
        assert SESSION.validate_json(SESSION.dump_json(session)) == session
        assert session.since_version <= session.version
        assert (session.question is None) or session.phase == "awaiting_input"
        assert (session.failure is not None) == (session.phase == "failed")
        assert not session.paused or session.phase not in ("resting", "failed")
        self._check_memory_limits(session)
        self._check_never_started(session)
        self._check_due(session)
        self._check_no_message_lost(session)
        self._check_review(session)
        self._check_remark(session)
        check_not_stuck(session)

    def _check_memory_limits(self, session: Session) -> None:
        """What prompts read does not grow with the number of actions."""
        memory = session.memory
        assert len(memory.deeds) <= MAX_OUTCOMES
        assert len(memory.earlier) <= MAX_EARLIER_OUTCOMES
        assert len(memory.verdicts) <= MAX_VERDICTS
        assert len(memory.sub_goals) <= MAX_SUB_GOALS
        assert max((len(deed.text) for deed in memory.deeds), default=0) <= MAX_OUTCOME
        assert sum(map(_size, memory.deeds)) <= MAX_WHOLE_OUTCOMES + MAX_OUTCOMES * 2 * MAX_OUTCOME_SUMMARY
        assert sum(map(_size, memory.earlier)) <= MAX_EARLIER_OUTCOMES * 2 * MAX_OUTCOME_SUMMARY

    def _may_start_again(self, turn: int, action_id: str) -> None:
        self.may_start_again.add((turn, action_id))
        self.did_not_happen.add((turn, action_id))

    def _check_never_started(self, session: Session) -> None:
        """A skipped or denied action was never started, unless the user answered that it did not happen."""
        for action in session.turn.actions if session.turn else ():
            key = (session.turn.number if session.turn else 0, action.spec.id)
            if action.status in ("skipped", "denied"):
                assert key not in self.starts or key in self.did_not_happen

    def _check_due(self, session: Session) -> None:
        """A service is due only after the event that began its work, and all work was due once."""
        whose, work = due(session), session.work
        if whose not in ("user", "nobody"):
            assert work is not None
            assert (work.version, SERVICE_OF[session.phase]) == (session.version, whose)
            self.works.append(work)
        if work is not None:
            assert SERVICE_OF[session.phase] == work.service
            assert work in self.works
        assert work is not None or session.paused or session.phase not in SERVICE_OF

    def _check_no_message_lost(self, session: Session) -> None:
        rounds = [line for round_ in session.words.earlier for line in round_.request.splitlines()]
        for text in [text for text in self.pending_messages if text in rounds]:
            del self.pending_messages[text]  # an earlier request: the summary includes it
        known = (
            *session.words.request.splitlines(),
            *session.words.feedback,
            *session.words.unread,
            *_remark_messages(session),
        )
        missing = [text for text in self.pending_messages if text not in known]

        assert not missing, f"no prompt will include {missing}"

    def _check_remark(self, session: Session) -> None:
        """While a service answers a remark, the session before the remark can be restored, and is in a valid state."""
        if session.words.remark is None:
            return
        assert session.phase in ("planning", "coding", "awaiting_input", "failed")
        at = before_remark(session)
        assert at.phase in ("awaiting_approval", "resting")
        assert at.work is None
        self._check_review(at)

    def _check_review(self, session: Session) -> None:
        if session.phase != "awaiting_approval":
            return
        target = review_target(session)
        if target == "actions":
            assert undecided_actions(session.turn)
        elif target == "code":
            assert session.code is not None
            assert session.code.status == "review"
        else:
            assert session.plan is not None
            assert session.plan.status == "pending_approval"


def _remark_messages(session: Session) -> tuple[str, ...]:
    """The messages since the open remark."""
    remark = session.words.remark
    return (*remark.texts, *(answered.answer for answered in remark.dialogue)) if remark else ()


def _changed_actions(before: Session, after: Session) -> list[tuple[str | None, Action]]:
    """The actions of the turn whose status changed, each after its earlier status."""
    was = {a.spec.id: a.status for a in before.turn.actions} if before.turn else {}
    same = before.turn is not None and after.turn is not None and before.turn.number == after.turn.number
    known = was if same else {}
    actions = after.turn.actions if after.turn else ()
    return [(known.get(a.spec.id), a) for a in actions if known.get(a.spec.id) != a.status]


def _size(deed: ActionRecord) -> int:
    return len(deed.text) + len(text_of(deed.arguments))
