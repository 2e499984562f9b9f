"""The world of test_machine.py: one session's log, the works that were given out, and what must always hold.

`append` is the guarded append: whoever decided on an older session lost the race, reads the tail and decides again.
After every event `Laws` looks at the event and at the session it left.
"""

from dataclasses import dataclass, field

from parley.events import SessionEvent, dump_event, facts, parse_event
from parley.events.hashing import canonical_hash
from shared.domain import commands as c
from shared.domain.admissible import admit
from shared.domain.commands import CommandMeta, Work
from shared.domain.consequences import complete
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.errors import Refused
from shared.domain.evolve import evolve
from shared.domain.forks import carried
from shared.domain.memory import BECOMES, DEED, EARLIER, GIST, GISTS, SUB_GOALS, VERDICTS, WHOLE, Deed, key_of, text_of
from shared.domain.policy import STRENGTH, policy_of
from shared.domain.said import drafting
from shared.domain.session import (
    SERVICE_OF,
    SESSION,
    Session,
    put_back,
    reviewing,
    undecided,
)
from shared.domain.state import Action
from shared.domain.waves import blocked, find, running
from tests.unit.domain.spec import ANN, NOON
from tests.unit.domain.ways_on import ways_on

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
REACHED: set[str] = set()  # the types of all events that ever happened in any world


