"""The session that test_machine.py runs its random schedules on: its log, its work and its invariants.

`append` works as in production: it decides a command again on the newest session if the known one is old. After every
event it checks the invariants of the event and of the session.
"""

from dataclasses import dataclass, field

from parley.events import SessionEvent, dump_event, facts, parse_event
from parley.events.hashing import canonical_hash
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta, Work
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import SERVICE_OF, SESSION, Session, review_target, undecided_actions
from shared.domain.kernel.state import Action
from shared.domain.plan.policy import STRENGTH, policy_of
from shared.domain.rules.admissible import admit
from shared.domain.rules.consequences import complete
from shared.domain.rules.decide import AnyCommand, decide, due
from shared.domain.transcript.dialogue import UnreadMessage
from shared.domain.transcript.forks import carry_over
from shared.domain.transcript.memory import (
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
from shared.domain.transcript.messages import withdraws_message
from shared.domain.turn.batches import blocked_actions, find_action, running_actions
from tests.unit.domain.spec import ANN, NOON
from tests.unit.domain.ways_on import check_not_stuck

MADE_BY_WORK = (
    facts.RemarkAnswered
    | facts.OfferMade
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
DRAFTS = facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned
TAKES_IN = DRAFTS | facts.RemarkAnswered | facts.OfferMade
SAID = ("request", "message", "answered")  # kinds of entries
REACHED: set[str] = set()  # the types of all events of all sessions, and the sub-goals' statuses


@dataclass
class SessionWorld:
    session: Session = field(default_factory=lambda: Session("s0"))
    read: Session = field(default_factory=lambda: Session("s0"))  # folded from the stored events
    log: list[SessionEvent] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)  # all work that was ever due
    said: list[str] = field(default_factory=list)  # the person's messages and answers
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
        self._check_messages(before, event, after, meta)
        self._check_transcript(before, event, after)
        self._check_verdict(event, after)
        self.log.append(stored)
        REACHED.add(event.type)
        REACHED.update(["offer taken"] if isinstance(event, DRAFTS) and event.offer else [])
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
        self.__init__(forks=forks, said=self.said)  # type: ignore[misc]
        self.session = self.read = child
        self.accept(event, by)
        texts = [message.text for message in parent.words.unread]
        assert [message.text for message in self.session.words.unread] == texts

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
        if not isinstance(event, facts.TurnVerified) or (after.turn and after.turn.taken_over):
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
            assert meta.work in self.session.works
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

        After a stop, a retry or a raised budget also lets an interrupted node of a path run again.
        """
        if isinstance(event, facts.QuestionAnswered) and event.key == "again" and before.turn:
            self._may_start_again(before.turn.number, event.question_id)
        if isinstance(event, facts.SessionRetried | facts.BudgetRaised) and before.turn and before.turn.path:
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
            assert not before.holds or action.spec.effect == "read", "it began before the message was answered"
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

    def _check_messages(self, before: Session, event: SessionEvent, after: Session, meta: CommandMeta) -> None:
        """A message stays unread until a draft or reply of work that began after it, a new request, or a stop."""
        if isinstance(event, facts.SessionForked):
            return
        was, now = set(before.words.unread), set(after.words.unread)
        message = _message(before, event)
        assert now - was == ({message} if message else set())
        assert max((message.version for message in was - now), default=0) <= _takes_in_until(before, event, meta)
        left = now and after.reply is None and not event.actor.startswith("user:")
        assert not left or after.phase not in ("resting", "awaiting_approval") or was == now, "who reads the message?"

    def _check_transcript(self, before: Session, event: SessionEvent, after: Session) -> None:
        """It is appended to, and tells once, in its place, everything that the person has said."""
        match event:
            case facts.MessageReceived(text=text) | facts.ApprovalDenied(reason=text) if text:
                self.said.append(text)
            case facts.QuestionAnswered() if event.kind != "uncertain":  # that is a decision
                self.said.append(event.text)
        assert after.transcript[: len(before.transcript)] == before.transcript
        assert {entry.version for entry in after.transcript[len(before.transcript) :]} <= {event.version}
        assert [entry.text for entry in after.transcript if entry.kind in SAID] == self.said

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
        self._check_review(session)
        check_not_stuck(session)

    def _check_memory_limits(self, session: Session) -> None:
        """What prompts read does not grow with the number of actions."""
        memory = session.memory
        assert len(memory.deeds) <= MAX_OUTCOMES
        assert len(memory.earlier) <= MAX_OUTCOMES
        assert len(memory.verdicts) <= MAX_VERDICTS
        assert len(memory.sub_goals) <= MAX_SUB_GOALS
        assert max((len(deed.text) for deed in memory.deeds), default=0) <= MAX_OUTCOME
        for records in (memory.deeds, memory.earlier):
            assert sum(map(_size, records)) <= MAX_WHOLE_OUTCOMES + MAX_OUTCOMES * 2 * MAX_OUTCOME_SUMMARY

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
        """A service is due only after the event that began its work, all work was due once, and held work waits."""
        whose, work = due(session), session.work
        begun = [work for work in session.works if work.version == session.version]
        if whose not in ("user", "nobody"):
            assert [work.service for work in begun] == [whose]
            self.works += begun
        assert all(work in self.works for work in session.works)
        assert work is None or SERVICE_OF[session.phase] == work.service
        assert session.reply is None or session.reply.service in ("planner", "generator")
        assert work is not None or session.paused or session.holds or session.phase not in SERVICE_OF
        acts = session.turn is not None and session.phase in ("executing", "verifying", "answering")
        is_read = session.reply is not None or (session.turn is not None and session.turn.rules.reads_messages)
        assert not (acts and session.words.unread) or is_read, "nobody is going to read the message"

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


def _message(before: Session, event: SessionEvent) -> UnreadMessage | None:
    """The message that the event brings, for a draft or reply to take in."""
    match event:
        case facts.MessageReceived(intent="request"):
            return None
        case facts.MessageReceived() | facts.QuestionAnswered(kind="request"):
            return UnreadMessage(event.version, event.text)
        case facts.ApprovalDenied() if event.reason and before.turn:
            rules = before.turn.rules
            return UnreadMessage(event.version, event.reason) if rules.one_by_one or rules.by_step else None
    return None


def _takes_in_until(before: Session, event: SessionEvent, meta: CommandMeta) -> int:
    """The version of the newest message that the event may take in."""
    by_user = event.actor == ANN
    if isinstance(event, TAKES_IN) and not by_user and meta.work:
        return 0 if isinstance(event, facts.TurnPlanned) and event.plan_version else meta.work.version
    if isinstance(event, facts.SessionStopped):
        if withdraws_message(before):
            return event.version
        stopped = before.reply or (before.work if before.phase in ("planning", "coding") else None)
        return stopped.version if stopped else 0
    edits = isinstance(event, facts.PlanEdited | facts.CodeEdited) and before.reply is None
    begins = isinstance(event, facts.MessageReceived) and event.intent == "request"
    continues = isinstance(event, facts.QuestionAnswered) and event.kind == "continue"
    if isinstance(event, facts.QuestionAnswered | facts.MessageReceived) and before.question and before.asked_beside:
        return before.question.asked_version if before.asked_beside.begins_round else 0
    return event.version if edits or begins or continues else 0


def _changed_actions(before: Session, after: Session) -> list[tuple[str | None, Action]]:
    """The actions of the turn whose status changed, each after its earlier status."""
    was = {a.spec.id: a.status for a in before.turn.actions} if before.turn else {}
    same = before.turn is not None and after.turn is not None and before.turn.number == after.turn.number
    known = was if same else {}
    actions = after.turn.actions if after.turn else ()
    return [(known.get(a.spec.id), a) for a in actions if known.get(a.spec.id) != a.status]


def _size(deed: ActionRecord) -> int:
    return len(deed.text) + len(text_of(deed.arguments))