@dataclass
class World:
    session: Session = field(default_factory=lambda: Session("s0"))
    read: Session = field(default_factory=lambda: Session("s0"))  # folded from what was stored, event by event
    log: list[SessionEvent] = field(default_factory=list)
    given: list[Work] = field(default_factory=list)  # every work that a service was ever made due for
    words: dict[str, int] = field(default_factory=dict)  # said, and not yet known to be taken in: text -> version
    starts: dict[tuple[int, str], int] = field(default_factory=dict)  # (turn, action) -> how often it was started
    again: set[tuple[int, str]] = field(default_factory=set)  # the person said: run it again
    didnt: set[tuple[int, str]] = field(default_factory=set)  # the person said: it did not happen
    settled: set[str] = field(default_factory=set)  # changes that were done or denied for the request at hand
    stopped: int = 0
    forks: int = 0

    def append(self, command: AnyCommand, meta: CommandMeta, seen: Session | None = None) -> SessionEvent | None:
        """Decide on what was seen, lose the race if that is old, decide again; None: refused."""
        seen = seen or self.session
        try:
            event = decide(seen, command, meta)
            if seen.version != self.session.version:
                event = decide(self.session, command, meta)
        except Refused:
            return None
        if isinstance(command, c.Start):
            self._ruled(self.session, event, command)
        self.accept(event, meta)
        return event

    def accept(self, event: SessionEvent, meta: CommandMeta) -> None:
        before, after = self.session, evolve(self.session, event)
        self._complete(before, event, after)
        stored = parse_event(dump_event(event))
        assert stored == event
        assert all(event.id != other.id for other in self.log), f"two events have the id {event.id}"
        self._work(event, meta)
        self._approved(before, event)
        self._started(before, event)
        self._settled(before, event, after)
        self._said(before, event, meta)
        self._judged(event, after)
        self.log.append(stored)
        REACHED.add(event.type)
        self.session, self.read = after, evolve(self.read, stored)
        if isinstance(event, facts.SessionStopped):
            self.stopped = event.version
        self.state(after)

    def fork(self) -> None:
        """Go on in a fork of the session as it is now."""
        forks = self.forks + 1
        child = Session(f"s{forks}")
        by = CommandMeta(ANN, NOON)
        parent = self.session
        event = decide(child, c.Fork(parent_id=parent.id, parent_version=parent.version, carried=carried(parent)), by)
        kept = [
            text
            for text in self.words
            if text in (*parent.words.feedback, *parent.words.unread, *parent.words.request.splitlines())
        ]
        self.__init__(forks=forks)  # type: ignore[misc]
        self.session = self.read = child
        self.accept(event, by)
        self.words = dict.fromkeys(kept, 1)

    # --- what must hold of every event

    def _complete(self, before: Session, event: SessionEvent, after: Session) -> None:
        """The event says what it ends and begins: completed from nothing it is the same, and so readers fold it."""
        before = Session(event.session_id) if isinstance(event, facts.SessionForked) else before
        assert complete(before, event.model_copy(update={"ended": (), "begins": ()})) == event
        assert admit(before, event) == (after, "")
        assert not blocked(after.turn)
        for action_id in event.begins:
            action = find(after, action_id)
            assert action is not None
            assert action.status == "running"
            assert (action.spec.quiet, action.spec.effect, action.spec.approval_reason) == (True, "read", None)
            assert after.turn is not None
            assert after.turn.path is None
        if running(after) and due(after) == "executor":
            assert isinstance(event, facts.SessionRetried) or {a.began for a in running(after)} == {event.version}

    def _judged(self, event: SessionEvent, after: Session) -> None:
        """Each of several sub-goals stands as its own verdict says, also where another one is tried again."""
        if not isinstance(event, facts.TurnVerified):
            return
        standing = {one.goal: one.status for one in after.memory.sub_goals}
        for one in event.sub_goals:
            REACHED.add(f"sub-goal: {one.status}, {event.next_action}")
            tried_again = "pending" if event.next_action == "retry" else BECOMES[one.status]
            assert standing[one.sub_goal] == ("completed" if one.status == "success" else tried_again)

    def _work(self, event: SessionEvent, meta: CommandMeta) -> None:
        """What is made by work is made by the session's work, and never by work begun before a stop."""
        if isinstance(event, MADE_BY_WORK) and not event.actor.startswith("user:"):
            assert meta.work is not None
            assert meta.work == self.session.work
            assert meta.work.version > self.stopped

    def _approved(self, before: Session, event: SessionEvent) -> None:
        """What was approved is what was made at that version, by hash; steps are carried out as they were shown."""
        if isinstance(event, facts.PlanApproved) and before.plan:
            assert event.plan_version == before.plan.version
            assert event.hash == before.plan.hash
            made = self.log[event.plan_version - 1]
            if isinstance(made, facts.PlanDrafted | facts.PlanEdited):
                reviewed = before.plan.goal, before.plan.steps, before.plan.notes
                assert reviewed == (made.goal, made.steps, made.notes)
            after = evolve(before, event)
            if before.plan.kind != "text" and after.turn:
                shown = [(step.tool or "note", step.arguments or {}) for step in before.plan.steps]
                assert [(a.spec.tool, a.spec.arguments) for a in after.turn.actions] == shown
        if isinstance(event, facts.CodeApproved):
            made = self.log[event.code_version - 1]
            if isinstance(made, facts.CodeDrafted | facts.CodeEdited):
                assert event.hash == canonical_hash(made.code)

    def _started(self, before: Session, event: SessionEvent) -> None:
        """At most one start of an action, unless a person said: again; none without the yes that it needs.

        A retry is such a word, too, for the node of a path that a stop cut off.
        """
        if isinstance(event, facts.QuestionAnswered) and event.key == "again" and before.turn:
            self._may_start_again(before.turn.number, event.question_id)
        if isinstance(event, facts.SessionRetried) and before.turn and before.turn.path:
            for one in before.turn.actions:
                if one.status == "failed" and one.cause == "stopped":
                    self._may_start_again(before.turn.number, one.spec.id)
        if not isinstance(event, facts.ActionsStarted):
            return
        assert before.turn is not None
        planned = max(e.version for e in self.log if isinstance(e, PLANS))
        for action_id in (one.action_id for one in event.actions):
            action, key = find(before, action_id), (before.turn.number, action_id)
            assert action is not None
            assert key not in self.starts or key in self.again
            assert action.spec.decision not in ("skip", "deny")
            proposed = isinstance(self.log[planned - 1], facts.TurnPlanned) and not before.turn.taken_over
            if proposed and action.spec.effect != "read" and key not in self.didnt:
                assert key_of(action.spec.tool, action.spec.arguments) not in self.settled, "done or denied before"
            self.again.discard(key)
            self.starts[key] = self.starts.get(key, 0) + 1
            if action.spec.approval_reason:
                given = [e for e in self.log[planned:] if isinstance(e, facts.ApprovalGiven)]
                assert (action_id, action.hash) in [(e.action_id, e.hash) for e in given]

    def _ruled(self, before: Session, event: SessionEvent, start: c.Start) -> None:
        """What starts is no more than what was planned or allowed, whatever the plan says of its tool."""
        if not isinstance(event, facts.ActionsStarted):
            return
        planned = max(e.version for e in self.log if isinstance(e, PLANS))
        requested = isinstance(self.log[planned - 1], facts.TurnRequested)
        given = {e.action_id for e in self.log[planned:] if isinstance(e, facts.ApprovalGiven)}
        for action_id in (one.action_id for one in event.actions):
            action = find(before, action_id)
            if action is None or (rule := start.tools.get(action.spec.tool)) is None:
                continue
            spec = action.spec.model_copy(update={"effect": rule.effect, "policy": rule.policy})
            assert STRENGTH[rule.effect] <= STRENGTH[action.spec.effect]
            assert policy_of(before, spec) != "deny"
            asks = policy_of(before, spec) == "always" or (
                policy_of(before, spec) == "writes" and rule.effect != "read"
            )
            assert not asks or requested or action_id in given

    def _settled(self, before: Session, event: SessionEvent, after: Session) -> None:
        """Which changes must not be made again for this request. A new request begins with none."""
        if after.words.request != before.words.request or isinstance(event, facts.SessionForked):
            self.settled.clear()
        for was, action in _changed(before, after):
            happened = action.status == "finished" or (action.status == "denied" and was != "denied")
            if happened and action.spec.effect != "read":
                self.settled.add(key_of(action.spec.tool, action.spec.arguments))
        outcomes = event.outcomes if isinstance(event, facts.ActionsFinished) else ()
        done = {outcome.action_id for outcome in outcomes if outcome.ok}
        for late in before.left_running:
            if late.spec.id in done and late.spec.effect != "read":
                self.settled.add(key_of(late.spec.tool, late.spec.arguments))

    def _said(self, before: Session, event: SessionEvent, meta: CommandMeta) -> None:
        """A word is taken in by a draft or answer whose work began with it or after, or by the person's own edit."""
        self._remarked(before, event, meta)
        if isinstance(event, TAKES_IN):
            after = evolve(before, event)
            drafted_in = drafting(before) if isinstance(event, DRAFTS) else before
            for text in set(drafted_in.words.feedback) - set(after.words.feedback):
                said = self.words.pop(text, 0)
                assert meta.work is None or said <= meta.work.version
        planned = isinstance(event, facts.TurnPlanned | facts.PlanDrafted) and before.phase == "planning"
        if planned or isinstance(event, facts.PlanEdited):  # of a path, whose nodes have yet to take the words in
            for text in set(evolve(before, event).memory.heard) - set(before.memory.heard):
                said = self.words.pop(text, 0)
                assert meta.work is None or said <= meta.work.version
        if isinstance(event, facts.MessageReceived):
            self.words[event.text] = event.version
        if isinstance(event, facts.QuestionAnswered) and before.question and before.question.about != "uncertain":
            if before.question.about == "action":
                return  # it is the action's result
            self.words[event.text] = event.version

    def _remarked(self, before: Session, event: SessionEvent, meta: CommandMeta) -> None:
        """A remark is answered, taken in or taken back."""
        for text in (
            _words_of(before) if isinstance(event, facts.SessionStopped | facts.RemarkAnswered | DRAFTS) else ()
        ):
            said = self.words.pop(text, 0)
            assert meta.work is None or said <= meta.work.version

    # --- what must hold of every session

    def state(self, session: Session) -> None:
        assert session.version == len(self.log)
        assert self.read == session
        assert SESSION.validate_json(SESSION.dump_json(session)) == session
        assert session.since_version <= session.version
        assert (session.question is None) or session.phase == "awaiting_input"
        assert (session.failure is not None) == (session.phase == "failed")
        assert not session.paused or session.phase not in ("resting", "failed")
        self._bounded(session)
        self._never_ran(session)
        self._due(session)
        self._kept(session)
        self._review(session)
        self._remark(session)
        ways_on(session)

    def _bounded(self, session: Session) -> None:
        """What prompts read does not grow with what was done."""
        memory = session.memory
        assert len(memory.deeds) <= GISTS
        assert len(memory.earlier) <= EARLIER
        assert len(memory.verdicts) <= VERDICTS
        assert len(memory.sub_goals) <= SUB_GOALS
        assert max((len(deed.text) for deed in memory.deeds), default=0) <= DEED
        assert sum(map(_size, memory.deeds)) <= WHOLE + GISTS * 2 * GIST
        assert sum(map(_size, memory.earlier)) <= EARLIER * 2 * GIST

    def _may_start_again(self, turn: int, action_id: str) -> None:
        self.again.add((turn, action_id))
        self.didnt.add((turn, action_id))

    def _never_ran(self, session: Session) -> None:
        """What ended as skipped or denied was never started, unless the person said that it did not happen."""
        for action in session.turn.actions if session.turn else ():
            key = (session.turn.number if session.turn else 0, action.spec.id)
            if action.status in ("skipped", "denied"):
                assert key not in self.starts or key in self.didnt

    def _due(self, session: Session) -> None:
        """A service is due only on the event that began its work, and no work is unknown to its service."""
        whose, work = due(session), session.work
        if whose not in ("user", "nobody"):
            assert work is not None
            assert (work.version, SERVICE_OF[session.phase]) == (session.version, whose)
            self.given.append(work)
        if work is not None:
            assert SERVICE_OF[session.phase] == work.service
            assert work in self.given
        assert work is not None or session.paused or session.phase not in SERVICE_OF

    def _kept(self, session: Session) -> None:
        rounds = [line for one in session.words.earlier for line in one.request.splitlines()]
        for text in [text for text in self.words if text in rounds]:
            del self.words[text]  # an earlier request: from here on the summary has it
        known = (
            *session.words.request.splitlines(),
            *session.words.feedback,
            *session.words.unread,
            *_words_of(session),
        )
        lost = [text for text in self.words if text not in known]

        assert not lost, f"nobody will read {lost}"

    def _remark(self, session: Session) -> None:
        """While one is answered, what was there before it is there, and can be decided on."""
        if session.words.remark is None:
            return
        assert session.phase in ("planning", "coding", "awaiting_input", "failed")
        at = put_back(session)
        assert at.phase in ("awaiting_approval", "resting")
        assert at.work is None
        self._review(at)

    def _review(self, session: Session) -> None:
        if session.phase != "awaiting_approval":
            return
        target = reviewing(session)
        if target == "actions":
            assert undecided(session.turn)
        elif target == "code":
            assert session.code is not None
            assert session.code.status == "review"
        else:
            assert session.plan is not None
            assert session.plan.status == "pending_approval"


def _words_of(session: Session) -> tuple[str, ...]:
    """What was said since the remark that waits for its answer."""
    remark = session.words.remark
    return (*remark.texts, *(said.answer for said in remark.dialogue)) if remark else ()


def _changed(before: Session, after: Session) -> list[tuple[str | None, Action]]:
    """The actions of the turn that are not as they were, and how they were."""
    was = {a.spec.id: a.status for a in before.turn.actions} if before.turn else {}
    same = before.turn is not None and after.turn is not None and before.turn.number == after.turn.number
    known = was if same else {}
    actions = after.turn.actions if after.turn else ()
    return [(known.get(a.spec.id), a) for a in actions if known.get(a.spec.id) != a.status]


def _size(deed: Deed) -> int:
    return len(deed.text) + len(text_of(deed.arguments))
